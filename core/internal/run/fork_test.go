package run_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// A fork at a turn or at one of its results has all of them, and the state that the
// step came to: no model sees a call without its result.
func TestAForkHasWholeRounds(t *testing.T) {
	round := []string{"user: hi", `assistant: [echo {"text":"a"}][echo {"text":"b"}]`, `tool: {"text":"a"}`, `tool: {"text":"b"}`, "state"}
	tests := []struct {
		at   int // sequence of the message
		want []string
	}{
		{1, round[:1]},
		{2, round},
		{3, round},
		{4, round},
		{6, append(round[:5:5], "assistant: ok", "state")},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint("at ", tt.at), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var saw []string
				w := newWorld(t, options{
					model:   replies(calls("echo", `{"text":"a"}`, "echo", `{"text":"b"}`), text("ok"), text("ok")),
					plugins: []plugin.Plugin{counters(&saw, inThread)},
				})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				at := (&retaking{world: w}).entry(t, uint64(tt.at)).Message.ID
				made, err := w.box.Fork(t.Context(), mailbox.Forking{Thread: key, At: at, To: "t2"})
				if err != nil || made.Messages != uint64(len(tt.want)) {
					t.Fatalf("fork: %+v, %v", made, err)
				}
				fork := core.ThreadKey{Tenant: key.Tenant, Thread: "t2"}
				if diff := cmp.Diff(tt.want, w.log(t, fork)); diff != "" {
					t.Errorf("log of the fork (-want +got):\n%s", diff)
				}
				if head := w.head(t, fork); head.Fence != 1 || head.DueAt != 0 || head.Busy(0) {
					t.Errorf("head of the fork: %+v", head)
				}
			})
		})
	}
}

func TestARoundThatIsOpenIsNotForked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := toolFunc{name: "waits", run: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Suspended(core.TicketRequest{Action: "tool:waits"}), nil
		}}
		w := newWorld(t, options{model: replies(calls("waits", "{}"), text("ok")), tools: []tool.Tool{waits}})
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		_, err := w.box.Fork(t.Context(), mailbox.Forking{Thread: key, At: receipt.RunID.String() + ".1", To: "t2"})
		if want := "tool calls of its turn have no results yet"; core.CodeOf(err) != core.CodeConflict || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("fork of an open round: %v, want %s", err, want)
		}
		if _, err := w.box.Fork(t.Context(), mailbox.Forking{Thread: key, At: receipt.DispatchID.String() + ".0", To: "t2"}); err != nil {
			t.Errorf("fork at the question before it: %v", err)
		}
	})
}

// A fork of many pages that breaks off anywhere is not there, and is whole when it is
// made again; what another made of it meanwhile is found.
func TestAForkThatBreaksOffIsNotThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		for i := range 40 {
			w.submit(t, key, fmt.Sprint("say ", i), mailbox.ModeQueue)
			w.finish(t, key, nil)
		}
		source := w.log(t, key)
		last := (&retaking{world: w}).entry(t, uint64(len(source))).Message.ID
		fork := core.ThreadKey{Tenant: key.Tenant, Thread: "t2"}
		around := w.store.Around
		for _, after := range []int64{0, 1, 33, 79, 80, -1} { // writes that arrive; the last is the head; -1: all
			var writes atomic.Int64
			w.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
				if op.Writes() && after >= 0 && writes.Add(1) > after {
					return errors.New("no connection")
				}
				return around(ctx, op, do)
			}
			made, err := w.box.Fork(t.Context(), mailbox.Forking{Thread: key, At: last, To: "t2"})
			head := w.head(t, fork)
			if whole := after < 0; whole != (err == nil) || whole != head.Exists() || whole && made.Messages != 80 {
				t.Fatalf("after %d writes: %+v, %v; head %+v", after, made, err, head)
			}
		}
		w.store.Around = around
		if diff := cmp.Diff(source, w.log(t, fork)); diff != "" {
			t.Errorf("log of the fork (-source +fork):\n%s", diff)
		}
		if diff := cmp.Diff(source, w.log(t, key)); diff != "" {
			t.Errorf("log of the source (-before +after):\n%s", diff)
		}
	})
}

func TestAForkBelongsToTheThreadsOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, options{})
		s := mailbox.Submission{Thread: key, User: "ann", Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("hi").WithID("m1")}}
		if _, err := w.box.Submit(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		w.finish(t, key, nil)
		f := mailbox.Forking{Thread: key, User: "bob", At: "m1", To: "t2"}
		if _, err := w.box.Fork(t.Context(), f); !errors.Is(err, thread.ErrForbidden) {
			t.Errorf("another user's fork: %v", err)
		}
		f.User = "ann"
		if _, err := w.box.Fork(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		if head := w.head(t, core.ThreadKey{Tenant: "t", Thread: "t2"}); head.Owner != "ann" {
			t.Errorf("the fork belongs to %q", head.Owner)
		}
		f.User = "bob"
		if _, err := w.box.Fork(t.Context(), f); !errors.Is(err, thread.ErrForbidden) {
			t.Errorf("another user's fork of the same name: %v", err)
		}
	})
}
