package host_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/feed"
	"github.com/reveille-run/reveille/core/store/memory"
)

// In memory a run ends with the call that waits for it, whoever has submitted it: no process
// would go on with it.
func TestARunInMemoryEndsWithTheCallThatAwaitsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSolo(t, soloParts())
		receipt, err := r.Submit(t.Context(), submission("t1", "slow: 50"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		result, err := r.Await(ctx, local, receipt.RunID)
		want := "run " + receipt.RunID.String() + " was cancelled: context deadline exceeded"
		if fmt.Sprint(err) != want || !errors.Is(err, context.DeadlineExceeded) || result.Termination.Type != core.TerminationCancelled {
			t.Errorf("%v, %+v; want %s", err, result.Termination, want)
		}
		again, err := r.Await(t.Context(), local, receipt.RunID) // of a run that is over
		if err != nil || again.Termination.Type != core.TerminationCancelled || again.Run.ID != receipt.RunID || again.Thread != "t1" {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

func TestAwaitRefusesWhatItsCallerMayNotRead(t *testing.T) {
	r := onStore(t, memory.New(), soloParts())
	s := submission("t1", "fail")
	s.User = "ann"
	receipt, err := r.Submit(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	unknown := core.ID{1}
	for name, test := range map[string]struct {
		ctx  context.Context
		id   core.Identity
		run  core.ID
		code core.Code
		want string
	}{
		"another user":           {t.Context(), core.Identity{Tenant: "local", User: "bob"}, receipt.RunID, "not_found", "run " + receipt.RunID.String() + " not found"},
		"another tenant":         {t.Context(), core.Identity{Tenant: "acme", User: "ann"}, receipt.RunID, "not_found", "run " + receipt.RunID.String() + " not found"},
		"no such run":            {t.Context(), core.Identity{Tenant: "local", User: "ann"}, unknown, "not_found", "run " + unknown.String() + " not found"},
		"a context that is over": {gone, core.Identity{Tenant: "local", User: "ann"}, receipt.RunID, "internal", "wait for run " + receipt.RunID.String() + ": context canceled"},
	} {
		if _, err := r.Await(test.ctx, test.id, test.run); core.CodeOf(err) != test.code || fmt.Sprint(err) != test.want {
			t.Errorf("%s: %v with code %s, want %s with code %s", name, err, core.CodeOf(err), test.want, test.code)
		}
	}
	_, err = r.Await(t.Context(), core.Identity{Tenant: "local", User: "ann"}, receipt.RunID)
	if failed, ok := errors.AsType[*host.RunError](err); !ok || failed.Run != receipt.RunID || failed.Termination.Code != "model" || failed.Unwrap() == nil {
		t.Errorf("a run that fails: %v", err)
	}
}

// In a host whose hints go to a queue of its own, Await takes no step.
func TestAwaitInAHostFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newRig(t)
		r := g.process("w", g.store)
		receipt, err := r.Submit(t.Context(), submission("t1", "hello"))
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		time.AfterFunc(time.Minute, func() {
			hint, _ := g.queue.Receive()
			if err := r.WorkLocal(t.Context(), hint); err != nil {
				t.Error(err)
			}
		})
		result, err := r.Await(t.Context(), local, receipt.RunID)
		if err != nil || result.Text != "You said: hello" || time.Since(began) != time.Minute {
			t.Errorf("%q after %s, %v", result.Text, time.Since(began), err)
		}
	})
}

// A loop over a followed run has its events from the first, and takes its steps.
func TestIterateOverARunThatIsFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := onStore(t, memory.New(), soloParts(), func(c *host.Options) {})
		receipt, err := r.Submit(t.Context(), submission("t1", "echo: hi"))
		if err != nil {
			t.Fatal(err)
		}
		text, last := "", core.EventType("")
		for e, err := range feed.Iterate(t.Context(), steady(), func(ctx context.Context, emit func(core.Event) error) error {
			return r.Follow(ctx, local, receipt.RunID, host.ListenerFunc(emit))
		}) {
			if err != nil {
				t.Fatal(err)
			}
			text, last = text+e.Delta, e.Type
		}
		if want := `{"text":"hi"}Echo: hi`; text != want || last != core.EventRunFinish {
			t.Errorf("%q, the last event is %s; want %q", text, last, want)
		}
		refused := core.ID{1}
		for e, err := range feed.Iterate(t.Context(), steady(), func(ctx context.Context, emit func(core.Event) error) error {
			return r.Follow(ctx, local, refused, host.ListenerFunc(emit))
		}) {
			if core.CodeOf(err) != core.CodeNotFound || e.Type != "" {
				t.Errorf("%+v, %v", e, err)
			}
		}
	})
}
