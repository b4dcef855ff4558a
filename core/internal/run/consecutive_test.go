package run_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// consecutiveErrors is the built-in policy, from 1 failed step on.
func consecutiveErrors(n int) agent.StopPolicy {
	p, err := agent.StopSpec{Type: agent.StopConsecutiveErrors, Max: n}.Policy()
	if err != nil {
		panic(err)
	}
	return p
}

// judged is a run that its stop policies may end: what its model says, turn by turn (nil:
// a call that fails), the log that it comes to and how it ends.
type judged struct {
	name  string
	stop  []agent.StopSpec
	turns [][]model.Delta
	log   []string
	end   string
}

// judgeAlike takes each run in every way in which processes may share it: all of them
// come to the same log and the same end, with as many model calls as there are turns.
func judgeAlike(t *testing.T, tests []judged) {
	t.Helper()
	for _, tt := range tests {
		for _, way := range shares {
			t.Run(tt.name+"/"+way.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := &takes10s{turns: tt.turns}
					o := options{env: drawing(0), agents: spec(t, m, agent.Spec{Stop: tt.stop, Retry: agent.Retry{MaxRetries: new(0)}}, failingTool)}
					w := newWorld(t, o)
					receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
					w.share(t, o, way.cold, way.interrupts, len(tt.turns))
					if diff := cmp.Diff(append([]string{"user: hi"}, tt.log...), w.log(t, key)); diff != "" {
						t.Errorf("log (-want +got):\n%s", diff)
					}
					if got := w.end(t, key, receipt); got != tt.end {
						t.Errorf("the run is %s\nwant %s", got, tt.end)
					}
					if m.calls != len(tt.turns) {
						t.Errorf("the model was called %d times, want %d", m.calls, len(tt.turns))
					}
				})
			})
		}
	}
}

// The view is the same for whoever judges a step, and however little it has read.

func TestConsecutiveErrorsCountFailedSteps(t *testing.T) {
	a, bad, done := calls("echo", `{"text":"a"}`), calls("fails", "{}"), text("done")
	const askedA, gotA = `assistant: [echo {"text":"a"}]`, `tool: {"text":"a"}`
	const askedBad, gotBad = "assistant: [fails {}]", "tool: no luck"
	judgeAlike(t, []judged{
		{
			"of calls", []agent.StopSpec{{Type: "consecutive_errors", Max: 2}}, [][]model.Delta{a, bad, bad},
			[]string{askedA, gotA, askedBad, gotBad, askedBad, gotBad},
			`done 3 {"type":"stopped","code":"consecutive_errors","detail":"failed steps in a row: 2, the limit is 2"} ""`,
		},
		{
			"of the model", []agent.StopSpec{{Type: "consecutive_errors", Max: 2}}, [][]model.Delta{a, nil, {say("I wa")}},
			[]string{askedA, gotA, "failed: overloaded", "failed: overloaded"},
			`done 3 {"type":"stopped","code":"consecutive_errors","detail":"failed steps in a row: 2, the limit is 2"} ""`,
		},
		{
			"of both", []agent.StopSpec{{Type: "consecutive_errors", Max: 3}}, [][]model.Delta{bad, nil, bad},
			[]string{askedBad, gotBad, "failed: overloaded", askedBad, gotBad},
			`done 3 {"type":"stopped","code":"consecutive_errors","detail":"failed steps in a row: 3, the limit is 3"} ""`,
		},
		{
			"in one step", []agent.StopSpec{{Type: "consecutive_errors", Max: 1}}, [][]model.Delta{nil},
			[]string{"failed: overloaded"},
			`done 1 {"type":"stopped","code":"consecutive_errors","detail":"failed steps in a row: 1, the limit is 1"} ""`,
		},
		{
			"a good call begins the count of errors anew", []agent.StopSpec{{Type: "consecutive_errors", Max: 2}},
			[][]model.Delta{nil, calls("fails", "{}", "echo", `{"text":"a"}`), nil, a, bad, done},
			[]string{
				"failed: overloaded", `assistant: [fails {}][echo {"text":"a"}]`, gotBad, gotA, "failed: overloaded", askedA, gotA,
				askedBad, gotBad, "assistant: done",
			},
			`done 6 {"type":"natural_end"} "done"`,
		},
	})
}
