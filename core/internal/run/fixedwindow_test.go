package run_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// putSummary stores a summary up to 2.
func (w *world) putSummary(t *testing.T, s thread.Summary) {
	t.Helper()
	payload, err := thread.Records{}.EncodeSummary(2, &s)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Put(t.Context(), key, store.Record{Name: recordname.Summary(2), Payload: payload}); err != nil {
		t.Fatal(err)
	}
}

// A step under a window that is fixed tells, meters and notes of summaries what it would have
// without, also where its inference fails.
func TestWhatAFixedWindowSaysOfSummaries(t *testing.T) {
	stored := thread.Summary{Text: "of the record", Model: "scripted", Usage: core.Usage{Input: 300, Output: 20}, Calls: 1, Duration: 2500}
	none := thread.Summary{Skipped: thread.SkippedModel, Model: "scripted", Usage: core.Usage{Input: 300}, Calls: 2, Duration: 900}
	turn := core.ModelUse{Model: "scripted", Inferences: 1}
	used := core.ModelUse{Model: "scripted", Inferences: 2, Usage: core.Usage{Input: 300, Output: 20}, Millis: 2500}
	wasted := core.ModelUse{Model: "scripted", Inferences: 3, Usage: core.Usage{Input: 300}, Millis: 900}
	const all, behind = 5, 3 // messages that hooks are shown
	tests := []struct {
		name   string
		asked  bool // for a summary up to 2, by the turn before
		window *core.Window
		seen   int
		stored *thread.Summary
		told   []string
		use    core.ModelUse
		noted  *core.Window // by a failed inference
		cost   int          // of the request, as it is reckoned
	}{
		{"a summary that was asked for", true, &core.Window{Summary: 2}, behind, &stored, []string{"context_compacted 2 1119 23", "prefix_changed summary 0 0 0"}, used, &core.Window{Summary: 2}, 2293},
		{"a summary", false, &core.Window{Summary: 2}, all, &stored, []string{"context_compacted 2 1119 23", "prefix_changed summary 0 0 0"}, used, &core.Window{Summary: 2}, 2293},
		{"one of no use that was asked for", true, &core.Window{Skipped: 2}, all, &none, []string{"context_skipped model 2 0 0"}, wasted, &core.Window{Skipped: 2}, 3389},
		{"one that had not come yet", true, &core.Window{Compact: 2}, all, &stored, nil, turn, &core.Window{Compact: 2}, 3389},
		{"a target", false, &core.Window{Compact: 2}, all, nil, nil, turn, &core.Window{Compact: 2}, 3389},
		{"nothing", false, nil, all, &stored, nil, turn, nil, 3389},
	}
	for _, tt := range tests {
		for _, fails := range []bool{false, true} {
			t.Run(fmt.Sprint(tt.name, ", fails ", fails), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					said, hints, stream, down := &summaries{}, &compactions{}, &openings{}, false
					c := &chosen{windows: map[string]*core.Window{}}
					seen := 0
					w := newWorld(t, options{
						plugins: []plugin.Plugin{hooks(core.PhaseStepStart, func(_ context.Context, c plugin.Context) (state.Command, error) {
							seen = len(c.Messages)
							return state.Command{}, nil
						})},
						choices: c, context: compacting(compaction.Background), compact: hints.add, metering: &accounting.Metering{Keep: time.Hour}, stop: []agent.StopPolicy{consecutiveErrors(1)},
						model: modelFunc(func(ctx context.Context, r model.Request) iterator {
							if down {
								return func(yield func(model.Delta, error) bool) {
									yield(model.Delta{}, &model.Error{Kind: model.KindUnauthorized})
								}
							}
							return short(said)(ctx, r)
						}),
					})
					w.ask(t, 0, 0)
					receipt := w.submit(t, key, "question 1 "+strings.Repeat("x", 4400), mailbox.ModeQueue)
					if tt.asked {
						c.windows[fmt.Sprint(receipt.RunID, " ", 1)] = &core.Window{Compact: 2}
					}
					w.finish(t, key, nil)
					if tt.stored != nil {
						w.putSummary(t, *tt.stored)
					}
					receipt = w.submit(t, key, "question 2 "+strings.Repeat("x", 4400), mailbox.ModeQueue)
					c.windows[fmt.Sprint(receipt.RunID, " ", 1)] = tt.window
					down = fails
					w.stepTo(t, key, stream.sink)
					if seen != tt.seen {
						t.Errorf("hooks are shown %d messages, want %d", seen, tt.seen)
					}
					want := append([]string{"run_start", "step_start"}, tt.told...)
					if !fails {
						want = append(want, "text_delta")
					}
					if diff := cmp.Diff(want, []string(*stream)); diff != "" {
						t.Errorf("told (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff([]core.ModelUse{tt.use}, w.lastMetered(t)); diff != "" {
						t.Errorf("metered (-want +got):\n%s", diff)
					}
					if e := w.entry(t, w.head(t, key).Seq); fails {
						if diff := cmp.Diff(tt.noted, e.Window); diff != "" || e.Failed == nil {
							t.Errorf("noted by %+v (-want +got):\n%s", e.Failed, diff)
						}
					} else if e.Window.Estimate != tt.cost {
						t.Errorf("the request is reckoned at %d, want %d", e.Window.Estimate, tt.cost)
					}
				})
			})
		}
	}
}

// A summary that cannot be looked for now costs the step a try: it does not go on without.
func TestASummaryThatCannotBeLookedFor(t *testing.T) {
	for _, how := range []agent.Compaction{compaction.Background, agent.CompactInline} {
		t.Run(string(how), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				said, hints := &summaries{}, &compactions{}
				w := newWorld(t, options{model: short(said), context: compacting(how), compact: hints.add})
				last := map[agent.Compaction]int{agent.CompactInline: 2, compaction.Background: 3}[how]
				for n := range last {
					w.ask(t, n, 0)
				}
				hints.follow(t, w.stepper)
				made := said.made
				w.submit(t, key, "question "+strings.Repeat("x", 4400), mailbox.ModeQueue)
				w.store.read = func(what string) error {
					if strings.HasPrefix(what, recordname.Summary(2)) {
						return errPassing
					}
					return nil
				}
				if stepped := w.step(t, key); !stepped.Retry || said.turns != last || said.made != made {
					t.Errorf("the step is %+v behind %d turns and %d summaries, want it given back", stepped, said.turns, said.made)
				}
				w.store.read = nil
				w.finish(t, key, nil)
				if got := w.window(t); got.Summary != 2 || said.made != 1 || said.turns != last+1 {
					t.Errorf("the turn's record says %+v, behind %d turns and %d summaries", got, said.turns, said.made)
				}
			})
		})
	}
}

// A summary is asked for from the threshold on, to the token.
func TestAtWhichSizeASummaryIsAskedFor(t *testing.T) {
	for threshold, want := range map[int]uint64{3389: 2, 3390: 0} {
		synctest.Test(t, func(t *testing.T) {
			said, hints := &summaries{}, &compactions{}
			w := newWorld(t, options{model: short(said), context: &agent.ContextWindowPolicy{AutocompactThreshold: threshold, Compaction: compaction.Background}, compact: hints.add})
			for n := range 3 {
				w.ask(t, n, 0)
			}
			if got := w.window(t); got.Estimate != 3389 || got.Compact != want {
				t.Errorf("at %d a request of %d tokens asks for a summary up to %d, want 3389 and %d", threshold, got.Estimate, got.Compact, want)
			}
		})
	}
}

// Why a thread is not summarised stands in the log, with the run that has tried.
func TestAThreadThatIsNotSummarisedIsLogged(t *testing.T) {
	failed := errors.New("10.0.0.7")
	tests := []struct {
		name string
		say  func(int) ([]model.Delta, error)
		want []string
	}{
		{"refused", func(int) ([]model.Delta, error) { return text(" "), nil }, []string{
			`level=WARN msg="no summary made, older messages omitted" tenant=t thread=t1 run=RUN up_to=2 error="skipped: refused"`,
			`level=WARN msg="thread not summarized" tenant=t thread=t1 run=RUN step=1 up_to=2 reason=refused`,
		}},
		{"failed", func(int) ([]model.Delta, error) { return nil, failed }, []string{
			`level=WARN msg="no summary made, older messages omitted" tenant=t thread=t1 run=RUN up_to=2 error="skipped: model\n10.0.0.7"`,
			`level=WARN msg="thread not summarized" tenant=t thread=t1 run=RUN step=1 up_to=2 reason=model`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log strings.Builder
				said := &summaries{say: tt.say}
				w := newWorld(t, options{model: short(said), context: compacting(agent.CompactInline), logger: warnings(&log)})
				w.ask(t, 0, 0)
				w.ask(t, 1, 0)
				receipt := w.submit(t, key, "question "+strings.Repeat("x", 4400), mailbox.ModeQueue)
				w.finish(t, key, nil)
				got := strings.Split(strings.TrimSpace(strings.ReplaceAll(log.String(), receipt.RunID.String(), "RUN")), "\n")
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// warnings logs lines of level WARN and above, without their times.
func warnings(log *strings.Builder) *slog.Logger {
	return slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}
