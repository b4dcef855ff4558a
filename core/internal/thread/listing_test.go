package thread_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

func TestHowATextBegins(t *testing.T) {
	x, y := strings.Repeat("x", 199), strings.Repeat("ü ", 800)
	tests := []struct{ name, text, want string }{
		{"none", "", ""},
		{"a short one", "is it on?", "is it on?"},
		{"lines", "a\n b\tc\r\nd ", "a b c d"},
		{"a line at each of its ends", "\na\n", "a"},
		{"a tab", "a\tb", "a b"},
		{"a return", "a\rb", "a b"},
		{"blanks of one of 200 bytes stay", "a  b" + x[:196], "a  b" + x[:196]},
		{"blanks of a short one stay", "a  b ", "a  b "},
		{"200 bytes", x + "y", x + "y"},
		{"201 bytes", x + "yz", x + "…"},
		{"200 characters that are more bytes", strings.Repeat("ü", 200), strings.Repeat("ü", 200)},
		{"201 such characters", strings.Repeat("ü", 201), strings.Repeat("ü", 199) + "…"},
		{"a character that is cut in two", y, strings.Repeat("ü ", 99) + "ü…"},
		{"only what comes first is looked at", strings.Repeat(" ", 1599) + "ab", "a"},
		{"and no less", strings.Repeat(" ", 1500) + strings.Repeat("a", 90), strings.Repeat("a", 90)},
		{"1601 bytes", strings.Repeat(" ", 1600) + "a", ""},
		{"1600 bytes", strings.Repeat(" ", 1599) + "a", "a"},
		{"damaged bytes", "a\xff\nb", "a b"},
	}
	for _, tt := range tests {
		if got := thread.Excerpt(tt.text); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestHowTheNewestInputOfARunBegins(t *testing.T) {
	said := func(run byte, text string) core.Message {
		m := core.UserMessage(text).WithID("m")
		m.RunID = core.ID{run}
		return m
	}
	answer := core.Message{ID: "a", RunID: core.ID{1}, Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: "no"}}}
	tests := []struct {
		name     string
		messages []core.Message
		want     string
	}{
		{"nothing", nil, ""},
		{"one text", []core.Message{said(1, " is it\non? ")}, "is it on?"},
		{"the newest", []core.Message{said(1, "first"), said(1, "second")}, "second"},
		{"the newest text", []core.Message{said(1, "first"), said(1, " ")}, "first"},
		{"before the answer", []core.Message{said(1, "first"), answer}, "first"},
		{"of no other run", []core.Message{said(1, "first"), said(2, "second")}, ""},
		{"not that of an earlier run", []core.Message{said(2, "first"), answer}, ""},
	}
	for _, tt := range tests {
		if got := thread.Asked(tt.messages, core.ID{1}); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestARecordThatSupersedesComesBehindTheRange(t *testing.T) {
	if got := (thread.Range{From: 3, To: 7}).Record(); got != 8 {
		t.Errorf("it stands at %d, want 8", got)
	}
}

// The head says by its version which base is the run's; the first stretch has none.
func TestWhatARunHadUsedWhenAStretchBegan(t *testing.T) {
	used := &thread.Metered{Tools: 2}
	r := thread.RunRecord{Bases: []thread.Base{{Version: 4}, {Version: 7, Used: used}}}
	tests := []struct {
		behind uint64
		used   *thread.Metered
		ok     bool
	}{{0, nil, true}, {4, nil, true}, {7, used, true}, {5, nil, false}}
	for _, tt := range tests {
		if got, ok := r.Base(thread.Stretch{Behind: tt.behind}); got != tt.used || ok != tt.ok {
			t.Errorf("behind version %d: %v, %v; want %v, %v", tt.behind, got, ok, tt.used, tt.ok)
		}
	}
}

// Each record that a program of the next release may write again comes back with the fields
// that this one does not know, and a listing, which nobody needs whole, without.
func TestRecordsAroundTheLogAreReadAndWrittenAgain(t *testing.T) {
	var records thread.Records
	tests := []struct {
		name, stored, want string
		again              func(b []byte) ([]byte, error)
	}{
		{
			"queued input that is edited",
			`{"schema":1,"dispatch":"` + one + `","messages":null,"created_at":3,"mood":"calm"}`,
			`{"schema":1,"dispatch":"` + one + `","messages":null,"created_at":3,"mood":"calm"}`,
			func(b []byte) ([]byte, error) {
				q, err := records.DecodeWholeQueued(b)
				if err != nil {
					return nil, err
				}
				return records.EncodeQueued(&q)
			},
		},
		{
			"queued input that is only read",
			`{"schema":1,"dispatch":"` + one + `","messages":null,"created_at":3,"mood":"calm"}`,
			`{"schema":1,"dispatch":"` + one + `","messages":null,"created_at":3}`,
			func(b []byte) ([]byte, error) {
				q, err := records.DecodeQueued(b)
				if err != nil {
					return nil, err
				}
				return records.EncodeQueued(&q)
			},
		},
		{
			"what is said of a thread",
			`{"schema":1,"title":"Rain","metadata":{"a": 1},"mood":"calm"}`,
			`{"schema":1,"title":"Rain","metadata":{"a":1},"mood":"calm"}`,
			func(b []byte) ([]byte, error) {
				a, err := records.DecodeAbout(b)
				if err != nil {
					return nil, err
				}
				return records.EncodeAbout(&a)
			},
		},
		{
			"nothing more that is said of a thread",
			`{"schema":1,"title":"Rain"}`,
			`{"schema":1,"title":"Rain"}`,
			func(b []byte) ([]byte, error) {
				a, err := records.DecodeAbout(b)
				if err != nil {
					return nil, err
				}
				return records.EncodeAbout(&a)
			},
		},
		{
			"a listing",
			`{"schema":1,"list":"threads","at":9,"mood":"calm"}`,
			`{"schema":1,"list":"threads","at":9}`,
			func(b []byte) ([]byte, error) {
				l, err := records.DecodeListing(b)
				if err != nil {
					return nil, err
				}
				return records.EncodeListing(&l)
			},
		},
		{
			"an entry that another program began",
			"1:1 2:" + oneID + " 3:1",
			"1:1 2:" + oneID + " 3:1",
			func(b []byte) ([]byte, error) {
				e, err := records.DecodeEntry(b)
				if err != nil {
					return nil, err
				}
				return records.EncodeEntryAgain(&e, b)
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stored := written(t, tt.stored)
			got, err := tt.again(stored)
			if err != nil || spelled(got) != tt.want {
				t.Errorf("it is written again as %s, %v; want %s", spelled(got), err, tt.want)
			}
			newer := strings.Replace(strings.Replace(tt.stored, `"schema":1`, `"schema":3`, 1), "1:1 ", "1:3 ", 1)
			if got, err := tt.again(written(t, newer)); core.CodeOf(err) != core.CodeSchema || got != nil {
				t.Errorf("of a newer program: %s, %v; want schema", got, err)
			}
			for _, damaged := range []string{"", "{}", `{"schema":0}`, `{"schema":"1"}`, `{"schema":65536}`, `{"schema":1`, "\x08", "\x08\x00", string(stored[:len(stored)-1])} {
				if got, err := tt.again([]byte(damaged)); core.CodeOf(err) != core.CodeCorrupt || got != nil {
					t.Errorf("%s: %s, %v; want corrupt", damaged, got, err)
				}
			}
		})
	}
}

// What cannot be encoded is stored in no part.
func TestARecordThatIsNoJSONIsNotStored(t *testing.T) {
	bad, unknown := json.RawMessage("{"), thread.Unknown{"mood": json.RawMessage("1")}
	var records thread.Records
	for _, kept := range []thread.Unknown{nil, unknown} {
		queued, err := records.EncodeQueued(&thread.Queued{Request: bad, Unknown: kept})
		run, err2 := records.EncodeRun(&thread.RunRecord{Request: bad, Unknown: kept})
		about, err3 := records.EncodeAbout(&thread.About{Metadata: bad, Unknown: kept})
		for i, e := range []error{err, err2, err3} {
			if b := [][]byte{queued, run, about}[i]; b != nil || core.CodeOf(e) != core.CodeInternal {
				t.Errorf("record %d with the unknown fields %v: %s, %v", i, kept, b, e)
			}
		}
	}
	entry := thread.Entry{Intents: &state.Command{Effects: []state.Effect{{Key: "k", Payload: bad}}}}
	if b, err := records.EncodeEntryAgain(&entry, written(t, "1:1 34:1")); b != nil || core.CodeOf(err) != core.CodeInternal {
		t.Errorf("an entry: %s, %v", b, err)
	}
}

// A record says the schema of the program that made it, and from the third on what that
// program adds.
func TestWhatAProgramSaysOfItsRecords(t *testing.T) {
	tests := []struct {
		writes uint16
		extra  string
		want   string
	}{
		{0, "", `{"schema":1,"list":"l","at":9}`},
		{1, "x", `{"schema":1,"list":"l","at":9}`},
		{3, "", `{"schema":3,"list":"l","at":9}`},
		{3, "x", `{"schema":3,"extra":"x","list":"l","at":9}`},
		{19, "x", `{"schema":19,"extra":"x","list":"l","at":9}`},
	}
	for _, tt := range tests {
		records := thread.Records{Schemas: thread.Schemas{Reads: 19, Writes: tt.writes}, Extra: tt.extra}
		b, err := records.EncodeListing(&thread.Listing{List: "l", At: 9})
		if err != nil || string(b) != tt.want {
			t.Errorf("a program that writes %d with %q stores %s, %v; want %s", tt.writes, tt.extra, b, err, tt.want)
		}
		if _, err := records.DecodeListing(b); err != nil {
			t.Errorf("a program that writes %d with %q cannot read %s: %v", tt.writes, tt.extra, b, err)
		}
		other := thread.Records{Schemas: thread.Schemas{Reads: 19}, Extra: "y"}
		if _, err := other.DecodeListing(b); (core.CodeOf(err) == core.CodeCorrupt) != (tt.writes >= 3) {
			t.Errorf("%s is read by a program that adds something else: %v", b, err)
		}
		if schema, err := other.Schema(b); tt.writes >= 3 && (schema != 0 || err == nil) {
			t.Errorf("%s has the schema %d for that program, %v", b, schema, err)
		}
		plain := thread.Records{Schemas: thread.Schemas{Reads: 19}}
		if _, err := plain.DecodeListing(b); err != nil {
			t.Errorf("%s is not read by a program that adds nothing: %v", b, err)
		}
	}
}

func TestAPayloadBeginsWithItsSchema(t *testing.T) {
	if got, err := (thread.Records{}).Schema([]byte(`{"schema":3}`)); got != 0 || core.CodeOf(err) != core.CodeSchema {
		t.Errorf("that of a newer program: %d, %v; want schema", got, err)
	}
	if got, err := (thread.Records{}).Schema([]byte(`1}`)); got != 0 || core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("a number alone: %d, %v; want corrupt", got, err)
	}
	records := thread.Records{Schemas: thread.Schemas{Reads: 65535}}
	for payload, want := range map[string]uint16{`{"schema":1}`: 1, `{"schema":10,"a":1}`: 10, `{"schema":19}`: 19, `{"schema":65535}`: 65535, "1:1": 1, "1:300 2:x00": 300, "1:65535": 65535} {
		if got, err := records.Schema(written(t, payload)); got != want || err != nil {
			t.Errorf("%s: %d, %v; want %d", payload, got, err, want)
		}
	}
	for _, payload := range []string{`{"schema":65536}`, "1:65536", "1:0"} {
		if got, err := records.Schema(written(t, payload)); got != 0 || core.CodeOf(err) != core.CodeCorrupt {
			t.Errorf("%s, a number that no schema has: %d, %v; want corrupt", payload, got, err)
		}
	}
}

func TestASummaryThatMakesNoSenseIsNotStored(t *testing.T) {
	b, err := (thread.Records{}).EncodeSummary(7, &thread.Summary{})
	if b != nil || core.CodeOf(err) != core.CodeInternal || err.Error() != "encode summary: want either a text or a reason for its absence" {
		t.Errorf("%s, %v", b, err)
	}
}
