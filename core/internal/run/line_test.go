package run_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// siblings is a world whose first turn calls two tools side by side: each lasts so many
// seconds and changes what it is told to.
type siblings struct {
	*world
	log     strings.Builder
	last    []string // the list at the step's end
	heard   []string // statuses that AfterToolExecute was shown
	effects []string
	ran     [2]int
}

var effected = plugin.Effect[string]{Name: "effected"}

// sole is a key that one call of a run may set.
var sole = state.Key[string, string]{Name: "sole", Scope: state.ScopeRun, Apply: func(had, set string) string {
	if had != "" {
		panic("taken")
	}
	return set
}}

func newSiblings(t *testing.T, lasts [2]time.Duration, change func(tool.Call) state.Command) *siblings {
	t.Helper()
	s := &siblings{}
	o := options{
		mode: agent.ParallelStreaming, model: replies(calls("set", "{}", "set", "{}"), text("ok")), logger: slog.New(slog.NewTextHandler(&s.log, nil)),
		tools: []tool.Tool{toolFunc{name: "set", run: func(ctx context.Context, c tool.Call) (tool.Result, error) {
			s.ran[c.Index]++
			select {
			case <-ctx.Done():
				return tool.Result{}, ctx.Err()
			case <-time.After(lasts[c.Index]):
			}
			result := tool.NewResult("set")
			result.Command = state.Combine(change(c), effected.Emit(fmt.Sprint("effect", c.Index)))
			return result, nil
		}}},
		plugins: []plugin.Plugin{pluginFunc{"siblings", func(r *plugin.Registrar) {
			r.Key(seenBy)
			r.Key(sole)
			effected.Handle(r, func(_ context.Context, _ plugin.HandlerContext, text string) error {
				s.effects = append(s.effects, text)
				return nil
			})
			r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
				s.heard = append(s.heard, fmt.Sprint(c.CallIndex, c.Result.Status))
				return state.Command{}, nil
			})
			r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (_ state.Command, err error) {
				if c.Step == 1 {
					s.last, err = seenBy.Read(c.Snapshot)
				}
				return state.Command{}, err
			})
		}}},
	}
	s.world = newWorld(t, o)
	s.submit(t, key, "hi", mailbox.ModeQueue)
	return s
}

func setsList(c tool.Call) state.Command { return seenBy.Update([]string{fmt.Sprint("tool", c.Index)}) }

// Of two calls that set one key the one counts whose result was stored later.
func TestOfTwoSiblingsTheLaterStoredCounts(t *testing.T) {
	for slow, want := range []string{"tool0", "tool1"} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lasts := [2]time.Duration{time.Second, time.Second}
				lasts[slow] = 3 * time.Second
				s := newSiblings(t, lasts, setsList)
				s.finish(t, key, nil)
				if diff := cmp.Diff([]string{want}, s.last); diff != "" {
					t.Errorf("the list (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{`ok: "set"`, `ok: "set"`}, s.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				if strings.Contains(s.log.String(), "level=WARN") {
					t.Errorf("complaints:\n%s", &s.log)
				}
			})
		})
	}
}

// A change that does not apply behind a sibling's, or was for one revision only, is its
// call's error: hooks and clients are told of no other result, and its effects do not run.
func TestAChangeThatDoesNotApplyBehindASiblingsIsItsCallsError(t *testing.T) {
	tests := []struct {
		name, want string
		change     func(tool.Call) state.Command
	}{
		{"a key that is taken", "error: execution failed: its change of the state does not apply", func(tool.Call) state.Command { return sole.Update("x") }},
		{"for one revision", "error: execution failed: the batch is for revision 0, the state is at revision 1", func(c tool.Call) state.Command {
			command := setsList(c)
			command.Batch = command.Batch.On(c.Snapshot)
			return command
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSiblings(t, [2]time.Duration{3 * time.Second, time.Second}, tt.change)
				var told []string
				s.finish(t, key, func(e core.Event) error {
					if e.Type == core.EventToolCallDone {
						told = append(told, string(e.Status))
					}
					return nil
				})
				if diff := cmp.Diff([]string{tt.want, `ok: "set"`}, s.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				got := [][]string{told, s.heard, s.effects}
				if diff := cmp.Diff([][]string{{"ok", "error"}, {"0error", "1ok"}, {"effect1"}}, got); diff != "" {
					t.Errorf("told, heard and effects (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// A claim that takes over between the puts of two results goes on behind the first.
func TestATakeoverBetweenTwoPutsGoesOnInTheLine(t *testing.T) {
	tests := []struct {
		name    string
		change  func(tool.Call) state.Command
		results []string
		list    []string
	}{
		{"both apply", setsList, []string{`ok: "set"`, `ok: "set"`}, []string{"tool0"}},
		{"the second does not", func(tool.Call) state.Command { return sole.Update("x") }, []string{"error: execution failed: its change of the state does not apply", `ok: "set"`}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSiblings(t, [2]time.Duration{8 * time.Second, time.Second}, tt.change)
				_, _ = s.cut(t, 4*time.Second, false)
				s.finish(t, key, nil)
				if diff := cmp.Diff(tt.results, s.results(t)); diff != "" {
					t.Errorf("results (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.list, s.last); diff != "" {
					t.Errorf("the list (-want +got):\n%s", diff)
				}
				if s.ran != [2]int{2, 1} {
					t.Errorf("the tools ran %v times, want 2 and 1", s.ran)
				}
			})
		})
	}
}

// The put of a claim that was lost may come when another has given the place to a
// sibling: the result is tried behind that, and its tool does not run again.
func TestALateResultIsTriedAgainBehindTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSiblings(t, [2]time.Duration{8 * time.Second, time.Second}, func(tool.Call) state.Command { return sole.Update("x") })
		_, _ = s.cut(t, 4*time.Second, false)
		head := s.head(t, key)
		second := s.entry(t, head.Run.Base+1)
		if second.Place != 1 || second.Attempt != head.Fence {
			t.Fatalf("the second call's result stands at place %d of claim %d, want 1 and %d", second.Place, second.Attempt, head.Fence)
		}
		late := second // as if the first one had ended earlier, under another claim
		m, r := *second.Message, *second.Message.ToolResult
		m.ID, r.CallID = strings.TrimSuffix(m.ID, ".1")+".0", "other"
		m.ToolResult, late.Message, late.Attempt = &r, &m, head.Fence-1
		payload, err := thread.Records{}.EncodeEntry(&late)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.store.Backend.Put(t.Context(), key, store.Record{Name: store.LogName(head.Run.Base), Fence: head.Fence, Payload: payload}); err != nil {
			t.Fatal(err)
		}
		s.finish(t, key, nil)
		want := []string{"error: execution failed: its change of the state does not apply", `ok: "set"`}
		if diff := cmp.Diff(want, s.results(t)); diff != "" {
			t.Errorf("results (-want +got):\n%s", diff)
		}
		if s.ran != [2]int{1, 1} {
			t.Errorf("the tools ran %v times, want once each", s.ran)
		}
	})
}

// entry is the log entry at a sequence, which need not be committed.
func (w *world) entry(t *testing.T, seq uint64) thread.Entry {
	t.Helper()
	e, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(seq)).Payload)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
