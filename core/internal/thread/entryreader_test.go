package thread_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// Entries that are decoded together share memory, and nothing of one is changed by another.
func TestEntriesOfALogAreTheirOwn(t *testing.T) {
	entry := func(i int) thread.Entry {
		e := usualTurn()
		e.Prompt = fmt.Sprintf("%032x", i/3)
		e.Message.Content[0].Text, e.Message.Usage.Input, e.Window.Estimate = fmt.Sprint("text ", i), 1000+i, 2000+i
		for range i % 3 {
			e.Message.Content = append(e.Message.Content, core.Block{Type: core.BlockReasoning, Text: fmt.Sprint("thought ", i)})
		}
		return e
	}
	r := thread.Records{}.Entries()
	var read []thread.Entry
	for i := range 200 {
		e, err := r.Decode(encodeEntry(t, entry(i)))
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, e)
	}
	for i := range read { // whoever appends to one, or changes it, does so for itself
		_ = append(read[i].Message.Content, core.Block{Text: "more"})
		if i%2 == 1 {
			read[i].Message.Usage.Input, read[i].Window.Estimate, read[i].Message.Content[0].Text, read[i].Message.Model = 1, 1, "changed", "other"
		}
	}
	for i := 0; i < len(read); i += 2 {
		if diff := cmp.Diff(entry(i), read[i]); diff != "" {
			t.Fatalf("entry %d (-want +got):\n%s", i, diff)
		}
	}
}

// The reader of a conversation leaves out what it does not need of older turns, and nothing
// else; and a field that is left out is one of its type.
func TestEntriesWithoutTotals(t *testing.T) {
	whole := usualTurn()
	whole.Arguments, whole.Decision, whole.Blocked = json.RawMessage(`{}`), "d", "b"
	whole.Hooks, whole.Intents = &state.Command{}, &state.Command{}
	whole.Attempts, whole.Sent = []thread.Attempt{{Model: "m", Began: 1, Ended: 2}}, &thread.Sent{MaxTokens: 5}
	whole.Member, whole.Toolless, whole.Queued, whole.Retried = &thread.Member{Pool: "p", Model: "m"}, []int{0}, 7, 2
	b := encodeEntry(t, whole)
	r := thread.Records{}.Entries()
	got, err := r.Decode(b)
	if diff := cmp.Diff(whole, got); diff != "" || err != nil {
		t.Errorf("all of it: %v (-want +got):\n%s", err, diff)
	}
	r.Abridge()
	lean := whole
	lean.Totals, lean.Arguments, lean.Hooks, lean.Intents, lean.Attempts, lean.Sent = nil, nil, nil, nil, nil, nil
	got, err = r.Decode(b)
	if diff := cmp.Diff(lean, got); diff != "" || err != nil {
		t.Errorf("without totals: %v (-want +got):\n%s", err, diff)
	}
	for _, damaged := range []string{"1:1 6:1", "1:1 26:1", "1:1 32:1"} {
		if _, err := r.Decode(written(t, damaged)); core.CodeOf(err) != core.CodeCorrupt {
			t.Errorf("%s: %v, want that it is damaged", damaged, err)
		}
	}
}

// An entry that is damaged, or that is another record, is an error of its own: the reader reads
// the next one.
func TestAReaderGoesOnAfterADamagedEntry(t *testing.T) {
	r := thread.Records{}.Entries()
	for text, want := range map[string]string{
		"1:1 3:0":             "decode log entry: entry: field 3 is 0",
		`{"schema":1,"a":[]}`: "decode log entry: it does not begin with its schema number",
	} {
		if e, err := r.Decode(written(t, text)); core.CodeOf(err) != core.CodeCorrupt || err.Error() != want {
			t.Errorf("%s: %+v, error %v, want %s", text, e, err, want)
		}
		if e, err := r.Decode(written(t, "1:1 3:7")); err != nil || e.Step != 7 {
			t.Errorf("after %s: %+v, %v; want step 7", text, e, err)
		}
	}
}

// What is zero takes no bytes, and an id 16.
func TestTheLeastFormsOfEntries(t *testing.T) {
	const uuid = "0190abcd-0000-7000-8000-0123456789ab"
	schema := func(n uint16) thread.Records {
		return thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: n}, Extra: "t"}
	}
	for _, tt := range []struct {
		name    string
		records thread.Records
		entry   thread.Entry
		want    string
	}{
		{"an id alone", thread.Records{}, thread.Entry{Message: &core.Message{ID: uuid}}, "1:1 5:{1:x0190abcd0000700080000123456789ab}"},
		{"an id and more", thread.Records{}, thread.Entry{Message: &core.Message{ID: uuid + ".2"}}, "1:1 5:{1:x0190abcd0000700080000123456789ab 2:`.2`}"},
		{"the use of a model that used nothing", thread.Records{}, thread.Entry{Totals: &thread.Totals{Metered: &thread.Metered{Models: []core.ModelUse{{Inferences: 2}}}}}, "1:1 6:{10:{1:{4:2}}}"},
		{"the extra field of schema 1", schema(1), thread.Entry{}, "1:1"},
		{"of schema 2", schema(2), thread.Entry{}, "1:2"},
		{"of schema 3", schema(3), thread.Entry{}, "1:3 1000:`t`"},
	} {
		b, err := tt.records.EncodeEntry(&tt.entry)
		if got := spelled(b); got != tt.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
}

// The first value that cannot be stored is the error, whatever follows it.
func TestAnEntryThatCannotBeEncoded(t *testing.T) {
	damaged := func(field, call string) thread.Entry {
		return thread.Entry{
			Message:   &core.Message{ToolCalls: []core.ToolCall{{Arguments: json.RawMessage(call)}}},
			Arguments: json.RawMessage(field), Hooks: &state.Command{}, Attempts: []thread.Attempt{{}},
		}
	}
	result := func(call string) thread.Entry {
		return thread.Entry{Message: &core.Message{
			ToolCalls:  []core.ToolCall{{Arguments: json.RawMessage(call)}},
			ToolResult: &core.ToolResult{Metadata: map[string]json.RawMessage{"a": json.RawMessage("]")}},
		}}
	}
	for _, tt := range []struct {
		entry thread.Entry
		want  string
	}{
		{result("{}"), "encode log entry: json: error calling MarshalJSON for type json.RawMessage: invalid character ']' looking for beginning of value"},
		{result("{"), "encode log entry: unexpected end of JSON input"},
		{damaged("{}", "{"), "encode log entry: unexpected end of JSON input"},
		{damaged("{", "{}"), "encode log entry: unexpected end of JSON input"},
		{damaged("{", "]"), "encode log entry: invalid character ']' looking for beginning of value"},
	} {
		if b, err := (thread.Records{}).EncodeEntry(&tt.entry); b != nil || core.CodeOf(err) != core.CodeInternal || err.Error() != tt.want {
			t.Errorf("%d bytes, error %v, want %s", len(b), err, tt.want)
		}
	}
	good := usualTurn()
	if _, err := (thread.Records{}).EncodeEntry(&good); err != nil {
		t.Errorf("the entry after them: %v", err)
	}
}
