package host_test

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model"
)

// pace is how one call of a model goes, which counts 100 tokens at its start: its first word
// comes, then its end, each after so long.
type pace struct {
	first, more time.Duration
	fails       model.ErrorKind // at its end; empty: it does not
	calls       string          // the text that it calls echo with at its end; empty: it does not
}

// paced is a model whose calls go so, one after the other.
type paced struct {
	plan []pace
	made *int
}

func (p paced) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
	call := p.plan[min(*p.made, len(p.plan)-1)]
	*p.made++
	return func(yield func(model.Delta, error) bool) {
		pass := func(d time.Duration) bool {
			select {
			case <-ctx.Done():
				yield(model.Delta{}, ctx.Err())
				return false
			case <-time.After(d):
				return true
			}
		}
		if !yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 100}}, nil) || !pass(call.first) {
			return
		}
		if !yield(model.Delta{Type: model.DeltaText, Text: "word "}, nil) || !pass(call.more) {
			return
		}
		switch {
		case call.fails != "":
			yield(model.Delta{}, &model.Error{Kind: call.fails})
		case call.calls != "":
			_ = yield(model.Delta{Type: model.DeltaToolStart, Name: "echo"}, nil) &&
				yield(model.Delta{Type: model.DeltaToolArgument, Text: fmt.Sprintf(`{"text":%q}`, call.calls)}, nil) &&
				yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
		default:
			yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
		}
	}
}

// The figures of a run are the same wherever they are read, however it ended: in its record,
// in its stream, live and replayed, and as the sum of its steps.
func TestTheFiguresOfARunAgree(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name   string
		plan   []pace
		cancel time.Duration // when a person ends it; 0: no person does
		want   []string      // steps: times since the run began
		run    string
	}{
		{
			"it ends by itself", []pace{{300 * ms, 200 * ms, "", "a"}, {100 * ms, 100 * ms, "", ""}}, 0,
			[]string{"1: 0 to 500, first 300, 100 tokens, [0-300-500 ]", "2: 500 to 700, first 600, 100 tokens, [500-600-700 ]"},
			"natural_end after 700 ms, 2 steps, 1 calls, 200 tokens",
		},
		{
			"a call fails on the way", []pace{{50 * ms, 50 * ms, model.KindOverloaded, ""}, {100 * ms, 100 * ms, "", ""}}, 0,
			[]string{"1: 0 to 727, first 627, 200 tokens, [0-50-100 overloaded 427][527-627-727 ]"},
			"natural_end after 727 ms, 1 steps, 0 calls, 200 tokens",
		},
		{
			"it is cancelled in its first step", []pace{{300 * ms, time.Hour, "", ""}}, 700 * ms,
			[]string{"1: 0 to 700, first 300, 100 tokens, [0-300-700 cancelled], cut"},
			"cancelled after 700 ms, 0 steps, 0 calls, 100 tokens",
		},
		{
			"it is cancelled before a word", []pace{{100 * ms, 0, "", "a"}, {time.Hour, 0, "", ""}}, 700 * ms,
			[]string{"1: 0 to 100, first 100, 100 tokens, [0-100-100 ]", "2: 100 to 700, first 0, 100 tokens, [100-0-700 cancelled], cut"},
			"cancelled after 700 ms, 1 steps, 1 calls, 200 tokens",
		},
		{
			"its model fails", []pace{{100 * ms, 0, "", "a"}, {100 * ms, 100 * ms, model.KindUnauthorized, ""}}, 0,
			[]string{"1: 0 to 100, first 100, 100 tokens, [0-100-100 ]", "2: 100 to 300, first 200, 100 tokens, [100-200-300 unauthorized], cut"},
			"error after 300 ms, 1 steps, 1 calls, 200 tokens",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				p := r.process("w", r.store, func(o *host.Options) {
					o.Agents.Models = map[string]agent.ModelBinding{"m": {Model: paced{tt.plan, new(int)}, Name: "paced"}}
				})
				var live core.Event
				if tt.cancel > 0 {
					time.AfterFunc(tt.cancel, func() {
						if _, err := p.CancelThread(context.Background(), local, "t1"); err != nil {
							t.Error(err)
						}
					})
				}
				receipt, err := p.Stream(t.Context(), submission("t1", "hello"), host.ListenerFunc(func(e core.Event) error { live = e; return nil }))
				if err != nil {
					t.Fatal(err)
				}
				figuresAgree(t, p, receipt.RunID, live, tt.run, tt.want)
			})
		})
	}
}

// figuresAgree compares all that says how a run went. live is the last event of its stream.
func figuresAgree(t *testing.T, p *host.Host, id core.ID, live core.Event, want string, steps []string) {
	t.Helper()
	run, err := p.ReadRun(t.Context(), local, id)
	if err != nil {
		t.Fatal(err)
	}
	page, err := p.Steps(t.Context(), local, id, host.StepQuery{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var sum core.Usage
	counted := 0
	for _, s := range page.Steps {
		got = append(got, timesOf(s, run.StartedAt))
		if s.Usage != nil {
			sum = sum.Add(*s.Usage)
		}
		if !s.Cut {
			counted++
		}
	}
	if diff := cmp.Diff(steps, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	took := run.FinishedAt - run.StartedAt
	figures := fmt.Sprintf("%s after %d ms, %d steps, %d calls, %d tokens", run.Termination.Type, took, run.Steps, run.Calls, run.Usage.Input)
	if figures != want || run.Usage != sum || run.Steps != counted || run.WorkedMS != took {
		t.Errorf("the run is %s and worked for %d ms, its steps are %d and used %+v; want %s", figures, run.WorkedMS, counted, sum, want)
	}
	var replayed core.Event
	if err := p.Follow(t.Context(), local, id, host.ListenerFunc(func(e core.Event) error { replayed = e; return nil })); err != nil {
		t.Fatal(err)
	}
	for name, e := range map[string]core.Event{"live": live, "replayed": replayed} {
		if e.Type != core.EventRunFinish || e.Duration != took || e.Steps != run.Steps || e.Usage == nil || *e.Usage != run.Usage {
			t.Errorf("the %s end is %+v, the run %s", name, e, figures)
		}
	}
}

// timesOf writes a step's times, since the run began.
func timesOf(s host.Step, began int64) string {
	since := func(at int64) int64 { return max(at-began, 0) }
	text := fmt.Sprintf("%d: %d to %d, first %d, %d tokens, ", s.Number, since(s.Began), since(s.Ended), since(s.First), s.Usage.Input)
	for _, a := range s.Attempts {
		text += fmt.Sprintf("[%d-%d-%d %s", since(a.Began), since(a.First), since(a.Ended), a.Reason)
		if a.Wait > 0 {
			text += fmt.Sprint(" ", a.Wait)
		}
		text += "]"
	}
	if s.Cut {
		text += ", cut"
	}
	return text
}
