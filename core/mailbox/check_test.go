package mailbox_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
)

// What a submission may say, at its limits and beyond them.
func TestSubmissionsAreChecked(t *testing.T) {
	file := core.Block{Type: core.BlockFile, MediaType: "text/plain", Data: []byte("x")}
	with := func(f func(*mailbox.Submission)) mailbox.Submission {
		s := input("one", "")
		f(&s)
		return s
	}
	parent := func(f func(*mailbox.Parent)) mailbox.Submission {
		return with(func(s *mailbox.Submission) {
			s.Opening.Parent = &mailbox.Parent{Thread: "p", Run: core.ID{1}, Call: 31}
			f(s.Opening.Parent)
		})
	}
	content := func(blocks ...core.Block) mailbox.Submission {
		return with(func(s *mailbox.Submission) { s.Messages[0].Content = blocks })
	}
	long := func(n int) string { return strings.Repeat("x", n) }
	tests := []struct {
		name string
		s    mailbox.Submission
		want string
	}{
		{"as it should be", with(func(*mailbox.Submission) {}), ""},
		{"no tenant", with(func(s *mailbox.Submission) { s.Thread.Tenant = "" }), "tenant is empty"},
		{"no thread", with(func(s *mailbox.Submission) { s.Thread.Thread = "" }), "thread id is empty"},
		{"no user", with(func(s *mailbox.Submission) { s.User = "" }), ""},
		{"a bad user", with(func(s *mailbox.Submission) { s.User = "a#b" }), `user "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"no agent", with(func(s *mailbox.Submission) { s.Opening.AgentID = "" }), "agent id is empty"},
		{"no messages", with(func(s *mailbox.Submission) { s.Messages = nil }), "messages are empty, at least one is required"},
		{"an assistant's message", with(func(s *mailbox.Submission) { s.Messages[0].Role = core.RoleAssistant }), `messages[0]: role "assistant", only user messages can be submitted`},
		{"a second message that is blank", with(func(s *mailbox.Submission) { s.Messages = append(s.Messages, core.UserMessage(" \n")) }), "messages[1].content has no text and no file"},
		{"a bad id", with(func(s *mailbox.Submission) { s.Messages[0].ID = "a#b" }), `messages[0]: id "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"a blank text beside a text", content(core.Block{Type: core.BlockText, Text: "a"}, core.Block{Type: core.BlockText, Text: " "}), ""},
		{"a file alone", content(file), ""},
		{"a file without a type", content(core.Block{Type: core.BlockFile, Data: []byte("x")}), `messages[0].content[0]: invalid media type "", want one such as image/png`},
		{"a file beside a blank text", content(core.Block{Type: core.BlockText}, file), ""},
		{"thinking", content(core.Block{Type: "thinking", Text: "a"}), `messages[0].content[0]: type "thinking", allowed are text and file`},
		{"the largest request", with(func(s *mailbox.Submission) {
			s.Opening.Request = json.RawMessage(`"` + strings.Repeat("x", 16382) + `"`)
		}), ""},
		{"a larger request", with(func(s *mailbox.Submission) {
			s.Opening.Request = json.RawMessage(`"` + strings.Repeat("x", 16383) + `"`)
		}), "request is larger than 16384 bytes: it has 16385"},
		{"the largest message", content(core.Block{Type: core.BlockText, Text: long(1048576)}), ""},
		{"a larger message", content(core.Block{Type: core.BlockText, Text: long(1048577)}), "messages[0] has 1048577 bytes: a message may have 1048576 bytes of text and files, in base64: send large files by URL"},
		{"the largest file", content(core.Block{Type: core.BlockFile, MediaType: "text/plain", Data: []byte(long(786423)), Filename: "ab"}), ""},
		{"a larger file", content(core.Block{Type: core.BlockFile, MediaType: "text/plain", Data: []byte(long(786423)), Filename: "abc"}), "messages[0] has 1048577 bytes: a message may have 1048576 bytes of text and files, in base64: send large files by URL"},
		{"the largest input", with(func(s *mailbox.Submission) {
			s.Messages = []core.Message{core.UserMessage(long(524288)), core.UserMessage(long(524288))}
		}), ""},
		{"a larger input", with(func(s *mailbox.Submission) {
			s.Messages = []core.Message{core.UserMessage(long(524288)), core.UserMessage(long(524289))}
		}), "messages have 1048577 bytes: all messages of an input may have 1048576 bytes together: send fewer, or large files by URL"},
		{"a request that is not JSON", with(func(s *mailbox.Submission) { s.Opening.Request = json.RawMessage(`{`) }), "request is not JSON"},
		{"a request that is not UTF-8", with(func(s *mailbox.Submission) { s.Opening.Request = json.RawMessage("\"\xff\"") }), "request is not JSON"},
		{"an empty request", with(func(s *mailbox.Submission) { s.Opening.Request = json.RawMessage{} }), "request is not JSON"},
		{"a bad mode", with(func(s *mailbox.Submission) { s.Mode = "shout" }), `mode "shout" is unknown, allowed are queue, interrupt, steer, reject`},
		{"the longest delay", with(func(s *mailbox.Submission) { s.Opening.Delay = 365 * 24 * time.Hour }), ""},
		{"a longer delay", with(func(s *mailbox.Submission) { s.Opening.Delay = 365*24*time.Hour + 1 }), "delay of 8760h0m0.000000001s, allowed are 0 to 8760h0m0s"},
		{"a child run", parent(func(*mailbox.Parent) {}), ""},
		{"a child run of no call", parent(func(p *mailbox.Parent) { p.Call = thread.NoCall }), ""},
		{"a child run of a call that cannot be", parent(func(p *mailbox.Parent) { p.Call = 32 }), "parent: call 32, allowed are 0 to 31 and 255"},
		{"a child run of no run", parent(func(p *mailbox.Parent) { p.Run = core.ID{} }), "parent: the run has no id"},
		{"a child run of no thread", parent(func(p *mailbox.Parent) { p.Thread = "" }), "parent thread id is empty"},
		{"a child run that is queued", func() mailbox.Submission { s := parent(func(*mailbox.Parent) {}); s.Mode = mailbox.ModeQueue; return s }(), ""},
		{"a child run that is steered", func() mailbox.Submission { s := parent(func(*mailbox.Parent) {}); s.Mode = mailbox.ModeSteer; return s }(), `parent: mode "steer", a child run can only be queued`},
		{"a child run that is delayed", func() mailbox.Submission { s := parent(func(*mailbox.Parent) {}); s.Opening.Delay = 1; return s }(), "a child run cannot be delayed: its parent waits for it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := tt.s.Check(); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("check: %q, want %q", got, tt.want)
			}
		})
	}
	if err := with(func(s *mailbox.Submission) { s.Opening.Request = make([]byte, 16385) }).Check(); !errors.Is(err, mailbox.ErrRequestTooLarge) || core.CodeOf(err) != core.CodeTooLarge {
		t.Errorf("a larger request: %v, want %v", err, mailbox.ErrRequestTooLarge)
	}
	for size, want := range map[int]error{1048577: mailbox.ErrMessageTooLarge, 524289: mailbox.ErrInputTooLarge} {
		two := with(func(s *mailbox.Submission) {
			s.Messages = []core.Message{core.UserMessage(long(size)), core.UserMessage(long(size))}
		})
		if err := two.Check(); !errors.Is(err, want) || core.CodeOf(err) != core.CodeTooLarge {
			t.Errorf("two messages of %d bytes: %v, want %v", size, err, want)
		}
	}
}

// What may be said of a thread, at its limits and beyond them.
func TestTitlesAndMetadataAreChecked(t *testing.T) {
	keys := func(n int) json.RawMessage {
		members := map[string]int{}
		for i := range n {
			members[strings.Repeat("k", i+1)] = 1
		}
		b, err := json.Marshal(members)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	tests := []struct {
		name  string
		about thread.About
		want  string
	}{
		{"nothing", thread.About{}, ""},
		{"the longest title", thread.About{Title: strings.Repeat("ü", 200)}, ""},
		{"a longer title", thread.About{Title: strings.Repeat("u", 201)}, "title has 201 characters, at most 200 are allowed"},
		{"two lines", thread.About{Title: "a\nb"}, `title "a\nb" has a control character, text on one line is allowed`},
		{"a control character first", thread.About{Title: "\tb"}, `title "\tb" has a control character, text on one line is allowed`},
		{"no UTF-8", thread.About{Title: "a\xff"}, `title "a\xff" has a control character, text on one line is allowed`},
		{"a blank title", thread.About{Title: "  "}, "title is blank; null removes a title"},
		{"the most keys", thread.About{Metadata: keys(64)}, ""},
		{"more keys", thread.About{Metadata: keys(65)}, "metadata has 65 keys, at most 64 are allowed"},
		{"no keys", thread.About{Metadata: json.RawMessage(`{}`)}, ""},
		{"no object", thread.About{Metadata: json.RawMessage(`[]`)}, "metadata must be an object"},
		{"null", thread.About{Metadata: json.RawMessage(`null`)}, "metadata must be an object"},
		{"the largest metadata", thread.About{Metadata: json.RawMessage(`{"a":"` + strings.Repeat("x", 16376) + `"}`)}, ""},
		{"larger metadata", thread.About{Metadata: json.RawMessage(`{"a":"` + strings.Repeat("x", 16377) + `"}`)}, "metadata is larger than 16384 bytes: it has 16385"},
	}
	for _, tt := range tests {
		got := ""
		if err := mailbox.CheckAbout(tt.about); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Modes and what becomes of children, as clients name them.
func TestNamesOfModesAndStrategies(t *testing.T) {
	for mode, ok := range map[mailbox.Mode]bool{"": true, "queue": true, "interrupt": true, "steer": true, "reject": true, "Queue": false} {
		if err := mode.Check(); (err == nil) != ok {
			t.Errorf("mode %q: %v", mode, err)
		}
	}
	for children, ok := range map[mailbox.Children]bool{"": true, "detach": true, "cascade": true, "reject": true, "keep": false} {
		if err := children.Check(); (err == nil) != ok {
			t.Errorf("strategy %q: %v", children, err)
		}
	}
}

// The open run has read its input, so that it need not be read again to withdraw what an
// earlier run was told.
func TestARetakeOfAnEarlierRunDoesNotReadTheOpenOnesInput(t *testing.T) {
	w := retakable(t)
	open := w.submit(t, input("open", ""))
	w.writes(t, w.claim(t), goOn, said(open.RunID, open.DispatchID, "open"))
	w.failing("Q#"+open.DispatchID.String()+"#0", errors.New("no connection"))
	r := w.submit(t, keyedRetake("two", "x"))
	if in := w.input(t, r); r.Duplicate || in.Retakes != runTwo || in.Supersede != 4 {
		t.Errorf("receipt %+v: it withdraws run %s from %d", r, in.Retakes, in.Supersede)
	}
}
