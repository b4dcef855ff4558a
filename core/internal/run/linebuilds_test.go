package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// putResult puts the result of call i of a round of [siblings] under the claim that
// stands: it is like another call's, with what the change makes of it.
func (s *siblings) putResult(t *testing.T, i int, like thread.Entry, change func(*thread.Entry)) {
	t.Helper()
	head := s.head(t, key)
	m, r := *like.Message, *like.Message.ToolResult
	m.ID, r.CallID = m.ID[:strings.LastIndex(m.ID, ".")+1]+fmt.Sprint(i), "other"
	m.ToolResult, like.Message = &r, &m
	change(&like)
	payload, err := thread.Records{}.EncodeEntry(&like)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.store.Backend.Put(t.Context(), key, store.Record{Name: store.LogName(head.Run.Base + uint64(i)), Fence: head.Fence, Payload: payload}); err != nil {
		t.Fatal(err)
	}
}

// Two builds share a parallel round, of which one knows of no line. What that one has put
// stands at no place: the newer one tries it behind what stands in the line, and gives it
// a place there. No tool runs again, and what the older one adopts it puts as it is.
func TestTwoBuildsShareALine(t *testing.T) {
	const applies, refused = `ok: "set"`, "error: execution failed: its change of the state does not apply"
	takes := func(tool.Call) state.Command { return sole.Update("x") }
	tests := []struct {
		name    string
		change  func(tool.Call) state.Command
		older   []int // calls whose results are the older program's
		results []string
		list    []string
		places  []uint16
	}{
		{"behind the newer one's", setsList, []int{0}, []string{applies, applies}, []string{"tool0"}, []uint16{2, 1}},
		{"behind the newer one's, and does not apply", takes, []int{0}, []string{refused, applies}, nil, []uint16{0, 1}},
		{"both are the older one's", setsList, []int{0, 1}, []string{applies, applies}, []string{"tool1"}, []uint16{1, 2}},
		{"both are the older one's, and one does not apply", takes, []int{0, 1}, []string{applies, refused}, nil, []uint16{1, 0}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSiblings(t, [2]time.Duration{8 * time.Second, time.Second}, tt.change)
				_, _ = s.cut(t, 4*time.Second, false)
				head := s.take(t, key) // by the older program, which dies
				newer := s.entry(t, head.Run.Base+1)
				for _, i := range tt.older {
					s.putResult(t, i, newer, func(e *thread.Entry) {
						command := state.Combine(tt.change(tool.Call{Index: i}), effected.Emit(fmt.Sprint("effect", i)))
						e.Place, e.Attempt, e.Intents = 0, 0, &command
					})
				}
				s.reclaim(t)
				s.finish(t, key, nil)
				if diff := cmp.Diff(tt.results, s.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.list, s.last); diff != "" {
					t.Errorf("the list (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.places, []uint16{s.entry(t, head.Run.Base).Place, s.entry(t, head.Run.Base+1).Place}); diff != "" {
					t.Errorf("places (-want +got):\n%s", diff)
				}
				if s.ran != [2]int{1, 1} {
					t.Errorf("the tools ran %v times, want once each", s.ran)
				}
			})
		})
	}
}

// A program that knows of no line has closed a part of the round: what it has marked done
// is read as it is, and counts in the order of the calls.
func TestTwoBuildsShareARoundThatTheOlderOneHasAllButClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiblings(t, [2]time.Duration{8 * time.Second, time.Second}, setsList)
		_, _ = s.cut(t, 4*time.Second, false)
		head := s.take(t, key)
		s.putResult(t, 1, s.entry(t, head.Run.Base+1), func(e *thread.Entry) { e.Place, e.Attempt = 0, 0 })
		nack := thread.Nack{Fence: head.Fence, Calls: []thread.CallStatus{head.Run.Calls[0], thread.CallDone}}
		if _, _, err := s.box.Commit(t.Context(), key, head, nack, func(thread.Head, thread.Result) ([]store.Record, error) { return nil, nil }); err != nil {
			t.Fatal(err)
		}
		s.finish(t, key, nil)
		if diff := cmp.Diff([]string{"tool0"}, s.last); diff != "" {
			t.Errorf("the list (-want +got):\n%s", diff)
		}
		if first, second := s.entry(t, head.Run.Base).Place, s.entry(t, head.Run.Base+1).Place; first != 1 || second != 0 {
			t.Errorf("the results stand at %d and %d, want 1 and, as it was stored, 0", first, second)
		}
		if strings.Contains(s.log.String(), "could not be applied") {
			t.Errorf("complaints:\n%s", &s.log)
		}
	})
}

// A result that is given another place keeps the fields that only a newer program knows.
func TestAPlacedResultKeepsTheFieldsOfANewerProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiblings(t, [2]time.Duration{8 * time.Second, time.Second}, setsList)
		_, _ = s.cut(t, 4*time.Second, false)
		head := s.take(t, key)
		s.putResult(t, 0, s.entry(t, head.Run.Base+1), func(e *thread.Entry) { e.Place = 3 })
		late := s.record(t, store.LogName(head.Run.Base))
		const end, mood = "\xf8\x7f\x01", "\x92\x02\x08tomorrow" // field 2047, and before it field 34
		late.Payload = []byte(strings.TrimSuffix(string(late.Payload), end) + mood + end)
		s.reclaim(t)
		late.Fence = s.take(t, key).Fence
		if err := s.store.Backend.Put(t.Context(), key, late); err != nil {
			t.Fatal(err)
		}
		s.reclaim(t)
		s.finish(t, key, nil)
		if e := s.entry(t, head.Run.Base); e.Place != 2 {
			t.Errorf("the result stands at %d, want 2", e.Place)
		}
		if payload := string(s.record(t, store.LogName(head.Run.Base)).Payload); !strings.HasSuffix(payload, mood+end) {
			t.Errorf("the result is %q", payload)
		}
	})
}

// waitingRound is a round of which call 0 waits for a person, and which its first claim
// had begun without asking: a result of that claim may still come. Call 1 is merged.
type waitingRound struct {
	*siblings
	asks bool
}

func newWaitingRound(t *testing.T, change func(tool.Call) state.Command) *waitingRound {
	t.Helper()
	w := &waitingRound{siblings: &siblings{}}
	w.world = newWorld(t, options{
		mode: agent.ParallelStreaming, model: replies(calls("set", "{}", "other", "{}"), text("ok")),
		tools: []tool.Tool{
			toolFunc{name: "set", run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
				if w.ran[0]++; !w.asks {
					<-ctx.Done()
					return tool.Result{}, ctx.Err()
				}
				result := tool.NewResult("set")
				result.Command = change(c)
				return result, nil
			}},
			toolFunc{name: "other", run: func(context.Context, tool.Call) (tool.Result, error) {
				w.ran[1]++
				time.Sleep(time.Second)
				return tool.NewResult("other"), nil
			}},
		},
		plugins: []plugin.Plugin{pluginFunc{"waits", func(r *plugin.Registrar) {
			r.Key(seenBy)
			r.Gate(func(_ context.Context, c plugin.GateCall) (v plugin.Verdict, err error) {
				if w.asks && c.CallIndex == 0 {
					v = suspends("gate0")
				}
				return v, nil
			})
			r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
				if c.CallIndex == 1 {
					return seenBy.Update([]string{"after1"}), nil
				}
				return state.Command{}, nil
			})
			r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
				if c.Step == 1 {
					w.last, err = seenBy.Read(c.Snapshot)
				}
				return state.Command{}, err
			})
		}}},
	})
	w.submit(t, key, "hi", mailbox.ModeQueue)
	return w
}

// A round has come to wait, in a program that notes whose claim that was or in an older one,
// which does not. Either way it goes on from what it had come to.
func TestTwoBuildsShareAWaitingRound(t *testing.T) {
	for _, older := range []bool{false, true} {
		t.Run(fmt.Sprint("older ", older), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWaitingRound(t, setsList)
				w.asks = true
				w.step(t, key)
				if older {
					w.forgetFence(t)
				}
				w.mustDecide(t, 0, approve)
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{`ok: "set" after about-gate0`, `ok: "other"`}, w.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{"tool0"}, w.last); diff != "" {
					t.Errorf("the list (-want +got):\n%s", diff)
				}
				if w.ran != [2]int{1, 1} {
					t.Errorf("the tools ran %v times, want once each", w.ran)
				}
			})
		})
	}
}

// forgetFence makes the record of the round that waits that of a program which does not say
// whose claim it was.
func (w *world) forgetFence(t *testing.T) {
	t.Helper()
	run := w.head(t, key).Run
	record := w.record(t, recordname.Round(run.ID, run.Round))
	var round thread.RoundRecord
	if err := (thread.Records{}).Decode("round", record.Payload, &round); err != nil || round.Fence == 0 {
		t.Fatalf("the round's record is %s, %v", record.Payload, err)
	}
	round.Fence = 0
	payload, err := thread.Records{}.Encode("round", &round)
	if err != nil {
		t.Fatal(err)
	}
	record.Payload, record.Fence = payload, record.Fence+1
	if err := w.store.Backend.Put(t.Context(), key, record); err != nil {
		t.Fatal(err)
	}
}
