package main

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func logOf(t *testing.T, text string) (messages []message) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &messages); err != nil {
		t.Fatal(err)
	}
	return messages
}

// sound is the log of three runs: a call and its text, a text, and one that
// failed.
const sound = `[
	{"id":"m1","role":"user","run_id":"r1","content":[{"type":"text","text":"echo: x"}]},
	{"id":"a1","role":"assistant","run_id":"r1","step":1,"tool_calls":[{"id":"c","arguments":{"text":"x"}}]},
	{"id":"a1.0","role":"tool","run_id":"r1","step":1,"tool_result":{"call_id":"c","data":{"text":"x"}}},
	{"id":"a2","role":"assistant","run_id":"r1","step":2,"content":[{"type":"text","text":"Echo: x"}]},
	{"id":"m2","role":"user","run_id":"r2","content":[{"type":"text","text":"hello"}]},
	{"id":"b1","role":"assistant","run_id":"r2","step":1,"content":[{"type":"text","text":"You said: hello"}]},
	{"id":"m3","role":"user","run_id":"r3","content":[{"type":"text","text":"fail"}]}
]`

// soundView is a thread with nothing wrong.
func soundView(t *testing.T) *view {
	t.Helper()
	done := func(kind, code string) record {
		return record{Status: "done", Termination: &struct{ Type, Code, Detail string }{Type: kind, Code: code}, Created: 1000, Finished: 2000}
	}
	sent := func(key, text, run string) *input {
		return &input{Key: key, Door: doorMessages, Mode: modeQueue, Messages: []said{{key, text}}, Sent: time.UnixMilli(900), Acked: true, Runs: []string{run}}
	}
	l := newLedger("t")
	l.inputs = []*input{sent("m1", "echo: x", "r1"), sent("m2", "hello", "r2"), sent("m3", "fail", "r3")}
	l.streams = []*shown{{Run: "r1", Ended: true, How: "natural_end", Steps: []*step{
		{Number: 1, Turn: turn{Calls: []string{"x"}}, IDs: []string{"c"}, Results: map[string]string{"c": "x"}, Lives: map[string]int{"c": 2}, Closed: true},
		{Number: 2, Turn: turn{Text: "Echo: x"}, Closed: true},
	}}}
	return &view{
		ledger: l, Messages: logOf(t, sound),
		Runs:  map[string]record{"r1": done("natural_end", ""), "r2": done("natural_end", ""), "r3": done("error", "model")},
		Kills: func(time.Time, time.Time) int { return 4 },
		Executed: func(run string) ([]uint64, map[call][]int) {
			if run != "r1" {
				return nil, nil
			}
			return []uint64{2}, map[call][]int{{Turn: 2, Index: 0}: {1, 2}}
		},
	}
}

func (v *view) end(run, kind, code string) {
	r := v.Runs[run]
	r.Termination = &struct{ Type, Code, Detail string }{Type: kind, Code: code}
	v.Runs[run] = r
}

// lives makes the one call of r1 run in some lives.
func (v *view) lives(lives ...int) {
	v.Executed = func(run string) ([]uint64, map[call][]int) {
		if run != "r1" || lives == nil {
			return nil, nil
		}
		return []uint64{2}, map[call][]int{{Turn: 2, Index: 0}: lives}
	}
}

// failsOver makes the second run end with a call that was cancelled for a reason, and the
// third input stand behind it, though another was queued before that.
func (v *view) failsOver(t *testing.T, reason string) {
	t.Helper()
	v.Messages = slices.Concat(v.Messages[:4], logOf(t, `[
		{"id":"m2","role":"user","run_id":"r2","content":[{"type":"text","text":"echo: y"}]},
		{"id":"b1","role":"assistant","run_id":"r2","step":1,"tool_calls":[{"id":"d","arguments":{"text":"y"}}]},
		{"id":"b1.0","role":"tool","run_id":"r2","step":1,"tool_result":{"call_id":"d","status":"cancelled","is_error":true,"message":"`+reason+`"}},
		{"id":"m3","role":"user","run_id":"r3","content":[{"type":"text","text":"fail"}]},
		{"id":"m4","role":"user","run_id":"r4","content":[{"type":"text","text":"hello"}]},
		{"id":"c1","role":"assistant","run_id":"r4","step":1,"content":[{"type":"text","text":"You said: hello"}]}
	]`))
	v.end("r2", "error", "model")
	v.Runs["r4"] = v.Runs["r1"]
	v.inputs[1].Messages[0].Text = "echo: y"
	v.inputs = slices.Insert(v.inputs, 2, &input{
		Key: "m4", Door: doorMessages, Mode: modeQueue, Messages: []said{{"m4", "hello"}}, Sent: time.UnixMilli(900), Acked: true, Runs: []string{"r4"},
	})
}

func TestEachViolationIsFound(t *testing.T) {
	tests := []struct {
		name   string
		change func(v *view)
		want   []kind
	}{
		{"nothing wrong", func(*view) {}, nil},
		{"input gone with its run", func(v *view) {
			v.Messages = v.Messages[:6]
			v.end("r3", "error", "dead_letter")
			v.Kills = func(time.Time, time.Time) int { return 5 }
		}, []kind{kindLost}},
		{"input gone, its run was cancelled", func(v *view) {
			v.Messages = v.Messages[:6]
			v.end("r3", "cancelled", "")
			v.cancels = []*cancellation{{Run: "r3", Sent: time.UnixMilli(1500), Done: true}}
		}, nil},
		{"cancelled by nobody", func(v *view) { v.end("r3", "cancelled", "") }, []kind{kindEnded}},
		{"superseded by nobody", func(v *view) { v.end("r3", "superseded", "") }, []kind{kindEnded}},
		{"superseded by an interrupt", func(v *view) {
			v.end("r2", "superseded", "")
			v.inputs[2].Mode = modeInterrupt
		}, nil},
		{"input twice", func(v *view) { v.Messages = slices.Insert(v.Messages, 7, v.Messages[6]) }, []kind{kindDoubled}},
		{"input of nobody", func(v *view) { v.Messages[6].ID = "m4" }, []kind{kindDoubled, kindLost}},
		{"refused input is read", func(v *view) { v.inputs[2].Acked, v.inputs[2].Refused = false, "busy" }, []kind{kindRefused}},
		{"input read by another run", func(v *view) { v.inputs[1].Runs = []string{"r3"} }, []kind{kindDoubled}},
		{"input out of order", func(v *view) { v.inputs[0], v.inputs[1] = v.inputs[1], v.inputs[0] }, []kind{kindOrder}},
		{"steered input stands where it may", func(v *view) {
			v.inputs[0], v.inputs[1] = v.inputs[1], v.inputs[0]
			v.inputs[0].Mode = modeSteer
		}, nil},
		{"input that a waiting run failed over stands before what is queued", func(v *view) { v.failsOver(t, "cancelled: the user went on without deciding") }, nil},
		{"input that stands before what is queued", func(v *view) { v.failsOver(t, "cancelled: no") }, []kind{kindEnded, kindOrder}},
		{"a run in two pieces", func(v *view) { v.Messages[3].Run, v.Messages[5].Run = "r2", "r1" }, []kind{kindDoubled, kindLost, kindStream}},
		{"a turn twice", func(v *view) { v.Messages = slices.Insert(v.Messages, 6, v.Messages[5]) }, []kind{kindDoubled}},
		{"a response to something else", func(v *view) { v.Messages[5].Content[0].Text = "You said: x" }, []kind{kindDoubled}},
		{"a call without a result", func(v *view) { v.Messages = slices.Delete(v.Messages, 2, 3) }, []kind{kindDoubled, kindResult, kindStream}},
		{"two results of a call", func(v *view) {
			again := v.Messages[2]
			again.ID = "a1.1"
			v.Messages = slices.Insert(v.Messages, 3, again)
		}, []kind{kindResult}},
		{"another result than the call's", func(v *view) { v.Messages[2].Result.Data = json.RawMessage(`{"text":"y"}`) }, []kind{kindResult, kindStream}},
		{"a run that goes on", func(v *view) { v.Runs["r2"] = record{Status: "running"} }, []kind{kindUnfinished}},
		{"a natural end without a response", func(v *view) { v.end("r3", "natural_end", "") }, []kind{kindLost}},
		{"dead letter after 4 SIGKILLs", func(v *view) { v.end("r2", "error", "dead_letter") }, []kind{kindEnded}},
		{"timeout", func(v *view) { v.end("r3", "error", "timeout") }, []kind{kindEnded}},
		{"a cancel without effect", func(v *view) { v.cancels = []*cancellation{{Run: "r1", Sent: time.UnixMilli(1500), Done: true}} }, []kind{kindEnded}},
		{"a stream with a byte twice", func(v *view) { v.streams[0].Steps[1].Turn.Text = "Echo: xx" }, []kind{kindStream}},
		{"a stream without a step", func(v *view) { v.streams[0].Steps = v.streams[0].Steps[:1] }, []kind{kindStream}},
		{"a stream that broke off", func(v *view) {
			v.streams[0].Ended, v.streams[0].Steps[1] = false, &step{Number: 2, Turn: turn{Text: "Ec"}}
		}, nil},
		{"run twice in one life", func(v *view) { v.lives(2, 2) }, []kind{kindExecuted}},
		{"run after its result was shown", func(v *view) { v.lives(2, 3) }, []kind{kindExecuted}},
		{"a result that no tool made", func(v *view) { v.lives() }, []kind{kindExecuted}},
		{"run beside a turn that its run's end refused", func(v *view) {
			v.Executed = func(run string) ([]uint64, map[call][]int) {
				return map[string][]uint64{"r1": {2}, "r3": {7}}[run], map[call][]int{{Turn: 2, Index: 0}: {1, 2}}
			}
		}, nil},
		{"run in two turns that the log does not have", func(v *view) {
			v.Executed = func(run string) ([]uint64, map[call][]int) {
				return map[string][]uint64{"r1": {2}, "r3": {7, 9}}[run], map[call][]int{{Turn: 2, Index: 0}: {1, 2}}
			}
		}, []kind{kindExecuted}},
		{"run in a turn that a run with a natural end does not have", func(v *view) {
			v.Executed = func(run string) ([]uint64, map[call][]int) {
				return map[string][]uint64{"r1": {2}, "r2": {5}}[run], map[call][]int{{Turn: 2, Index: 0}: {1, 2}}
			}
		}, []kind{kindExecuted}},
		{"found before", func(v *view) { v.fault(kindRefused, "x") }, []kind{kindRefused}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := soundView(t)
			tt.change(v)
			v.finds(t, tt.want)
		})
	}
}

// finds fails unless the kinds of what is wrong with a thread are these, each once, in
// their order.
func (v *view) finds(t *testing.T, want []kind) {
	t.Helper()
	var got []kind
	for _, f := range v.check() {
		got = append(got, f.Kind)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("kinds (-want +got):\n%s\n%v", diff, v.found)
	}
}

func TestReceiptsOfOneInputAgree(t *testing.T) {
	tests := []struct {
		name string
		mode string
		give func(l *ledger, in *input)
		want []kind
	}{
		{"the same", modeQueue, func(l *ledger, in *input) { l.receipt(in, "r1", "d1"); l.receipt(in, "r1", "d1") }, nil},
		{"a stream's, without a dispatch", modeQueue, func(l *ledger, in *input) { l.receipt(in, "r1", ""); l.receipt(in, "r1", "d1") }, nil},
		{"another run", modeQueue, func(l *ledger, in *input) { l.receipt(in, "r1", "d1"); l.receipt(in, "r2", "d1") }, []kind{kindDoubled}},
		{"another run of what was steered", modeSteer, func(l *ledger, in *input) { l.receipt(in, "r1", "d1"); l.receipt(in, "r2", "d1") }, nil},
		{"another dispatch", modeSteer, func(l *ledger, in *input) { l.receipt(in, "r1", "d1"); l.receipt(in, "r1", "d2") }, []kind{kindDoubled}},
		{"accepted after a refusal", modeReject, func(l *ledger, in *input) { in.Refused = "busy"; l.receipt(in, "r1", "d1") }, []kind{kindRefused}},
	}
	for _, tt := range tests {
		l := newLedger("t")
		tt.give(l, &input{Key: "k", Mode: tt.mode})
		var got []kind
		for _, f := range l.faults {
			got = append(got, f.Kind)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}
