package run_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// outside is what tools find outside of their thread: before each access it does something.
type outside func() error

func (o outside) ChildRun(context.Context, tool.Call, core.ID) (core.Run, error) {
	return core.Run{Steps: 7}, o()
}

func (o outside) CancelRun(context.Context, tool.Call, core.ID) (int, error) { return 7, o() }

func (o outside) SendMessage(context.Context, tool.Call, tool.Message) (core.ID, error) {
	return core.ID{7}, o()
}

func (o outside) FailedMessages(context.Context, tool.Call) ([]tool.FailedMessage, error) {
	return []tool.FailedMessage{{Tries: 7}}, o()
}

func (o outside) RecoverMessages(context.Context, tool.Call, bool) (int, error) {
	return 7, o()
}

// reaching are the ways in which a call reaches other threads.
var reaching = map[string]func(context.Context, tool.Call) (int, error){
	"reads": func(ctx context.Context, c tool.Call) (int, error) {
		r, err := c.ChildRun(ctx, core.ID{1})
		return r.Steps, err
	},
	"cancels": func(ctx context.Context, c tool.Call) (int, error) { return c.CancelRun(ctx, core.ID{1}) },
	"sends": func(ctx context.Context, c tool.Call) (int, error) {
		id, err := c.Send(ctx, tool.Message{Text: "hi", Parent: true})
		return int(id[0]), err
	},
	"lists": func(ctx context.Context, c tool.Call) (int, error) {
		failed, err := c.FailedMessages(ctx)
		if len(failed) != 1 {
			return len(failed), err
		}
		return failed[0].Tries, err
	},
	"recovers": func(ctx context.Context, c tool.Call) (int, error) { return c.RecoverMessages(ctx, true) },
}

// A tool reaches other threads while its call runs. What fails there for a reason that a later
// try can change is tried again with the call; any other error is the tool's.
func TestAToolReachesOtherThreads(t *testing.T) {
	for name, ask := range reaching {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				asked := 0
				failures := []error{nil, core.Errorf(core.CodeNotFound, "none"), core.Errorf(core.CodeThrottled, "not now"), nil}
				tells := toolFunc{name: "tells", run: func(ctx context.Context, call tool.Call) (tool.Result, error) {
					n, err := ask(ctx, call)
					return tool.NewResult(fmt.Sprint(n)), err
				}}
				w := newWorld(t, options{
					model: replies(calls("tells", "{}"), calls("tells", "{}"), calls("tells", "{}"), text("ok")), tools: []tool.Tool{tells},
					others: outside(func() error {
						asked++
						return failures[asked-1]
					}),
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				if diff := cmp.Diff([]string{`ok: "7"`, "error: execution failed: none", `ok: "7"`}, w.results(t)); diff != "" || asked != 4 {
					t.Errorf("after %d tries (-want +got):\n%s", asked, diff)
				}
			})
		})
	}
}

// A tool that was left behind reaches nothing: neither where it asks afterwards, nor where it
// asked before and is answered then.
func TestAToolThatWasLeftBehindReachesNoOtherThread(t *testing.T) {
	for name, ask := range reaching {
		for _, across := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", asked before: ", across), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					asked, got := 0, error(nil)
					late := timed{toolFunc{name: "late", run: func(_ context.Context, call tool.Call) (tool.Result, error) {
						if !across {
							time.Sleep(10 * time.Second)
						}
						_, got = ask(context.Background(), call)
						return tool.NewResult("late"), nil
					}}, time.Second}
					w := newWorld(t, options{
						model: replies(calls("late", "{}"), text("ok")), tools: []tool.Tool{late},
						others: outside(func() error {
							asked++
							time.Sleep(10 * time.Second)
							return nil
						}),
					})
					w.submit(t, key, "hi", mailbox.ModeQueue)
					w.finish(t, key, nil)
					time.Sleep(20 * time.Second)
					synctest.Wait()
					if want := map[bool]int{true: 1}[across]; asked != want || got == nil || got.Error() != "the call is over: nothing of it is stored any more" {
						t.Errorf("the tool got %v after %d accesses, want %d", got, asked, want)
					}
				})
			})
		}
	}
}
