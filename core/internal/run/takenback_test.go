package run_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// superseding submits an input that takes the log back from a sequence on.
func (w *world) superseding(t *testing.T, from uint64) mailbox.Receipt {
	t.Helper()
	sent := requesting("other", 0)
	sent.Opening.Supersede = from
	receipt, err := w.box.Submit(t.Context(), sent)
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

// A run that is cancelled before it has begun stores what it was asked, also where it cannot
// take back what that supersedes: where only that is lost the process says so, where the
// thread cannot be read at all it has said that.
func TestWhatCannotBeTakenBackStays(t *testing.T) {
	tests := []struct {
		name string
		cold bool
		want []string
	}{
		{"what was before it", false, []string{
			`level=ERROR msg="superseded messages cannot be withdrawn" step=1 error="read the thread before sequence 3: log of t/t1 at 1: decode log entry: it does not begin with its schema number"`,
		}},
		{"the thread", true, []string{
			`level=ERROR msg="closing run cannot be read" step=0 error="log of t/t1 at 1: decode log entry: it does not begin with its schema number"`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got notebook
				o := options{logger: got.logger()}
				w := newWorld(t, o)
				for range 2 {
					w.submit(t, key, "hi", mailbox.ModeQueue)
					w.finish(t, key, nil)
				}
				receipt := w.superseding(t, 3)
				w.take(t, key)
				cancelRun(t, w, &trace{}, receipt)
				w.reclaim(t)
				w.spoil(t, store.LogName(1))
				if tt.cold {
					w.stepper = w.other(t, o)
				}
				w.finish(t, key, nil)
				if diff := cmp.Diff(tt.want, got.lines); diff != "" {
					t.Errorf("the process says (-want +got):\n%s", diff)
				}
				w.store.spoiled = nil
				want := []string{"user: hi", "assistant: You said: hi", "user: hi", "assistant: You said: hi", "user: other"}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// An input that takes the log back from behind its end, which nobody accepts, takes nothing
// back.
func TestNothingIsTakenBackBehindTheEndOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		name := recordname.Input(w.submit(t, key, "other", mailbox.ModeQueue).DispatchID, 0)
		input, err := thread.Records{}.DecodeQueued(w.record(t, name).Payload)
		if err != nil {
			t.Fatal(err)
		}
		input.Supersede = 3
		payload, err := thread.Records{}.EncodeQueued(&input)
		if err != nil {
			t.Fatal(err)
		}
		w.store.OnGet = func(ctx context.Context, key core.ThreadKey, asked string) (store.Record, bool, error) {
			if asked == name {
				return store.Record{Name: name, Payload: payload}, true, nil
			}
			return w.store.Backend.Get(ctx, key, asked)
		}
		w.finish(t, key, nil)
		want := []string{"user: hi", "assistant: You said: hi", "user: other", "assistant: You said: other"}
		if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
	})
}

// A process that knows the summary under which a thread goes on does not read it again when
// the log behind it is taken back.
func TestAKnownSummaryIsNotReadWhereTheLogBehindItIsTakenBack(t *testing.T) {
	for cold, want := range map[bool][]string{false: nil, true: {recordname.Summary(4)}} {
		synctest.Test(t, func(t *testing.T) {
			o := options{}
			w, _ := summed(t, &o)
			if cold {
				w.stepper = w.other(t, o)
			}
			var reads []string
			w.store.read = func(what string) error {
				if slices.Contains([]string{recordname.Summary(2), recordname.Summary(4)}, what) {
					reads = append(reads, what)
				}
				return nil
			}
			w.superseding(t, 9)
			w.finish(t, key, nil)
			if diff := cmp.Diff(want, reads); diff != "" || w.head(t, key).Summary != 4 {
				t.Errorf("read, cold %v, under the summary up to %d (-want +got):\n%s", cold, w.head(t, key).Summary, diff)
			}
		})
	}
}

// What a run leaves when it takes back what a summary covers may need a new one: its first
// step makes that of the conversation that is left, and both come with one write.
func TestARunThatTakesASummaryBackMakesOneOfWhatIsLeft(t *testing.T) {
	for _, cold := range []bool{false, true} {
		t.Run(fmt.Sprint("cold ", cold), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said := &summaries{}
				w := newWorld(t, options{model: short(said)})
				for n := range 5 {
					w.ask(t, n, 0)
				}
				o := options{model: short(said), context: compacting(agent.CompactInline)}
				w.stepper = w.other(t, o)
				w.ask(t, 5, 0)
				if got := w.head(t, key).Summary; got != 8 {
					t.Fatalf("the summary up to %d is in force, want 8", got)
				}
				if cold {
					w.stepper = w.other(t, o)
				}
				w.ask(t, 6, 7) // question 3 is at 7
				if got := w.head(t, key); got.Summary != 4 || got.Supersedes != 13 {
					t.Errorf("behind the record at %d the summary up to %d is in force, want 13 and 4", got.Supersedes, got.Summary)
				}
				if s := w.summary(t, 4); s.Predecessor != 0 || s.Text != "summary 2" {
					t.Errorf("the new summary is %+v, want one behind none", s)
				}
				if asked := said.asked[1]; !strings.Contains(asked, "question 1 ") || strings.Contains(asked, "question 2 ") || strings.Contains(asked, "summary 1") {
					t.Errorf("the new summary was made of %q", asked)
				}
				want := "<conversation-summary> summary 2 </conversation-summary>|question 2|turn 3|question 6"
				if got := said.requests[6]; got != want {
					t.Errorf("the model is shown %q, want %q", got, want)
				}
			})
		})
	}
}
