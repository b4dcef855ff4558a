package run_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// What a process reads for the first step that it takes of a thread, in any order (records by
// their kind, and a line for each part of the log), and what the model is shown first. What
// a run was asked is looked for at the same time where it is surely not in the window.
func TestWhatAColdStepReads(t *testing.T) {
	echo, ok, failure := calls("echo", `{"text":"a"}`), text("ok"), []model.Delta{{Text: "broken pipe"}}
	const input, record, snapshot, log, back = "Q", "R", "S", "log", "log backwards"
	tests := []struct {
		name   string
		window int
		steps  int           // of the run before
		ends   []model.Delta // what its last step says; nil: it goes on
		next   string        // what comes behind it: a message, or nothing where the failed run is taken up
		then   int           // steps of that
		want   []string
		shown  string
	}{
		{"a run that begins a thread", 0, 0, nil, "", 0, []string{input}, "hi 1"},
		{"a run that begins", 0, 1, ok, "on", 0, []string{input, snapshot, back}, "hi 3"},
		{"a run that begins behind a long one", 40, 21, ok, "on", 0, []string{input, snapshot, log, back}, "on 1"},
		{"a run that has begun behind a long one", 40, 21, ok, "on", 2, []string{record, snapshot, back}, "on 3"},
		{"a run that takes another up", 0, 2, failure, "", 0, []string{input, snapshot, back}, "hi 3"},
		{"a run that takes a long one up", 40, 21, failure, "", 0, []string{input, record, snapshot, log, log, back}, "hi 3"},
		{"a run of 31 records", 0, 15, nil, "", 0, []string{record, snapshot, back}, "hi 31"},
		{"a run of 33 records", 0, 16, nil, "", 0, []string{record, snapshot, log, back, back}, "hi 33"},
		{"a run of 31 records, of which few are shown", 40, 15, nil, "", 0, []string{record, snapshot, back}, "hi 3"},
		{"a run of 33 records, of which few are shown", 40, 16, nil, "", 0, []string{record, snapshot, log, back}, "hi 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, shown := 0, ""
				o := options{window: tt.window, model: modelFunc(func(ctx context.Context, r model.Request) iterator {
					shown = fmt.Sprint(r.Messages[0].Text(), " ", len(r.Messages))
					if said++; said == tt.steps && tt.ends != nil {
						return replies(tt.ends)(ctx, model.Request{})
					}
					return replies(echo)(ctx, model.Request{})
				})}
				w := newWorld(t, o)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				for range tt.steps {
					w.step(t, key)
				}
				if tt.next != "" {
					w.submit(t, key, tt.next, mailbox.ModeQueue)
				} else if tt.ends != nil {
					if _, err := w.box.TakeUp(t.Context(), key, "", receipt.RunID); err != nil {
						t.Fatal(err)
					}
				}
				for range tt.then {
					w.step(t, key)
				}
				w.stepper = w.other(t, o)
				work := run.Work{Key: key, Head: w.take(t, key)}
				var reads []string
				w.store.read = func(what string) error {
					kind, _, _ := strings.Cut(what, "#")
					reads = append(reads, kind)
					return nil
				}
				if _, err := w.stepper.Step(t.Context(), work, nil); err != nil {
					t.Fatal(err)
				}
				w.store.read = nil
				slices.Sort(reads)
				if diff := cmp.Diff(tt.want, reads); diff != "" || shown != tt.shown {
					t.Errorf("shown %q, want %q; reads (-want +got):\n%s", shown, tt.shown, diff)
				}
			})
		})
	}
}

// Whichever read fails of a step that takes a long run up, no model is asked before all that
// it is to be shown is there.
func TestAFailedReadOfWhatARunThatIsTakenUpWasAsked(t *testing.T) {
	for failing := 1; failing <= 6; failing++ {
		synctest.Test(t, func(t *testing.T) {
			var shown []string
			said := 0
			o := options{window: 40, model: modelFunc(func(ctx context.Context, r model.Request) iterator {
				if said++; said == 21 {
					return replies([]model.Delta{{Text: "broken pipe"}})(ctx, model.Request{})
				}
				shown = append(shown, fmt.Sprint(r.Messages[0].Text(), " ", len(r.Messages)))
				return replies(calls("echo", `{"text":"a"}`))(ctx, model.Request{})
			})}
			w := newWorld(t, o)
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			for range 21 {
				w.step(t, key)
			}
			if _, err := w.box.TakeUp(t.Context(), key, "", receipt.RunID); err != nil {
				t.Fatal(err)
			}
			shown, w.stepper = nil, w.other(t, o)
			work := run.Work{Key: key, Head: w.take(t, key)}
			reads := 0
			w.store.read = func(string) error {
				if reads++; reads == failing {
					return errPassing
				}
				return nil
			}
			if stepped, err := w.stepper.Step(t.Context(), work, nil); err != nil || !stepped.Retry || shown != nil {
				t.Errorf("read %d: the step is %+v, %v, the model was shown %q; want it given back", failing, stepped, err, shown)
			}
			w.store.read = nil
			time.Sleep(time.Minute) // longer than it is given back for
			w.step(t, key)
			if diff := cmp.Diff([]string{"hi 3"}, shown); diff != "" {
				t.Errorf("behind read %d the model is shown (-want +got):\n%s", failing, diff)
			}
		})
	}
}

// What is steered to a run is read once, in any order.
func TestSteeredInputIsReadOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{model: replies(calls("echo", `{"text":"a"}`), text("ok"))})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		w.step(t, key)
		var want, got []string
		for range 3 {
			want = append(want, recordname.Input(w.submit(t, key, "more", mailbox.ModeSteer).DispatchID, 0))
		}
		head := w.take(t, key)
		var mu sync.Mutex
		w.store.read = func(what string) error {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, what)
			return nil
		}
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
			t.Fatal(err)
		}
		w.store.read = nil
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reads (-want +got):\n%s", diff)
		}
	})
}
