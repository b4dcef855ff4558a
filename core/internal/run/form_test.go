package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// piled is a value that grows.
var piled = state.List[string]("piled", state.ScopeThread)

// piles is a plugin with the key, and a RunEnd hook that adds so many bytes to it and
// notes what it saw; negative: there is no hook.
func piles(bytes int, seen *closed) plugin.Plugin {
	return pluginFunc{"piles", func(r *plugin.Registrar) {
		r.Key(piled)
		if bytes < 0 {
			return
		}
		r.OnRunEnd(func(_ context.Context, end plugin.RunEnd) (state.Command, error) {
			seen.saw = append(seen.saw, string(end.Termination.Type))
			if bytes == 0 {
				return state.Command{}, nil
			}
			return piled.Update(strings.Repeat("e", bytes)), nil
		})
	}}
}

// pile is a tool whose result says so many bytes, and adds so many to the value.
func pile(says, adds int) tool.Tool {
	return toolFunc{name: "pile", run: func(context.Context, tool.Call) (tool.Result, error) {
		r := tool.NewResult(strings.Repeat("r", says))
		if adds > 0 {
			r.Command = piled.Update(strings.Repeat("p", adds))
		}
		return r, nil
	}}
}

// form is how much of the run's end is stored.
func (w *world) form(t *testing.T, r mailbox.Receipt) thread.Form {
	t.Helper()
	if e := w.runRecord(t, r.RunID).Ending; e != nil {
		return e.Form
	}
	return thread.FormWhole
}

// request submits an input with what a caller sends along.
func (w *world) request(t *testing.T, text string, bytes int) mailbox.Receipt {
	t.Helper()
	receipt, err := w.box.Submit(t.Context(), requesting(text, bytes))
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}

func requesting(text string, bytes int) mailbox.Submission {
	s := mailbox.Submission{Thread: key, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage(text)}}
	if bytes > 0 {
		s.Opening.Request = json.RawMessage(`"` + strings.Repeat("q", bytes-2) + `"`)
	}
	return s
}

// largest submits the largest input of at most so many bytes that a store of the limit takes.
func (w *world) largest(t *testing.T, bytes, limit int, s mailbox.Submission) mailbox.Receipt {
	t.Helper()
	if room := limit - 250 - len(s.Opening.Request); room > 0 {
		bytes = min(bytes, room)
	}
	for {
		s.Messages = []core.Message{core.UserMessage(strings.Repeat("i", bytes))}
		receipt, err := w.box.Submit(t.Context(), s)
		if core.CodeOf(err) != core.CodeTooLarge {
			if err != nil {
				t.Fatal(err)
			}
			return receipt
		}
		if bytes -= 20; bytes <= 0 {
			bytes, s.Opening.Request = 100, nil
		}
	}
}

// Each of the results fits, and what they make of the state together does not: the
// results stand, the run ends, and nothing of the state changes.
func TestRunEndsWhoseResultsMakeTooLargeAStateTogether(t *testing.T) {
	for _, listens := range []int{-1, 0} {
		t.Run(fmt.Sprint("listens ", listens), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen closed
				w := newWorld(t, options{
					model: replies(calls("pile", "{}", "pile", "{}"), text("ok")), tools: []tool.Tool{pile(10, 6000)}, plugins: []plugin.Plugin{piles(listens, &seen)},
				})
				w.limit(8 << 10)
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if got := w.end(t, key, receipt); !strings.HasPrefix(got, `done 1 {"type":"error","code":"too_large"`) {
					t.Errorf("the run is %s, want an error too_large", got)
				}
				want := []string{"user: hi", "assistant: [pile {}][pile {}]", `tool: "rrrrrrrrrr"`, `tool: "rrrrrrrrrr"`}
				if diff := cmp.Diff(want, w.log(t, key)); diff != "" {
					t.Error(diff)
				}
				if got := w.form(t, receipt); got != thread.FormStateless {
					t.Errorf("the end is %s, want stateless", got)
				}
				if len(seen.saw) != listens+1 {
					t.Errorf("RunEnd saw %q, want it once where it listens", seen.saw)
				}
			})
		})
	}
}

// A response that fits into its turn may not fit into the run's record beside the request:
// the record gives way, and the run ends as it came to.
func TestRunEndsWhoseResponseAndRequestAreTooLargeTogether(t *testing.T) {
	tests := []struct {
		name              string
		request, response int
		form              thread.Form
		want              int // bytes of the record's response
	}{
		{"both fit", 3000, 3000, thread.FormWhole, 3000},
		{"without the request", 4000, 6000, thread.FormBare, 6000},
		{"with a part of the response", 100, 8000, thread.FormCut, 1021},
	}
	for _, tt := range tests {
		for _, listens := range []int{-1, 0} {
			t.Run(fmt.Sprint(tt.name, ", listens ", listens), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var seen closed
					w := newWorld(t, options{model: replies(text(strings.Repeat("x", tt.response))), plugins: []plugin.Plugin{piles(listens, &seen)}})
					w.limit(8 << 10)
					receipt := w.request(t, "hi", tt.request)
					w.finish(t, key, nil)
					r := w.runRecord(t, receipt.RunID)
					if r.Status != core.RunDone || r.Termination.Type != core.TerminationNatural || len(r.Response) != tt.want || w.form(t, receipt) != tt.form {
						t.Errorf("the run is %s with %+v, %d bytes of its response and an end %s; want a natural end, %d bytes and %s",
							r.Status, r.Termination, len(r.Response), w.form(t, receipt), tt.want, tt.form)
					}
					if (len(r.Request) > 0) != (tt.form == thread.FormWhole) {
						t.Errorf("the record has %d bytes of the request", len(r.Request))
					}
					if got := w.log(t, key); len(got) != 2 || len(got[1]) != len("assistant: ")+tt.response {
						t.Errorf("the log has %d messages, want the whole answer in the last", len(got))
					}
				})
			})
		}
	}
}

// What RunEnd adds may be what does not fit. It is not asked for less.
func TestRunEndThatAddsTooMuchRunsOnce(t *testing.T) {
	for _, tt := range ways {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var seen closed
				w, receipt := tt.begin(t, options{plugins: []plugin.Plugin{piles(9000, &seen)}, limit: 8 << 10}, func(*world) {})
				w.finish(t, key, nil)
				want := 1
				if tt.name == "superseded" { // by a run that ends, too
					want = 2
				}
				if got := w.end(t, key, receipt); got != tt.end || len(seen.saw) != want || w.form(t, receipt) != thread.FormStateless {
					t.Errorf("the run is %s in the form %s, RunEnd saw %q; want %s, stateless, %d times", got, w.form(t, receipt), seen.saw, tt.end, want)
				}
			})
		})
	}
}

// A claim that takes over a run which is closing begins with the form that the one before
// it came to, and needs no refusal of the store to know it.
func TestTakeoverOfAClosingRunTakesNoLargerForm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen closed
		o := options{model: replies(text(strings.Repeat("x", 6000))), plugins: []plugin.Plugin{piles(0, &seen)}}
		w := newWorld(t, o)
		w.limit(8 << 10)
		receipt := w.request(t, "hi", 4000)
		w.crashClosing(t)
		w.store.OnPut = nil
		w.stepper = w.other(t, o)
		w.finish(t, key, nil)
		if r := w.runRecord(t, receipt.RunID); r.Status != core.RunDone || w.form(t, receipt) != thread.FormBare || len(r.Request) > 0 {
			t.Errorf("the run is %s in the form %s with %d bytes of the request, want done, bare and none", r.Status, w.form(t, receipt), len(r.Request))
		}
	})
}

// crashClosing steps the thread until the run is closing: the write that would make its
// end final takes the process along.
func (w *world) crashClosing(t *testing.T) {
	t.Helper()
	head, limited := w.take(t, key), w.store.OnCommit
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		if !c.Head.Open() {
			w.store.dead.Store(true)
			return store.Outcome{}, errDead
		}
		return limited(ctx, key, c)
	}
	if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); !errors.Is(err, errDead) {
		t.Fatalf("the step did not crash: %v", err)
	}
	w.store.dead.Store(false)
	w.store.OnCommit = nil
	w.reclaim(t)
}

// sizes are those of all that a run can store until its end, in bytes.
type sizes struct {
	Limit, Input, Request, Turn, Arguments, Result, Adds, AtEnd, Name int
}

// drawSizes draws each around the limit, or small.
func drawSizes(r *rand.Rand) sizes {
	s := sizes{Limit: []int{thread.MinPayload, 12 << 10, 40 << 10, 100 << 10}[r.IntN(4)]}
	size := func(most int) int {
		switch r.IntN(4) {
		case 0:
			return 2 + r.IntN(40)
		case 1:
			return 2 + r.IntN(most)
		case 2: // where one record has room for it, and another hardly
			return max(2, min(most, s.Limit-360-r.IntN(100)))
		}
		return max(2, min(most, s.Limit-r.IntN(900)))
	}
	s.Input, s.Request, s.Turn, s.Arguments = size(s.Limit), size(16<<10), size(s.Limit), size(s.Limit)
	s.Result, s.Adds, s.AtEnd, s.Name = size(2*s.Limit), size(s.Limit), size(2*s.Limit)-1, size(s.Limit)
	return s
}

// Whatever is too large in a run, and however it ends, it ends: each call has one result,
// RunEnd runs once, and no tool runs twice.
func TestRunsOfAllSizesEnd(t *testing.T) {
	forms := map[thread.Form]int{}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		s, way := drawSizes(r), []string{"natural", "stopped", "cancelled", "interrupted", "cancelled while it speaks", "failed", "dead-lettered", "cancelled at its start", "said again"}[r.IntN(9)]
		t.Run(fmt.Sprintf("%d %s", seed, way), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { forms[endOfSize(t, s, way)]++ })
			if t.Failed() {
				t.Logf("the sizes are %+v", s)
			}
		})
	}
	for f := thread.FormWhole; f <= thread.FormLeast; f++ {
		if forms[f] < 1 {
			t.Errorf("%d runs end in the form %s, want some: %v", forms[f], f, forms)
		}
	}
}

// endOfSize takes a run with such sizes to its end.
func endOfSize(t *testing.T, s sizes, way string) thread.Form {
	var seen closed
	ran := map[string]int{}
	w := &world{}
	var receipt mailbox.Receipt
	cancel := func() {
		if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil && core.CodeOf(err) != core.CodeNotFound {
			t.Fatal(err)
		}
	}
	grow := toolFunc{name: "pile", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
		if ran[c.ID]++; ran[c.ID] > 1 && way != "said again" {
			t.Errorf("the tool of call %s runs %d times", c.ID, ran[c.ID])
		}
		switch {
		case way == "cancelled" && len(ran) == 2:
			cancel()
		case way == "interrupted" && len(ran) == 2:
			w.submit(t, key, "now this", mailbox.ModeInterrupt)
		}
		result := tool.NewResult(strings.Repeat("r", s.Result))
		result.Command = piled.Update(strings.Repeat("p", s.Adds))
		return result, nil
	}}
	o := options{tools: []tool.Tool{grow}, plugins: []plugin.Plugin{piles(s.AtEnd, &seen)}, limit: s.Limit, model: sequence(func(n int) []model.Delta {
		arguments := `{"x":"` + strings.Repeat("a", s.Arguments) + `"}`
		switch {
		case n == 1 && way == "cancelled while it speaks":
			cancel()
			return []model.Delta{{Type: model.DeltaText, Text: strings.Repeat("x", s.Turn)}, {Text: "broken pipe"}}
		case n == 1 && way == "failed":
			return []model.Delta{{Text: "broken pipe"}}
		case n == 1:
			return calls("pile", arguments, "pile", "{}", strings.Repeat("n", min(s.Name, 2000)), "{}")
		}
		return text(strings.Repeat("x", s.Turn))
	})}
	if way == "stopped" {
		o.stop = []agent.StopPolicy{stopOnce()}
	}
	*w = *newWorld(t, o)
	runs := 1
	if way == "said again" { // a run before it has changed the state, which is taken back
		w.largest(t, 100, s.Limit, mailbox.Submission{Thread: key, Opening: mailbox.Opening{AgentID: "demo"}})
		w.finish(t, key, nil)
		ran, runs = map[string]int{}, 2
	}
	sent := requesting("", s.Request)
	if way == "said again" {
		sent.Opening.Supersede = 1
	}
	receipt = w.largest(t, s.Input, s.Limit, sent)
	switch way {
	case "cancelled at its start", "said again":
		w.take(t, key)
		cancel()
		w.reclaim(t)
	case "dead-lettered":
		w.step(t, key)
		for range 5 {
			if w.head(t, key).DueAt == 0 {
				break
			}
			w.take(t, key)
			w.reclaim(t)
		}
	}
	w.finish(t, key, nil)
	if way == "interrupted" && w.runRecord(t, receipt.RunID).Termination.Type == core.TerminationSuperseded {
		runs = 2
	}
	if h := w.head(t, key); h.Open() || h.Claim.Fence != 0 || len(h.Pending) > 0 {
		t.Errorf("the thread is left as %+v", h)
	}
	if got := w.runRecord(t, receipt.RunID); got.Status != core.RunDone || got.Termination == nil {
		t.Errorf("the run's record says %s, %+v", got.Status, got.Termination)
	}
	if len(seen.saw) != runs {
		t.Errorf("RunEnd saw %q, want it once for each of %d runs", seen.saw, runs)
	}
	w.oneResultEach(t)
	return w.form(t, receipt)
}

// oneResultEach checks that each call of the log has its one result, at its place.
func (w *world) oneResultEach(t *testing.T) {
	t.Helper()
	entries, err := threadlog.Read(t.Context(), w.store.Backend, thread.Records{}, key, 1, w.head(t, key).Seq)
	if err != nil {
		t.Fatal(err)
	}
	var open []core.ToolCall
	for i, e := range entries {
		switch m := e.Message; {
		case m == nil || m.Role != core.RoleTool:
			if len(open) > 0 {
				t.Errorf("at %d %d calls have no result", i+1, len(open))
			}
			if open = nil; m != nil {
				open = m.ToolCalls
			}
		case len(open) == 0 || m.ToolResult.CallID != open[0].ID:
			t.Errorf("the result at %d is of %q", i+1, m.ToolResult.CallID)
		default:
			open = open[1:]
		}
	}
	if len(open) > 0 {
		t.Errorf("%d calls have no result", len(open))
	}
}
