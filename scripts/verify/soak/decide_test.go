package main

import (
	"testing"
	"time"
)

// asked is the log of a run whose call of danger was approved.
const asked = `[
	{"id":"m1","role":"user","run_id":"r1","content":[{"type":"text","text":"approve: x"}]},
	{"id":"a1","role":"assistant","run_id":"r1","step":1,"tool_calls":[{"id":"c","name":"danger","arguments":{"text":"x"}}]},
	{"id":"a1.0","role":"tool","run_id":"r1","step":1,"tool_result":{"call_id":"c","status":"ok","data":{"text":"x","executions":1}}},
	{"id":"a2","role":"assistant","run_id":"r1","step":2,"content":[{"type":"text","text":"Done: x"}]}
]`

// askedView is that run, approved and acknowledged.
func askedView(t *testing.T) *view {
	t.Helper()
	l := newLedger("t")
	l.inputs = []*input{{Key: "m1", Door: doorRuns, Mode: modeQueue, Messages: []said{{"m1", "approve: x"}}, Sent: time.UnixMilli(900), Acked: true, Runs: []string{"r1"}}}
	l.verdicts = map[string]*verdict{"x": {Run: "r1", Text: "x", Approved: true, Done: true}}
	v := &view{
		ledger: l, Messages: logOf(t, asked),
		Runs:  map[string]record{"r1": {Status: "done", Created: 1000, Finished: 2000}},
		Kills: func(time.Time, time.Time) int { return 0 },
	}
	v.end("r1", "natural_end", "")
	v.lives(1)
	return v
}

// failed gives the call another result, and the run nothing behind it but a message.
func (v *view) failed(status string) {
	v.Messages[2].Result.IsError, v.Messages[2].Result.Status, v.Messages[2].Result.Data = true, status, nil
	if status == "denied" {
		v.Messages[3].Content[0].Text = "The call of danger was denied."
	}
}

func TestEachWrongDecisionIsFound(t *testing.T) {
	tests := []struct {
		name   string
		change func(v *view)
		want   []kind
	}{
		{"approved", func(*view) {}, nil},
		{"executed, and nobody decided", func(v *view) { v.verdicts = nil }, []kind{kindDecided}},
		{"executed, and denied", func(v *view) { v.verdicts["x"].Approved = false }, []kind{kindDecided}},
		{"denied", func(v *view) { v.failed("denied"); v.verdicts["x"].Approved = false; v.lives() }, nil},
		{"denied, and executed", func(v *view) { v.failed("denied"); v.verdicts["x"].Approved = false }, []kind{kindExecuted}},
		{"denied, and approved", func(v *view) { v.failed("denied"); v.lives() }, []kind{kindDecided}},
		{"given up, and approved", func(v *view) { v.failed("cancelled"); v.lives() }, []kind{kindDecided}},
		{"given up before the approval", func(v *view) { v.failed("cancelled"); v.verdicts["x"].Done = false; v.lives() }, nil},
		{"given up, and nobody decided", func(v *view) { v.failed("cancelled"); v.verdicts = nil; v.lives() }, nil},
		{"failed, and nobody decided", func(v *view) { v.failed("unknown"); v.verdicts = nil; v.lives() }, []kind{kindDecided}},
		{"approved, and cut by a cancel while it ran", func(v *view) {
			v.failed("unknown")
			v.Messages = v.Messages[:3]
			v.end("r1", "cancelled", "")
			v.cancels = []*cancellation{{Run: "r1", Sent: time.UnixMilli(1500), Done: true}}
		}, nil},
		{"the other answer of the model", func(v *view) { v.Messages[3].Content[0].Text = "The call of danger was denied." }, []kind{kindDoubled}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := askedView(t)
			tt.change(v)
			v.finds(t, tt.want)
		})
	}
}

func TestInputOfAWaitingRunJoinsIt(t *testing.T) {
	l := newLedger("t")
	first := &input{Key: "a", Mode: modeQueue, Runs: []string{"r1"}}
	joins := &input{Key: "b", Mode: modeQueue, Runs: []string{"r1"}}
	other := &input{Key: "c", Mode: modeQueue, Runs: []string{"r2"}}
	l.inputs = []*input{first, joins, other}
	for _, tt := range []struct {
		in   *input
		want bool
	}{{first, false}, {joins, true}, {other, false}} {
		if got := l.steered(tt.in); got != tt.want {
			t.Errorf("input %s is steered: %v, want %v", tt.in.Key, got, tt.want)
		}
	}
}
