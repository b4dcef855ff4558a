package thread_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/thread"
)

const (
	one = "01000000-0000-0000-0000-000000000000"
	two = "02000000-0000-0000-0000-000000000000"
)

// form is a record and the bytes that are stored of it.
type form struct {
	name   string
	encode func() ([]byte, error)
	want   string
}

// storedForms has one of each kind of record. What is stored is stored for good:
// within a schema a known field keeps its name and its meaning.
func storedForms() []form {
	var records thread.Records
	user := core.UserMessage("m1", "is 1 < 2?")
	turn := core.Message{ID: "m2", Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "c1", Name: "sum", Arguments: json.RawMessage(`{"a":1}`)}}}
	result := core.Message{ID: "m3", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "c1", Name: "sum", Data: json.RawMessage(`3`)}}
	patch := state.Patch{{Op: "add", Path: "/thread/mood", Value: json.RawMessage(`"calm"`)}}
	entry := func(e thread.Entry) func() ([]byte, error) {
		return func() ([]byte, error) { return records.EncodeEntry(&e) }
	}
	return []form{
		{
			"a user's message", entry(thread.Entry{Run: core.ID{1}, Message: &user, Input: core.ID{2}}),
			`{"schema":1,"run":"` + one + `","message":{"id":"m1","role":"user","content":[{"type":"text","text":"is 1 < 2?"}]},"input":"` + two + `"}`,
		},
		{
			"a turn",
			entry(thread.Entry{
				Run: core.ID{1}, Step: 2, Message: &turn, Patch: patch, Revision: 4, Attempt: 5,
				Totals: &thread.Totals{Usage: core.Usage{Input: 9}, Steps: 2, Failures: 1, Calls: []byte{1, 2, 3, 4}},
			}),
			`{"schema":1,"run":"` + one + `","step":2,"message":{"id":"m2","role":"assistant","tool_calls":[{"id":"c1","name":"sum","arguments":{"a":1}}]},` +
				`"patch":[{"op":"add","path":"/thread/mood","value":"calm"}],"revision":4,"totals":{"usage":{"input":9},"steps":2,"failures":1,"calls":"AQIDBA=="},"attempt":5}`,
		},
		{
			"a result with what its call asks for",
			entry(thread.Entry{Run: core.ID{1}, Step: 2, Message: &result, Intents: &state.Command{Effects: []state.Effect{{Key: "mail"}}}}),
			`{"schema":1,"run":"` + one + `","step":2,"message":{"id":"m3","role":"tool","tool_result":{"call_id":"c1","name":"sum","data":3}},"intents":{"effects":[{"key":"mail"}]}}`,
		},
		{
			"a result that stands in the line of a parallel round",
			entry(thread.Entry{Run: core.ID{1}, Step: 2, Message: &result, Attempt: 5, Place: 2, Intents: &state.Command{Batch: state.Batch{Mutations: []state.Mutation{{Key: "mood", Update: json.RawMessage(`"calm"`)}}}}}),
			`{"schema":1,"run":"` + one + `","step":2,"message":{"id":"m3","role":"tool","tool_result":{"call_id":"c1","name":"sum","data":3}},` +
				`"attempt":5,"place":2,"intents":{"batch":{"mutations":[{"key":"mood","update":"calm"}]}}}`,
		},
		{
			"a step record", entry(thread.Entry{Run: core.ID{1}, Step: 2, Patch: patch, Revision: 5, Totals: &thread.Totals{Steps: 2}}),
			`{"schema":1,"run":"` + one + `","step":2,"patch":[{"op":"add","path":"/thread/mood","value":"calm"}],"revision":5,"totals":{"steps":2}}`,
		},
		{
			"a step whose inference failed",
			entry(thread.Entry{
				Run: core.ID{1}, Step: 2, Failed: &thread.Failure{Kind: "overloaded", Text: "the model failed", Calls: 3, At: 9},
				Totals: &thread.Totals{Steps: 2, ErrorSteps: 1, Turns: []byte{1, 2, 3, 4, 5, 6, 7, 8}}, Attempt: 5,
			}),
			`{"schema":1,"run":"` + one + `","step":2,"totals":{"steps":2,"error_steps":1,"turns":"AQIDBAUGBwg="},"attempt":5,` +
				`"failed":{"kind":"overloaded","text":"the model failed","calls":3,"at":9}}`,
		},
		{
			"queued input",
			func() ([]byte, error) {
				return records.EncodeQueued(&thread.Queued{Run: core.ID{1}, Dispatch: core.ID{2}, AgentID: "demo", Messages: []core.Message{user}, CreatedAt: 3})
			},
			`{"schema":1,"run":"` + one + `","dispatch":"` + two + `","agent_id":"demo","messages":[{"id":"m1","role":"user","content":[{"type":"text","text":"is 1 < 2?"}]}],"created_at":3}`,
		},
		{
			"a run record",
			func() ([]byte, error) {
				return records.EncodeRun(&thread.RunRecord{
					Run:    core.Run{ID: core.ID{1}, ThreadID: "t", AgentID: "demo", Status: core.RunRunning, Steps: 2, CreatedAt: 3},
					Ending: &thread.Ending{Version: 7, Termination: core.Termination{Type: core.TerminationStopped, Code: "max_rounds"}}, Skipped: true,
				})
			},
			`{"schema":1,"run_id":"` + one + `","thread_id":"t","agent_id":"demo","status":"running","steps":2,"created_at":3,` +
				`"ending":{"version":7,"termination":{"type":"stopped","code":"max_rounds"}},"run_end_skipped":true}`,
		},
		{
			"a run record whose end is stored in a smaller form",
			func() ([]byte, error) {
				return records.EncodeRun(&thread.RunRecord{
					Run:    core.Run{ID: core.ID{1}, ThreadID: "t", AgentID: "demo", Status: core.RunRunning},
					Ending: &thread.Ending{Version: 7, Termination: core.Termination{Type: core.TerminationNatural}, Form: thread.FormLeast},
				})
			},
			`{"schema":1,"run_id":"` + one + `","thread_id":"t","agent_id":"demo","status":"running","steps":0,"created_at":0,"ending":{"version":7,"termination":{"type":"natural_end"},"form":4}}`,
		},
		{
			"what RunEnd has changed",
			func() ([]byte, error) {
				return records.Encode("end", &thread.EndRecord{At: 9, Patch: patch, Revision: 4, Command: &state.Command{Effects: []state.Effect{{Key: "mail"}}}})
			},
			`{"schema":1,"at":9,"patch":[{"op":"add","path":"/thread/mood","value":"calm"}],"revision":4,"command":{"effects":[{"key":"mail"}]}}`,
		},
		{
			"that RunEnd has changed nothing",
			func() ([]byte, error) { return records.Encode("end", &thread.EndRecord{At: 9}) },
			`{"schema":1,"at":9}`,
		},
		{
			"that an end has no room for what RunEnd has changed",
			func() ([]byte, error) {
				return records.Encode("end", &thread.EndRecord{At: 9, Form: thread.FormStateless})
			},
			`{"schema":1,"at":9,"form":3}`,
		},
		{
			"what a round that waits has come to",
			func() ([]byte, error) {
				return records.Encode("round", &thread.RoundRecord{Turn: 4, Patch: patch, Revision: 5, Merged: []int{1, 0}, Waits: []uint64{7}, Fence: 3, After: 9})
			},
			`{"schema":1,"turn":4,"patch":[{"op":"add","path":"/thread/mood","value":"calm"}],"revision":5,"merged":[1,0],"waits":[7],"fence":3,"after":9}`,
		},
		{
			"a round that waits and has come to nothing",
			func() ([]byte, error) { return records.Encode("round", &thread.RoundRecord{Turn: 4}) },
			`{"schema":1,"turn":4}`,
		},
		{
			"a summary",
			func() ([]byte, error) {
				return records.EncodeSummary(9, &thread.Summary{
					Predecessor: 4, Text: "so far", From: 6, Model: "m", Provider: "p", Usage: core.Usage{Input: 9, Output: 2}, Calls: 2, Duration: 70,
				})
			},
			`{"schema":1,"predecessor":4,"text":"so far","from":6,"model":"m","provider":"p","usage":{"input":9,"output":2},"calls":2,"duration":70}`,
		},
		{
			"a summary that was skipped",
			func() ([]byte, error) {
				return records.EncodeSummary(9, &thread.Summary{Skipped: thread.SkippedSavings})
			},
			`{"schema":1,"skipped":"savings"}`,
		},
		{
			"an audit",
			func() ([]byte, error) {
				return records.EncodeAudit(thread.AuditRecord{Run: core.ID{1}, Read: 6, Status: core.DispatchAcked})
			},
			`{"schema":1,"run":"` + one + `","read":6,"status":"acked"}`,
		},
	}
}

func TestRecordsKeepTheirForm(t *testing.T) {
	for _, tt := range storedForms() {
		t.Run(tt.name, func(t *testing.T) {
			b, err := tt.encode()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, string(b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRecordsAreReadAsTheyWereWritten(t *testing.T) {
	records := thread.Records{Schemas: thread.Schemas{Reads: 2, Writes: 2}, Extra: "from the next release"}
	message := core.UserMessage("m1", "hello")
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
		if !bytes.HasPrefix(b, []byte(`{"schema":2,"extra":"from the next release",`)) {
			t.Errorf("%s does not begin with its schema: %s", name, b)
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
	if err := records.Decode("mood", []byte(`{"schema":2}`), &got); !errors.Is(err, thread.ErrSchema) || err.Error() != "mood of schema 2, newest known 1: thread was written by a newer version of the program" {
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
		{"a newer schema", `{"schema":2,"run":"` + one + `"}`, core.CodeSchema},
		{"a newer schema in another shape", `{"schema":2]`, core.CodeSchema},
		{"no JSON behind it", `{"schema":1`, core.CodeCorrupt},
		{"more behind it", `{"schema":1} {}`, core.CodeCorrupt},
		{"a run that is no id", `{"schema":1,"run":"1","run_id":"1"}`, core.CodeCorrupt},
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
				if err := f([]byte(tt.text)); core.CodeOf(err) != tt.want {
					t.Errorf("%s: error %v, want %s", name, err, tt.want)
				}
			}
		})
	}
	next := thread.Records{Schemas: thread.Schemas{Reads: 2}, Extra: "x"}
	if _, err := next.DecodeEntry([]byte(`{"schema":2,"run":"` + one + `"}`)); core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("a record of schema 2 without its field: error %v, want corrupt", err)
	}
	if _, err := next.DecodeEntry([]byte(`{"schema":1,"run":"` + one + `"}`)); err != nil {
		t.Errorf("a record of schema 1 has no such field: %v", err)
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
	entry, err := records.DecodeEntry([]byte(`{"schema":1,"run":"` + one + `","step":1,"mood":"calm"}`))
	if diff := cmp.Diff(thread.Entry{Run: core.ID{1}, Step: 1}, entry); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	entry.Place = 2
	again, err := records.EncodeEntryAgain(&entry, []byte(`{"schema":1,"run":"`+one+`","step":1,"place":1,"mood":"calm"}`))
	if want := `{"schema":1,"run":"` + one + `","step":1,"place":2,"mood":"calm"}`; err != nil || string(again) != want {
		t.Errorf("the entry is %s, %v; want %s", again, err, want)
	}
	if b, err := records.EncodeEntryAgain(&entry, []byte(`{"schema":1`)); core.CodeOf(err) != core.CodeCorrupt {
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
	next := thread.Records{Schemas: thread.Schemas{Reads: 2, Writes: 2}, Extra: "x"}
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
		{"without a text", `{"schema":1}`, 7, "it has a text and says why there is none, or neither"},
		{"with one and without", `{"schema":1,"text":"a","skipped":"savings"}`, 7, "it has a text and says why there is none, or neither"},
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

func FuzzDecodeEntry(f *testing.F) {
	f.Add([]byte(`{"schema":1,"run":"` + one + `","step":1,"message":{"id":"m","role":"user","content":[{"type":"text","text":"hi"}]}}`))
	f.Add([]byte(`{"schema":1,"run":"` + one + `","intents":{"batch":{"mutations":[{"key":"k","update":1}]},"effects":[{"key":"e"}]}}`))
	f.Add([]byte(`{"schema":1,"run":"","message":{"id":"m","role":"tool","tool_result":{"call_id":"c","name":"n","data":{"a":[1,2]}}}}{}`))
	f.Add([]byte(`{"schema":2,"extra":"x","patch":[{"op":"add","path":"/run/a"}],"totals":{"calls":"AQIDBA=="}}`))
	records := thread.Records{Schemas: thread.Schemas{Reads: 2, Writes: 2}, Extra: "x"}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := records.DecodeEntry(b)
		if err != nil {
			if code := core.CodeOf(err); code != core.CodeCorrupt && code != core.CodeSchema {
				t.Fatalf("code %s: %v", code, err)
			}
			return
		}
		once, err := records.EncodeEntry(&e)
		if err != nil {
			t.Fatalf("%s was decoded and cannot be encoded: %v", b, err)
		}
		again, err := records.DecodeEntry(once)
		if err != nil {
			t.Fatalf("%s does not decode: %v", once, err)
		}
		if twice, err := records.EncodeEntry(&again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s became %s (%v)", once, twice, err)
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
