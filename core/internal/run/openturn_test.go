package run_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// The calls of a run that closes have results under their own ids, where its turn can be
// read; where that is lost, under those that the runtime gives to calls without one.
func TestWhichCallsAClosedRunHas(t *testing.T) {
	tests := []struct {
		name  string
		spoil uint64 // sequence of a record
		want  []string
	}{
		{"what was asked is lost", 1, []string{"c1 echo not_executed", "c2 echo not_executed"}},
		{"the turn is lost", 2, []string{"call_RUN_1_0  not_executed", "call_RUN_1_1  not_executed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				turn := calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`)
				turn[0].CallID, turn[2].CallID = "c1", "c2"
				o := options{model: replies(turn, text("ok"))}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.turnOnly(t)
				w.spoil(t, store.LogName(tt.spoil))
				w.stepper = w.other(t, o)
				w.finish(t, key, nil)
				w.store.spoiled = nil
				var got []string
				for _, seq := range []uint64{3, 4} {
					r := w.entry(t, seq).Message.ToolResult
					got = append(got, strings.ReplaceAll(fmt.Sprint(r.CallID, " ", r.Name, " ", r.Status), receipt.RunID.String()[24:], "RUN"))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
			})
		})
	}
}
