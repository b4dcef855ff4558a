package newest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/reveille-run/reveille/adapters/internal/newest"
	"github.com/reveille-run/reveille/core"
)

var (
	chat   = newest.List{Name: "messages", Known: []string{"assistant"}}
	limits = newest.Limits{Recent: 60, Kept: 200, Read: 2000, Depth: 5}
)

// x is a text of n bytes.
func x(n int) string { return strings.Repeat("x", n) }

func say(role, text string) string { return `{"role":"` + role + `","text":"` + text + `"}` }

func TestReadKeepsTheNewestMessages(t *testing.T) {
	limits := limits
	limits.Kept = 300
	user, assistant := say("user", x(20)), say("assistant", x(20)) // 47 and 52 bytes
	tests := []struct {
		name, text, want string
		skipped          int
	}{
		{"nothing to skip", `{"id":"t1","messages":[` + user + `],"more":[1,-2.5e+7,true,false,null,"é\u00e9\n"]} `, `{"id":"t1","messages":[` + user + `],"more":[1,-2.5e+7,true,false,null,"é\u00e9\n"]} `, 0},
		{"spaces in the list", `{"messages": [ ` + user + ` , ` + user + ` ] }`, `{"messages": [` + user + `,` + user + `] }`, 0},
		{"an empty list", `{"messages":[ ]}`, `{"messages":[]}`, 0},
		{"recent messages stay", `{"messages":[` + user + `,` + assistant + `,` + user + `]}`, `{"messages":[` + user + `,` + assistant + `,` + user + `]}`, 0},
		{"older ones are skipped", `{"messages":[` + user + `,` + user + `,` + user + `,` + assistant + `],"id":1}`, `{"messages":[` + user + `,` + assistant + `],"id":1}`, 2},
		{"new ones stay", `{"messages":[` + assistant + `,` + user + `,` + user + `,` + user + `]}`, `{"messages":[` + assistant + `,` + user + `,` + user + `,` + user + `]}`, 0},
		{"one larger than all that may be kept", `{"messages":[` + say("user", x(500)) + `,` + user + `,` + assistant + `]}`, `{"messages":[` + user + `,` + assistant + `]}`, 1},
		{"new ones, to make space for the assistant's", `{"messages":[` + say("user", x(150)) + `,` + say("assistant", x(150)) + `,{}]}`, `{"messages":[` + say("assistant", x(150)) + `,{}]}`, 1},
		{"messages before a large one too", `{"messages":[` + user + `,` + say("user", x(500)) + `,` + assistant + `]}`, `{"messages":[` + assistant + `]}`, 2},
		{"the role last", `{"messages":[` + user + `,` + user + `,{"parts":[{"role":"user"}],"role":"assistant"}]}`, `{"messages":[` + user + `,{"parts":[{"role":"user"}],"role":"assistant"}]}`, 1},
		{"the role of a part", `{"messages":[` + user + `,` + user + `,{"parts":[{"role":"assistant"}]}]}`, `{"messages":[` + user + `,` + user + `,{"parts":[{"role":"assistant"}]}]}`, 0},
		{"a role with an escape", `{"messages":[` + user + `,` + user + `,{"role":"\u0061ssistant"}]}`, `{"messages":[` + user + `,` + user + `,{"role":"\u0061ssistant"}]}`, 0},
		{"the name of the role with an escape", `{"messages":[` + user + `,` + user + `,{"role":"assistant","r\u006fle":"user"}]}`, `{"messages":[` + user + `,` + user + `,{"role":"assistant","r\u006fle":"user"}]}`, 0},
		{"the name of the role in another case", `{"messages":[` + user + `,` + user + `,{"role":"assistant","Role":"user"}]}`, `{"messages":[` + user + `,` + user + `,{"role":"assistant","Role":"user"}]}`, 0},
		{"a role twice", `{"messages":[` + user + `,` + user + `,{"role":"assistant","role":"user"}]}`, `{"messages":[` + user + `,` + user + `,{"role":"assistant","role":"user"}]}`, 0},
		{"a list within a member", `{"a":{"messages":[` + user + `,` + user + `,` + assistant + `]}}`, `{"a":{"messages":[` + user + `,` + user + `,` + assistant + `]}}`, 0},
		{"a list of another name", `{"Messages":[` + user + `,` + user + `,` + assistant + `]}`, `{"Messages":[` + user + `,` + user + `,` + assistant + `]}`, 0},
		{"the list twice", `{"messages":[` + user + `],"messages":[` + user + `,` + user + `,` + assistant + `]}`, `{"messages":[` + user + `],"messages":[` + user + `,` + assistant + `]}`, 1},
		{"no list", `{"messages":{"a":[{}]},"b":0}`, `{"messages":{"a":[{}]},"b":0}`, 0},
		{"no object", `[{"messages":[]}]`, `[{"messages":[]}]`, 0},
		{"a number", `-0`, `-0`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{"at once": strings.NewReader(tt.text), "bytewise": iotest.OneByteReader(strings.NewReader(tt.text)), "with EOF": iotest.DataErrReader(strings.NewReader(tt.text))} {
				got, skipped, err := newest.Read(r, chat, limits)
				if err != nil || string(got) != tt.want || skipped != tt.skipped {
					t.Errorf("%s: %s, %d skipped, error %v\nwant %s, %d skipped", name, got, skipped, err, tt.want, tt.skipped)
				}
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	user, assistant := say("user", x(20)), say("assistant", x(20))
	old := `{"messages":[` + user + `,` + user + `,` + user + `,` // 156 bytes, which are skipped if a message of the assistant follows
	space := `request body is larger than 200 bytes with messages[%d], also without older messages: send large files and results by URL`
	tests := []struct {
		name, text string
		code       core.Code
		want       string
	}{
		{"nothing", ``, "invalid", "body is not JSON at byte 1: it ends too early"},
		{"a skipped message that is not closed", old + assistant, "invalid", "body is not JSON at byte 202: it ends too early"},
		{"a skipped message that is not JSON", `{"messages":[{"a":tru},` + assistant + `]}`, "invalid", `body is not JSON at byte 22: unexpected '}'`},
		{"a word", `{"messages":[{"a":nul1},` + assistant + `]}`, "invalid", `body is not JSON at byte 22: unexpected '1'`},
		{"a number", `{"a":01}`, "invalid", `body is not JSON at byte 7: unexpected '1'`},
		{"a number without an end", `{"a":1.}`, "invalid", `body is not JSON at byte 8: unexpected '}'`},
		{"an escape", `{"a":"\x"}`, "invalid", `body is not JSON at byte 8: unexpected 'x'`},
		{"digits", `{"a":"\u00g0"}`, "invalid", `body is not JSON at byte 11: unexpected 'g'`},
		{"a control character", "{\"a\":\"\n\"}", "invalid", `body is not JSON at byte 7: unexpected '\n'`},
		{"a bracket of the other kind", `{"a":[}`, "invalid", `body is not JSON at byte 7: unexpected '}'`},
		{"a comma before the end", `{"a":1,}`, "invalid", `body is not JSON at byte 8: unexpected '}'`},
		{"a comma before the end of the list", `{"messages":[{},]}`, "invalid", `body is not JSON at byte 17: unexpected ']'`},
		{"no comma", `{"messages":[{}{}]}`, "invalid", `body is not JSON at byte 16: unexpected '{'`},
		{"more after the end", `{} {}`, "invalid", `body is not JSON at byte 4: unexpected '{'`},
		{"a member without a value", `{"a"}`, "invalid", `body is not JSON at byte 5: unexpected '}'`},
		{"a message that is not an object", `{"messages":[{}, 5]}`, "invalid", `messages[1] must be an object`},
		{"5 deep", `{"messages":[{"a":[[1]]},` + assistant + `]}`, "", ""},
		{"6 deep", `{"messages":[{"a":[[[1]]]},` + assistant + `]}`, "invalid", `body is nested more than 5 deep at byte 21`},
		{"half a character", "{\"a\":\"\xc3\"}", "invalid", "body is not UTF-8 at byte 6"},
		{"half a character at the end", "{\"a\":\"\xc3", "invalid", "body is not UTF-8 at byte 6"},
		{"a skipped message that is not UTF-8", "{\"messages\":[{\"a\":\"\xff\"}," + assistant + "]}", "invalid", "body is not UTF-8 at byte 19"},
		{"199 bytes beside the list", `{"a":"` + x(177) + `","messages":[]}`, "", ""},
		{"200 bytes beside the list", `{"a":"` + x(178) + `","messages":[]}`, "", ""},
		{"201 bytes beside the list", `{"a":"` + x(179) + `","messages":[]}`, "", "http: request body too large"},
		{"a new message at the limit", old + `{"role":"assistant"},` + say("user", x(139)) + `]}`, "", ""},
		{"a new message over it", old + `{"role":"assistant"},` + say("user", x(140)) + `]}`, "too_large", fmt.Sprintf(space, 4)},
		{"the assistant's last message over it", old + say("assistant", x(500)) + `,` + user + `]}`, "too_large", fmt.Sprintf(space, 3)},
		{"the assistant's last message, with its role last", `{"messages":[` + user + `,{"text":"` + x(140) + `","role":"assistant"}]}`, "too_large", fmt.Sprintf(space, 1)},
		{"the same with its role first", `{"messages":[` + user + `,{"role":"assistant","text":"` + x(140) + `"}]}`, "", ""},
		{"a large one whose role changes", `{"messages":[` + user + `,{"role":"assistant","text":"` + x(125) + `","role":"user"}]}`, "invalid", "messages[1].role is given twice"},
		{"a text larger than all that is read", old + say("user", x(2000)), "too_large", "request body is larger than 2000 bytes, with the messages that are skipped: send only the newest messages"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{"at once": strings.NewReader(tt.text), "bytewise": iotest.OneByteReader(strings.NewReader(tt.text))} {
				body, _, err := newest.Read(r, chat, limits)
				if tt.want == "" && err == nil && len(body) <= 200 {
					continue
				}
				if err == nil || err.Error() != tt.want || tt.code != "" && core.CodeOf(err) != tt.code {
					t.Errorf("%s: %s, error %v; want %q, code %s", name, body, err, tt.want, tt.code)
				}
			}
		})
	}
	if _, _, err := newest.Read(strings.NewReader(`{"a":"`+x(500)+`"}`), chat, limits); !errors.As(err, new(*http.MaxBytesError)) {
		t.Errorf("error %T, want that of net/http", err)
	}
	if _, _, err := newest.Read(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader(`{"a":1}`))), chat, limits); err != iotest.ErrTimeout {
		t.Errorf("error %v, want the reader's", err)
	}
}

func TestReadLimitsNewMessages(t *testing.T) {
	wide := newest.Limits{Recent: 1 << 10, Kept: 1 << 20, Read: 1 << 30, Depth: 64}
	few := strings.Repeat(`{"role":"user"},`, newest.MaxNew-1)
	if _, _, err := newest.Read(strings.NewReader(`{"messages":[`+few+`{"role":"user"}]}`), chat, wide); err != nil {
		t.Error(err)
	}
	const want = "messages has more than 1000 messages from the last one of the assistant on: send fewer in a request"
	if _, _, err := newest.Read(strings.NewReader(`{"messages":[`+few+`{},{}]}`), chat, wide); core.CodeOf(err) != core.CodeTooLarge || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	if got, skipped, err := newest.Read(strings.NewReader(`{"messages":[`+strings.Repeat(few+`{"role":"assistant"},`, 20)+`{}]}`), chat, wide); err != nil || len(got) > 1100 || skipped < 19_000 {
		t.Errorf("%d bytes, %d skipped, error %v", len(got), skipped, err)
	}
}

// repeated is a text of size bytes that repeats a piece between two others. It is made as it
// is read.
func repeated(before, piece, after string, size int) io.Reader {
	readers := []io.Reader{strings.NewReader(before)}
	block := strings.Repeat(piece, max(1, 4096/len(piece)))
	for n := 0; n < size; n += len(block) {
		readers = append(readers, strings.NewReader(block))
	}
	return io.MultiReader(append(readers, strings.NewReader(after))...)
}

// A history of 50 MB takes the memory of what is kept, whatever it consists of.
func TestReadAllocatesForWhatItKeeps(t *testing.T) {
	const recent, kept = 256 << 10, 4 << 20
	l := newest.Limits{Recent: recent, Kept: kept, Read: 64 << 20, Depth: 64}
	last := `{"role":"assistant"},{"role":"user","text":"the last"}]}`
	tests := []struct {
		name, piece, last string
		size              int    // of the history
		most              uint64 // bytes allocated, in all
	}{
		{"messages of the assistant", say("assistant", x(1000)) + ",", last, 50 << 20, 3 << 20},
		{"turns", say("user", x(100)) + "," + say("assistant", x(10_000)) + ",", last, 12 << 20, 3 << 20},
		{"quotes", say("assistant", strings.Repeat(`\"`, 1000)) + ",", last, 12 << 20, 3 << 20},
		{"many bytes a character", say("assistant", strings.Repeat(`語`, 1000)) + ",", last, 12 << 20, 3 << 20},
		{"the smallest messages", `{"role":"assistant"},`, last, 12 << 20, 6 << 20},
		{"messages of 3 MB", say("user", x(3<<20)) + "," + say("assistant", x(100)) + ",", last, 12 << 20, 12 << 20},
		{"messages larger than what is kept", say("user", x(5<<20)) + "," + say("assistant", x(100)) + ",", last, 12 << 20, 10 << 20},
		{"a last message of nearly 4 MB", say("assistant", x(1000)) + ",", `{"role":"user","text":"` + x(kept-2000) + `"}]}`, 12 << 20, 5 * kept},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := repeated(`{"messages":[`, tt.piece, tt.last, tt.size)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got, skipped, err := newest.Read(r, chat, l)
			runtime.ReadMemStats(&after)
			if err != nil || skipped == 0 || !json.Valid(got) || !strings.HasSuffix(string(got), tt.last[strings.Index(tt.last, `{"role":"user"`):]) || len(got) > kept {
				t.Fatalf("%d bytes, %d skipped, error %v", len(got), skipped, err)
			}
			allocated := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d bytes allocated", allocated)
			if allocated > tt.most {
				t.Errorf("%d bytes allocated, at most %d", allocated, tt.most)
			}
		})
	}
}

func BenchmarkRead(b *testing.B) {
	text := `{"messages":[` + strings.Repeat(say("user", x(100))+","+say("assistant", strings.Repeat(`some \"text\" `, 800))+",", 400) + say("user", "last") + `]}`
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := newest.Read(strings.NewReader(text), chat, newest.Limits{Recent: 256 << 10, Kept: 4 << 20, Read: 64 << 20, Depth: 64}); err != nil {
			b.Fatal(err)
		}
	}
}
