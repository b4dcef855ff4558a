package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// summed is a thread of five questions, with summaries up to 2 and 4, and one up to 6 that
// is not in force.
func summed(t *testing.T, o *options) (*world, *summaries) {
	t.Helper()
	said, hints := &summaries{}, &compactions{}
	o.model, o.context, o.compact = short(said), compacting(compaction.Background), hints.add
	w := newWorld(t, *o)
	for n := range 5 {
		w.ask(t, n, 0)
		hints.follow(t, w.stepper)
	}
	if got := w.head(t, key).Summary; got != 4 || said.made != 3 {
		t.Fatalf("the summary is %d and %d were made, want 4 and 3", got, said.made)
	}
	return w, said
}

// A fork begins with the summaries of what it has, and is asked under the newest.
func TestAForkHasItsSummaries(t *testing.T) {
	tests := []struct {
		at      uint64 // sequence of the last message that the fork has
		summary uint64
		want    string // what the fork's first turn is shown
	}{
		{10, 4, "<conversation-summary> summary 2 </conversation-summary>|question 2|turn 3|question 3|turn 4|question 4|turn 5|more"},
		{4, 4, "<conversation-summary> summary 2 </conversation-summary>|more"},
		{3, 2, "<conversation-summary> summary 1 </conversation-summary>|question 1|more"},
		{1, 0, "question 0|more"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			o := options{}
			w, said := summed(t, &o)
			at := (&retaking{world: w}).entry(t, tt.at).Message.ID
			if _, err := w.box.Fork(t.Context(), mailbox.Forking{Thread: key, At: at, To: "t2"}); err != nil {
				t.Fatal(err)
			}
			fork := core.ThreadKey{Tenant: key.Tenant, Thread: "t2"}
			if got := w.head(t, fork).Summary; got != tt.summary {
				t.Errorf("the fork at %d has the summary up to %d, want %d", tt.at, got, tt.summary)
			}
			w.submit(t, fork, "more", mailbox.ModeQueue)
			w.finish(t, fork, nil)
			if diff := cmp.Diff(tt.want, said.requests[len(said.requests)-1]); diff != "" {
				t.Errorf("what the fork at %d is shown (-want +got):\n%s", tt.at, diff)
			}
		})
	}
}

// A summary that is damaged and not in force is passed over; one in force is damage of the
// thread.
func TestADamagedSummary(t *testing.T) {
	tests := []struct {
		name, record string
		want         string
	}{
		{"that nobody uses yet", recordname.Summary(6), `done 1 {"type":"natural_end"} "turn 6"`},
		{"in force", recordname.Summary(4), `done 0 {"type":"error","code":"corrupt"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := options{}
				w, _ := summed(t, &o)
				w.spoil(t, tt.record)
				w.stepper = w.other(t, o)
				receipt := w.submit(t, key, "go on", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); !strings.HasPrefix(got, tt.want) {
					t.Errorf("the run is %s, want %s", got, tt.want)
				}
			})
		})
	}
}

// Nobody waits for a summary of a newer program: who can read it uses it.
func TestASummaryOfANewerProgramIsLeftToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options{}
		w, said := summed(t, &o)
		newer := thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}}
		payload, err := newer.EncodeSummary(6, &thread.Summary{Predecessor: 4, Text: "from the future"})
		if err != nil {
			t.Fatal(err)
		}
		w.store.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
			if name == recordname.Summary(6) {
				return store.Record{Name: name, Payload: payload}, true, nil
			}
			return w.store.Backend.Get(ctx, key, name)
		}
		w.ask(t, 5, 0)
		if got := w.window(t); w.head(t, key).Summary != 4 || got.Compact != 6 || !strings.HasPrefix(said.requests[5], "<conversation-summary> summary 2 ") {
			t.Errorf("the summary is %d, the turn says %+v, and was shown %s", w.head(t, key).Summary, got, said.requests[5])
		}
	})
}

// A run that ends before its first step leaves a summary in force that its input takes
// nothing of: that of the head, or behind what it takes back the newest before that.
func TestARunThatEndsBeforeItsFirstStepLeavesASummary(t *testing.T) {
	for from, want := range map[uint64]uint64{0: 4, 5: 4, 3: 2, 1: 0} {
		for _, warm := range []bool{true, false} {
			t.Run(fmt.Sprintf("from %d, warm %v", from, warm), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fails := false
					o := options{plugins: []plugin.Plugin{pluginFunc{"fails", func(r *plugin.Registrar) {
						r.OnRunStart(func(context.Context, plugin.RunStart) (state.Command, error) {
							if fails {
								return state.Command{}, errors.New("no")
							}
							return state.Command{}, nil
						})
					}}}}
					w, said := summed(t, &o)
					turns := said.turns
					fails = true
					if !warm {
						w.stepper = w.other(t, o)
					}
					receipt, err := w.box.Submit(t.Context(), mailbox.Submission{
						Thread: key, Opening: mailbox.Opening{AgentID: "demo", Supersede: from}, Messages: []core.Message{core.UserMessage("never mind")},
					})
					if err != nil {
						t.Fatal(err)
					}
					w.finish(t, key, nil)
					if end := w.end(t, key, receipt); !strings.Contains(end, `"code":"plugin"`) {
						t.Errorf("the run is %s", end)
					}
					if got := w.head(t, key).Summary; got != want || said.turns != turns {
						t.Errorf("the summary is %d behind %d turns of the run, want %d and none", got, said.turns-turns, want)
					}
				})
			})
		}
	}
}
