package thread_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

const (
	one = "01000000-0000-0000-0000-000000000000"
	two = "02000000-0000-0000-0000-000000000000"

	oneID = "x01000000000000000000000000000000" // as entries are spelled
	twoID = "x02000000000000000000000000000000"
)

func TestRecordsKeepTheirForm(t *testing.T) {
	for _, tt := range storedForms() {
		t.Run(tt.name, func(t *testing.T) {
			b, err := tt.encode()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, spelled(b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	records := thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}, Extra: "from the next release"}
	message := core.UserMessage("hello").WithID("m1")
	entry := thread.Entry{Run: core.ID{1}, Message: &message}
	queued := thread.Queued{Run: core.ID{1}, Dispatch: core.ID{2}, Messages: []core.Message{message}, CreatedAt: 3}
	run := thread.RunRecord{Run: core.Run{ID: core.ID{1}, Status: core.RunDone}}
	audit := thread.AuditRecord{Run: core.ID{1}, Status: core.DispatchSuperseded}
	check := func(name string, b []byte, want any, read func([]byte) (any, error)) {
		t.Helper()
		got, err := read(b)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if text := spelled(b); !strings.HasPrefix(text, `{"schema":3,"extra":"from the next release",`) && (!strings.HasPrefix(text, "1:3 ") || !strings.HasSuffix(text, " 1000:`from the next release`")) {
			t.Errorf("%s does not begin with its schema: %s", name, text)
		}
	}
	b, _ := records.EncodeEntry(&entry)
	check("entry", b, entry, func(b []byte) (any, error) { return records.DecodeEntry(b) })
	b, _ = records.EncodeQueued(&queued)
	check("queued", b, queued, func(b []byte) (any, error) { return records.DecodeQueued(b) })
	b, _ = records.EncodeRun(&run)
	check("run", b, run, func(b []byte) (any, error) { return records.DecodeRun(b) })
	b, _ = records.EncodeAudit(audit)
	check("audit", b, audit, func(b []byte) (any, error) { return records.DecodeAudit(b) })
}

func TestOtherPayloadsHaveASchemaToo(t *testing.T) {
	type payload struct {
		Mood string `json:"mood,omitempty"`
	}
	var records thread.Records
	b, err := records.Encode("mood", payload{"calm"})
	if err != nil || string(b) != `{"schema":1,"mood":"calm"}` {
		t.Fatalf("%s (%v)", b, err)
	}
	if b, _ := records.Encode("mood", payload{}); string(b) != `{"schema":1}` {
		t.Errorf("an empty one is %s", b)
	}
	var got payload
	if err := records.Decode("mood", b, &got); err != nil || got.Mood != "calm" {
		t.Errorf("%+v (%v)", got, err)
	}
	if err := records.Decode("mood", []byte(`{"schema":3}`), &got); !errors.Is(err, thread.ErrSchema) || err.Error() != "mood of schema 3, newest known 2: thread was written by a newer version of the program" {
		t.Errorf("a newer one: %v", err)
	}
	if err := records.Decode("mood", []byte(`{"schema":1,"mood":1}`), &got); core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("another shape: error %v, want corrupt", err)
	}
	if _, err := records.Encode("mood", func() {}); core.CodeOf(err) != core.CodeInternal {
		t.Errorf("what does not encode: error %v, want internal", err)
	}
}

func TestDecodeRefusesARecordThatItCannotTrust(t *testing.T) {
	tests := []struct {
		name, text string
		want       core.Code
	}{
		{"nothing", "", core.CodeCorrupt},
		{"no schema", `{"run":"` + one + `"}`, core.CodeCorrupt},
		{"a schema that is not the first field", `{"run":"` + one + `","schema":1}`, core.CodeCorrupt},
		{"a schema that is no number", `{"schema":"1"}`, core.CodeCorrupt},
		{"a negative schema", `{"schema":-1}`, core.CodeCorrupt},
		{"schema 0", `{"schema":0}`, core.CodeCorrupt},
		{"a schema over 65535", `{"schema":65536}`, core.CodeCorrupt},
		{"a newer schema", `{"schema":3,"run":"` + one + `"}`, core.CodeSchema},
		{"a newer schema in another shape", `{"schema":3]`, core.CodeSchema},
		{"no JSON behind it", `{"schema":1`, core.CodeCorrupt},
		{"more behind it", `{"schema":1} {}`, core.CodeCorrupt},
		{"a run that is no id", `{"schema":1,"run":"1","run_id":"1"}`, core.CodeCorrupt},
		{"an entry without a schema", "2:" + oneID, core.CodeCorrupt},
		{"an entry of schema 0", "1:0 2:" + oneID, core.CodeCorrupt},
		{"an entry of a schema over 65535", "1:65536 2:" + oneID, core.CodeCorrupt},
		{"an entry of a newer schema", "1:3 2:" + oneID, core.CodeSchema},
		{"an entry of a newer schema in another shape", "1:3 2:7", core.CodeSchema},
		{"an entry whose run is no id", "1:1 2:x01", core.CodeCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var records thread.Records
			decode := map[string]func([]byte) error{
				"entry":   func(b []byte) error { _, err := records.DecodeEntry(b); return err },
				"queued":  func(b []byte) error { _, err := records.DecodeQueued(b); return err },
				"run":     func(b []byte) error { _, err := records.DecodeRun(b); return err },
				"audit":   func(b []byte) error { _, err := records.DecodeAudit(b); return err },
				"summary": func(b []byte) error { _, err := records.DecodeSummary(1, b); return err },
			}
			for name, f := range decode {
				if err := f(written(t, tt.text)); core.CodeOf(err) != tt.want {
					t.Errorf("%s: error %v, want %s", name, err, tt.want)
				}
			}
		})
	}
	next := thread.Records{Schemas: thread.Schemas{Reads: 3}, Extra: "x"}
	for text, want := range map[string]core.Code{"1:3 2:" + oneID: core.CodeCorrupt, "1:3 2:" + oneID + " 1000:`y`": core.CodeCorrupt, "1:3 2:" + oneID + " 1000:`x`": "", "1:1 2:" + oneID: ""} {
		if _, err := next.DecodeEntry(written(t, text)); (err == nil) != (want == "") || err != nil && core.CodeOf(err) != want {
			t.Errorf("%s for a program with a further field in schema 3: error %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]core.Code{`{"schema":3,"run_id":"` + one + `"}`: core.CodeCorrupt, `{"schema":1,"run_id":"` + one + `"}`: ""} {
		if _, err := next.DecodeRun([]byte(text)); (err == nil) != (want == "") || err != nil && core.CodeOf(err) != want {
			t.Errorf("%s for a program with a further field in schema 3: error %v, want %q", text, err, want)
		}
	}
	if _, err := (thread.Records{}).DecodeEntry([]byte(`{"schema":1,"run":"` + one + `"}`)); core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("an entry that is JSON: error %v, want corrupt", err)
	}
	broken := thread.Entry{Message: &core.Message{ToolResult: &core.ToolResult{Data: json.RawMessage("{")}}}
	if _, err := (thread.Records{}).EncodeEntry(&broken); core.CodeOf(err) != core.CodeInternal {
		t.Errorf("a payload that is no JSON: error %v, want internal", err)
	}
}

// Within a schema a program adds fields: an older one ignores them, and where it
// rewrites the record keeps them.
func TestFieldsOfANewerProgramAreKeptWhereTheRecordIsRewritten(t *testing.T) {
	var records thread.Records
	newer := written(t, "1:1 2:"+oneID+" 3:1 18:1 34:`calm`")
	entry, err := records.DecodeEntry(newer)
	if diff := cmp.Diff(thread.Entry{Run: core.ID{1}, Step: 1, Place: 1}, entry); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	entry.Place = 2
	again, err := records.EncodeEntryAgain(&entry, newer)
	if want := "1:1 2:" + oneID + " 3:1 18:2 34:`calm`"; err != nil || spelled(again) != want {
		t.Errorf("the entry is %s, %v; want %s", spelled(again), err, want)
	}
	if b, err := records.EncodeEntryAgain(&entry, newer[:len(newer)-1]); core.CodeOf(err) != core.CodeCorrupt || b != nil {
		t.Errorf("instead of what is no entry: %s, %v; want corrupt", b, err)
	}
	run, err := records.DecodeRun([]byte(`{"schema":1,"run_id":"` + one + `","thread_id":"t","agent_id":"a","status":"running","steps":1,"created_at":3,"zeal":[1, 2],"cost":{"usd":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	run.Steps = 2
	b, err := records.EncodeRun(&run)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":1,"run_id":"` + one + `","thread_id":"t","agent_id":"a","status":"running","steps":2,"created_at":3,"cost":{"usd":1},"zeal":[1, 2]}`
	if diff := cmp.Diff(want, string(b)); diff != "" {
		t.Error(diff)
	}
	// What the record's own program adds is no field of another's.
	next := thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}, Extra: "x"}
	b, _ = next.EncodeRun(&run)
	kept, err := next.DecodeRun(b)
	if diff := cmp.Diff(run, kept); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
}

func TestTheEndOfARunIsTheOneThatTheHeadNames(t *testing.T) {
	stopped := core.Termination{Type: core.TerminationStopped, Code: "max_rounds"}
	record := &thread.RunRecord{Ending: &thread.Ending{Version: 7, Termination: stopped}}
	closing := func(reason thread.Reason) thread.Head {
		return thread.Head{Closing: 7, Run: thread.Run{ID: core.ID{1}, Status: thread.Closing, Reason: reason}}
	}
	older := closing(thread.ReasonOwn)
	older.Closing = 8
	tests := []struct {
		name   string
		head   thread.Head
		record *thread.RunRecord
		want   *core.Termination
	}{
		{"its own", closing(thread.ReasonOwn), record, &stopped},
		{"its own, of a refused write", older, record, nil},
		{"its own, without a record", closing(thread.ReasonOwn), nil, nil},
		{"its own, without an ending", closing(thread.ReasonOwn), &thread.RunRecord{}, nil},
		{"cancelled, whatever a refused write left", closing(thread.ReasonCancelled), record, &core.Termination{Type: core.TerminationCancelled}},
		{"running", thread.Head{Closing: 7, Run: thread.Run{ID: core.ID{1}}}, record, nil},
		{"running, whatever else stands there", thread.Head{Closing: 7, Run: thread.Run{ID: core.ID{1}, Reason: thread.ReasonOwn}}, record, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.head.End(tt.record)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASummaryThatMakesNoSense(t *testing.T) {
	tests := []struct {
		name, text string
		upTo       uint64
		want       string
	}{
		{"of nothing", `{"schema":1,"text":"a"}`, 0, "it covers sequence 0, allowed are 1 to 999999999999"},
		{"of more than a log has", `{"schema":1,"text":"a"}`, thread.MaxSeq + 1, "it covers sequence 1000000000000, allowed are 1 to 999999999999"},
		{"behind itself", `{"schema":1,"text":"a","predecessor":7}`, 7, "it covers sequence 7, its predecessor 7"},
		{"of what comes later", `{"schema":1,"text":"a","from":8}`, 7, "it covers sequence 7 and was made from 8 on"},
		{"without a text", `{"schema":1}`, 7, "want either a text or a reason for its absence"},
		{"with one and without", `{"schema":1,"text":"a","skipped":"savings"}`, 7, "want either a text or a reason for its absence"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := thread.Records{}.DecodeSummary(tt.upTo, []byte(tt.text))
			if core.CodeOf(err) != core.CodeCorrupt || err.Error() != "decode summary: "+tt.want {
				t.Errorf("error %v, want %s", err, tt.want)
			}
		})
	}
	if s, err := (thread.Records{}).DecodeSummary(7, []byte(`{"schema":1,"text":"a","from":7,"predecessor":6}`)); err != nil || s.Text != "a" {
		t.Errorf("a summary of one record: %+v, %v", s, err)
	}
}

func FuzzDecodeSummary(f *testing.F) {
	f.Add(uint64(9), []byte(`{"schema":1,"predecessor":4,"text":"so far","usage":{"input":1}}`))
	f.Add(uint64(9), []byte(`{"schema":1,"skipped":"savings"}`))
	f.Fuzz(func(t *testing.T, upTo uint64, b []byte) {
		var records thread.Records
		s, err := records.DecodeSummary(upTo, b)
		if err != nil {
			if code := core.CodeOf(err); code != core.CodeCorrupt && code != core.CodeSchema {
				t.Fatalf("code %s: %v", code, err)
			}
			return
		}
		once, err := records.EncodeSummary(upTo, &s)
		if err != nil {
			t.Fatalf("%s was decoded and cannot be encoded: %v", b, err)
		}
		again, err := records.DecodeSummary(upTo, once)
		if diff := cmp.Diff(s, again); err != nil || diff != "" {
			t.Fatalf("%s became %s: %v", b, once, err)
		}
	})
}

// A run record is rewritten by every program that moves its run on: what one of
// them does not know must come out as it came in.
func FuzzRewriteRun(f *testing.F) {
	f.Add([]byte(`{"schema":1,"run_id":"` + one + `","status":"done","ending":{"version":3,"termination":{"type":"error"}},"zeal":[1, 2]}`))
	f.Add([]byte(`{"schema":1,"":0,"a\"b":{}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var records thread.Records
		run, err := records.DecodeRun(b)
		if err != nil {
			if errors.Is(err, thread.ErrSchema) || core.CodeOf(err) == core.CodeCorrupt {
				return
			}
			t.Fatal(err)
		}
		once, err := records.EncodeRun(&run)
		if err != nil {
			t.Fatalf("%s was decoded and cannot be encoded: %v", b, err)
		}
		again, err := records.DecodeRun(once)
		if err != nil {
			t.Fatalf("%s became %s: %v", b, once, err)
		}
		if diff := cmp.Diff(run, again); diff != "" {
			t.Fatal(diff)
		}
	})
}
