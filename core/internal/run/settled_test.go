package run_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// lose makes the nth commit from now on one whose response is lost, and after which
// another worker has the claim before the holder looks again.
func (w *world) lose(t *testing.T, n int) {
	writes := 0
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		outcome, err := w.store.Backend.Commit(ctx, key, c)
		if writes++; writes < n {
			return outcome, err
		}
		w.store.OnCommit = nil
		if err := w.box.Reclaim(t.Context(), []core.ThreadKey{key}); err != nil {
			t.Error(err)
		}
		w.take(t, key)
		return store.Outcome{}, errors.New("connection reset by peer")
	}
}

// A commit that is found applied may be found under another worker's claim: the
// holder before it has what it committed, and nothing of the new claim.
func TestHolderNeverWorksUnderTheClaimThatCameAfterItsCommit(t *testing.T) {
	t.Run("commit B that was to keep the claim", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, options{})
			w.submit(t, key, "echo: a", mailbox.ModeQueue)
			head := w.take(t, key)
			w.lose(t, 2)
			stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head, Keep: true}, nil)
			if err != nil || stepped.Outcome != thread.Yield || stepped.Head.Claim.Fence != 2 {
				t.Errorf("the step is %s beside fence %d, %v; want yield beside fence 2", stepped.Outcome, stepped.Head.Claim.Fence, err)
			}
		})
	})
	t.Run("commit A", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			ran := 0
			w := newWorld(t, options{
				model: replies(calls("count", "{}"), text("ok")),
				tools: []tool.Tool{counted("count", false, &ran)},
			})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			head := w.take(t, key)
			w.lose(t, 1)
			_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
			if !errors.Is(err, thread.ErrFenced) || ran != 0 {
				t.Errorf("the step ended with %v, and the tool ran %d times; want ErrFenced and none", err, ran)
			}
		})
	})
	t.Run("the next fence", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, options{plugins: []plugin.Plugin{pluginFunc{"p", func(r *plugin.Registrar) {
				r.Key(inThread)
				r.Hook(core.PhaseRunEnd, func(context.Context, plugin.Context) (state.Command, error) { return inThread.Update(1), nil })
			}}}})
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			head := w.take(t, key)
			w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				w.store.OnCommit = nil
				if err := w.store.partly(ctx, key, c); err != nil {
					t.Error(err)
				}
				if _, err := w.box.Cancel(ctx, key, receipt.RunID); err != nil {
					t.Error(err)
				}
				w.lose(t, 3) // refused, refused for its records, the next fence
				return w.store.OnCommit(ctx, key, c)
			}
			_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil)
			if h := w.head(t, key); !errors.Is(err, thread.ErrFenced) || h.Claim.Fence != 3 || h.Run.ID != receipt.RunID {
				t.Errorf("the step ended with %v, and the claim has fence %d; want ErrFenced, and the other worker's fence 3", err, h.Claim.Fence)
			}
		})
	})
}

// A cancel that comes after the model's last word and before commit B leaves the
// text, which its reader has seen, as the run's last message.
func TestTextThatACancelOvertookIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.store.OnCommit = nil
			if _, err := w.box.Cancel(ctx, key, receipt.RunID); err != nil {
				t.Error(err)
			}
			return w.store.Backend.Commit(ctx, key, c)
		}
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"user: hi", "assistant: You said: hi"}, w.log(t, key)); diff != "" {
			t.Errorf("log (-want +got):\n%s", diff)
		}
		if got := w.end(t, key, receipt); got != `done 0 {"type":"cancelled"} "You said: hi"` {
			t.Errorf("the run is %s", got)
		}
	})
}

// A result that was announced while its round ran is not announced again when
// the run is closed.
func TestClosingAnnouncesNoResultAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		hangs := toolFunc{name: "hangs", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}}
		w := newWorld(t, options{
			model: replies(calls("count", "{}", "hangs", "{}")),
			tools: []tool.Tool{counted("count", false, &ran), hangs},
		})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		head := w.take(t, key)
		time.AfterFunc(time.Second, func() {
			if _, err := w.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
				t.Error(err)
			}
		})
		var got events
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, got.sink); err != nil {
			t.Fatal(err)
		}
		done := 0
		for _, line := range got.lines {
			if strings.HasPrefix(line, "tool_call_done") {
				done++
			}
		}
		if done != 2 {
			t.Errorf("%d results were announced, want 2: %q", done, got.lines)
		}
	})
}
