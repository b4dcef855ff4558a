package run_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// A RunEnd that takes longer than the watch waits between two looks is not disturbed by the
// head that closes its run, whoever has begun to close it.
func TestSlowRunEndIsNotDisturbedByTheHeadThatClosesItsRun(t *testing.T) {
	tests := []struct {
		name string
		does turn
		end  string
	}{
		{"cancelled", hangs, `done 0 {"type":"cancelled"} "half"`},
		{"failed", breaks(&model.Error{Kind: model.KindInvalid, Message: "no"}), `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`},
		{"natural", one, `done 1 {"type":"natural_end"} "one"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var got notebook
				ran := 0
				w := newWorld(t, options{model: turns(tt.does), logger: got.logger(), plugins: []plugin.Plugin{
					hooks(core.PhaseRunEnd, func(ctx context.Context, _ plugin.Context) (state.Command, error) {
						ran++
						select {
						case <-time.After(5 * time.Second):
							return state.Command{}, nil
						case <-ctx.Done():
							return state.Command{}, context.Cause(ctx)
						}
					}),
				}})
				receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
				if tt.name == "cancelled" {
					time.AfterFunc(time.Second, func() { cancelRun(t, w, &trace{}, receipt) })
				}
				if stepped := w.step(t, key); stepped.Outcome != thread.Done {
					t.Errorf("the step is %s, want done", stepped.Outcome)
				}
				lines := strings.Join(got.lines, "\n")
				if end := w.end(t, key, receipt); end != tt.end || ran != 1 || strings.Contains(lines, "RunEnd") {
					t.Errorf("the run is %s, RunEnd ran %d times; the log says %s", end, ran, lines)
				}
			})
		})
	}
}

// A claim that goes on with the end of a run and cannot read what RunEnd has changed is given
// back, and the next one has the change.
func TestWhatRunEndChangedIsReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l leaving
		w := newWorld(t, options{plugins: []plugin.Plugin{l.plugin()}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.refuseClose(7, store.ErrThrottled)
		began := time.Now().UnixMilli()
		w.step(t, key)
		name := recordname.End(receipt.RunID, w.head(t, key).Run.RunEnd)
		time.Sleep(time.Minute)
		w.store.read = func(what string) error {
			if what == name {
				return errPassing
			}
			return nil
		}
		if stepped := w.step(t, key); !stepped.Retry {
			t.Errorf("the step is %+v, want it given back", stepped)
		}
		w.store.read = nil
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); got != `done 1 {"type":"natural_end"} "You said: hi"` || l.ran != 1 || l.effects != 1 || len(w.piled(t)) != 1 {
			t.Errorf("the run is %s, RunEnd ran %d times with %d effects and changes %q", got, l.ran, l.effects, w.piled(t))
		}
		if at := w.runRecord(t, receipt.RunID).FinishedAt; at != began {
			t.Errorf("the run has ended at %d, want %d, when RunEnd ran", at, began)
		}
	})
}

// What is taken off a tenant's day when a run ends: nothing, where what the run has used
// cannot be read; and a turn whose claim was lost is charged once.
func TestChargesOfARunThatIsLost(t *testing.T) {
	o := func() options {
		return options{limits: account.Limits{TokensADay: 1000}, model: turns(says(calls("echo", `{"text":"a"}`)...), one)}
	}
	released := func(w *world) *[]int64 {
		var tokens []int64
		w.store.OnRelease = func(ctx context.Context, tenant string, r store.Use) (bool, error) {
			tokens = append(tokens, r.Tokens)
			return w.store.Backend.Release(ctx, tenant, r)
		}
		return &tokens
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o())
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.crash(t, commitB)
		cancelRun(t, w, &trace{}, receipt)
		w.spoil(t, store.LogName(2))
		tokens := released(w)
		w.stepper = w.other(t, o())
		w.finish(t, key, nil)
		if diff := cmp.Diff([]int64{0}, *tokens); diff != "" {
			t.Errorf("tokens that are taken off, where the turn cannot be read (-want +got):\n%s", diff)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, o())
		w.submit(t, key, "hi", mailbox.ModeQueue)
		head, charged := w.take(t, key), 0
		w.store.OnCharge = func(ctx context.Context, tenant string, c store.Use) (store.Admission, bool, error) {
			charged++
			return w.store.Backend.Charge(ctx, tenant, c)
		}
		w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
			w.store.OnCommit = nil
			w.takeOver(t)
			return w.store.Backend.Commit(ctx, key, c)
		}
		if _, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: head}, nil); err == nil || charged != 1 {
			t.Errorf("the step comes to %v, and the turn was charged %d times; want a lost claim, and once", err, charged)
		}
	})
}

// A step that goes on under its claim returns the newest head of it: with input that came
// while effects ran.
func TestAStepReturnsTheNewestHeadOfItsClaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		*w = *newWorld(t, options{model: turns(says(calls("echo", `{"text":"a"}`)...), one), plugins: []plugin.Plugin{pluginFunc{"slow", func(r *plugin.Registrar) {
			tell := plugin.Effect[string]{Name: "tell"}
			tell.Handle(r, func(context.Context, plugin.HandlerContext, string) error {
				w.submit(t, key, "more", mailbox.ModeSteer)
				time.Sleep(5 * time.Second)
				return nil
			})
			r.Hook(core.PhaseStepEnd, func(context.Context, plugin.Context) (state.Command, error) { return tell.Emit("x"), nil })
		}}}})
		w.submit(t, key, "hi", mailbox.ModeQueue)
		stepped, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key), Keep: true}, nil)
		if err != nil || stepped.Outcome != thread.Continue || len(stepped.Head.Inbox) != 1 || stepped.Head.Version != w.head(t, key).Version {
			t.Errorf("the step is %s with %d inputs at version %d, %v; want it to go on with the one at version %d",
				stepped.Outcome, len(stepped.Head.Inbox), stepped.Head.Version, err, w.head(t, key).Version)
		}
	})
}

// The note from which a run goes on behind an answer says what is wrong with that, if
// anything is.
func TestTheNoteOfARunThatIsTakenUp(t *testing.T) {
	tests := []struct {
		name, said, note string
	}{
		{"an answer that its reader refuses", `{"n":7}`, "[The run has ended with an error behind this answer. Go on with what is left to do.]"},
		{"an answer of another form", `[]`, `[The answer cannot be used: property "answer": got array, want object. Answer again, in the form that was asked for.]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				refused := true
				w := newWorld(t, options{
					agents: spec(t, inOrder(text(tt.said), text(`{"n":8}`)), agent.Spec{ResponseFormat: numbered, MaxRepairs: new(0)}),
					accept: func(core.ID, int, string) error {
						if refused {
							return errPassing
						}
						return nil
					},
				})
				first := w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				refused = false
				again, err := w.box.TakeUp(t.Context(), key, "", first.RunID)
				if err != nil {
					t.Fatal(err)
				}
				w.finish(t, key, nil)
				if end := w.end(t, key, again); end != `done 1 {"type":"natural_end"} "{\"n\":8}"` {
					t.Errorf("the run is %s", end)
				}
				note := w.entry(t, 3)
				want := thread.Entry{Run: again.RunID, At: note.At, Message: &core.Message{
					ID: again.RunID.String() + ".0.repair", Role: core.RoleUser, Content: []core.Block{{Type: core.BlockText, Text: tt.note}},
					RunID: again.RunID, CreatedAt: note.At, Repair: true,
				}}
				if diff := cmp.Diff(want, note); diff != "" || note.At != time.Now().UnixMilli() {
					t.Errorf("the note at %d (-want +got):\n%s", note.At, diff)
				}
			})
		})
	}
}
