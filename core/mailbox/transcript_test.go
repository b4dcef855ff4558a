package mailbox_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// transcript writes down what a service asks of its store and its queue.
type transcript struct {
	store.Backend
	text strings.Builder
	runs []mailbox.Receipt
	seen map[core.ID]string // what was last written down of a run, by dispatch
	box  *mailbox.Service
}

func (r *transcript) line(format string, args ...any) { fmt.Fprintf(&r.text, format+"\n", args...) }

// listen writes down what goes by. Only what the service asks comes this way.
func (r *transcript) listen() (store.Backend, mailbox.Waker) {
	way := &storetest.Faulty{Backend: r.Backend}
	way.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
		r.line("  head of %s", key)
		return r.Backend.Head(ctx, key)
	}
	way.OnGet = func(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
		record, ok, err := r.Backend.Get(ctx, key, name)
		r.line("  get %s: %v", name, ok)
		return record, ok, err
	}
	way.OnPointer = func(ctx context.Context, tenant, name string) ([]byte, bool, error) {
		value, ok, err := r.Backend.Pointer(ctx, tenant, name)
		r.line("  pointer %s of %s: %v", name, tenant, ok)
		return value, ok, err
	}
	way.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		outcome, err := r.Backend.Commit(ctx, key, c)
		r.line("  commit %s version %d: written %v, %d taken, error %v", key, c.Head.Version, outcome.Written, len(outcome.Taken), err)
		for _, p := range c.Pointers {
			r.line("    %s for %s: %s", p.Name, p.TTL, p.Value)
		}
		for _, p := range c.Records {
			r.line("    %s fence %d version %d until %d: %s", p.Name, p.Fence, p.Version, p.Expires, p.Payload)
		}
		return outcome, err
	}
	return way, &mailboxtest.Queue{OnWake: func(hint core.WakeUp, delay time.Duration) error {
		b, err := json.Marshal(hint)
		r.line("  wake %s after %s", b, delay)
		return err
	}}
}

// do writes down an operation, and the runs that look different after it.
func (r *transcript) do(t *testing.T, what string, operation func() (any, error)) {
	t.Helper()
	r.line("%s", what)
	result, err := operation()
	if receipt, ok := result.(mailbox.Receipt); ok && err == nil && !receipt.Duplicate {
		r.runs = append(r.runs, receipt)
	}
	b, failed := json.Marshal(result)
	if failed != nil {
		t.Fatal(failed)
	}
	r.line("= %s, error %v", b, err)
	for _, receipt := range r.runs {
		r.status(t, receipt)
	}
	r.line("")
}

func (r *transcript) status(t *testing.T, receipt mailbox.Receipt) {
	t.Helper()
	head, err := r.Backend.Head(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	before := r.text.String()
	r.text.Reset()
	run, ok, err := r.box.Run(t.Context(), key, head, receipt.RunID, receipt.DispatchID)
	b, failed := json.Marshal(run)
	if failed != nil {
		t.Fatal(failed)
	}
	if !ok {
		b = nil
	}
	r.line("  run %s: %s, %v, %v", receipt.RunID, b, ok, err)
	now := r.text.String()
	r.text.Reset()
	r.text.WriteString(before)
	if r.seen[receipt.DispatchID] != now {
		r.seen[receipt.DispatchID] = now
		r.text.WriteString(now)
	}
}

// shortID is what tells the ids of a transcript apart: the time and a number.
var shortID = regexp.MustCompile(`00dc6([0-9a-f]{3}-[0-9a-f]{4})-7000-8000-0{10}([0-9a-f]{2})`)

// What a thread's life asks of the store and of the queue, to the byte: every
// read, every name and payload that is written, every hint, and what callers see.
// Stored forms are for good, and reads are what an operation costs.
func TestTranscript(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &transcript{Backend: memory.New(), seen: map[core.ID]string{}}
		outside := env.System()
		var serial byte
		outside.Random = func(b []byte) {
			clear(b)
			serial++
			b[len(b)-1] = serial
		}
		outside.Reach = func(p env.Point) func() {
			r.line("  at %s", p)
			return func() {}
		}
		outside.Start = func(f func()) { f() }
		backend, waker := r.listen()
		var err error
		r.box, err = mailbox.New(mailbox.Options{Env: outside, Store: backend, Waker: waker, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		r.life(t)
		const file = "testdata/transcript.txt"
		got := shortID.ReplaceAllString(r.text.String(), "$1/$2")
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("run with -update if this is meant (-want +got):\n%s", diff)
		}
	})
}

// life is what happens to the thread.
func (r *transcript) life(t *testing.T) {
	t.Helper()
	submit := func(what string, change func(*mailbox.Submission)) (got mailbox.Receipt) {
		t.Helper()
		s := input(what, "")
		change(&s)
		r.do(t, "submit "+what, func() (any, error) {
			var err error
			got, err = r.box.Submit(t.Context(), s)
			return got, err
		})
		return got
	}
	plain := func(*mailbox.Submission) {}
	keyed := func(s *mailbox.Submission) { s.Key.Value = "k" }
	steer := func(s *mailbox.Submission) { s.Mode, s.Key.Value = mailbox.ModeSteer, "s" }
	claim := func(what string) (head thread.Head) {
		t.Helper()
		r.do(t, "claim "+what, func() (any, error) {
			var claimed bool
			var err error
			head, claimed, err = r.box.Claim(t.Context(), hint, false)
			return fmt.Sprintf("%v %+v", claimed, head.Claim), err
		})
		return head
	}
	commit := func(what string, change thread.Change) {
		t.Helper()
		r.do(t, what, func() (any, error) {
			_, result, err := r.box.Commit(t.Context(), key, thread.Head{}, change, nil)
			return result.Outcome.String(), err
		})
	}

	submit("first", keyed)
	submit("first", keyed) // again
	second := submit("second", plain)
	head := claim("the first")
	claim("again")
	r.do(t, "edit what was claimed", func() (any, error) {
		return nil, r.box.Edit(t.Context(), key, r.runs[0].DispatchID, []core.Message{core.UserMessage("late")})
	})
	steered := submit("steered", steer)
	submit("steered", steer) // again
	r.do(t, "edit the steered input", func() (any, error) {
		return nil, r.box.Edit(t.Context(), key, steered.DispatchID, []core.Message{core.UserMessage("edited").WithID("m1")})
	})
	time.Sleep(time.Second)
	commit("give the claim back for 10 s", thread.Nack{Fence: 1, AvailableAt: time.Now().Add(10 * time.Second).UnixMilli()})
	claim("too early")
	time.Sleep(10 * time.Second)
	head = claim("in time")
	commit("the first run ends beside unread input", thread.CommitStep{Fence: head.Claim.Fence, Outcome: thread.Done, Seq: 2})
	submit("steered", steer) // again
	r.do(t, "locate the steered input's run", func() (any, error) {
		at, dispatch, ok, err := r.box.Locate(t.Context(), "t", steered.DispatchID)
		return []any{at, dispatch, ok}, err
	})
	r.do(t, "cancel the second", func() (any, error) { return r.box.Cancel(t.Context(), key, second.RunID) })
	head = claim("what was steered")
	unread := submit("more", func(s *mailbox.Submission) { s.Mode = mailbox.ModeSteer })
	r.do(t, "retract it", func() (any, error) { return nil, r.box.Retract(t.Context(), key, unread.DispatchID) })
	submit("instead", func(s *mailbox.Submission) { s.Mode = mailbox.ModeInterrupt })
	submit("refused", func(s *mailbox.Submission) { s.Mode = mailbox.ModeReject })
	r.do(t, "rewake", func() (any, error) { return r.box.Rewake(t.Context(), hint) })
	commit("the superseded run closes", thread.CommitClose{Fence: head.Claim.Fence, From: head.Seq, Seq: head.Seq})
	head = claim("what came instead")
	time.Sleep(time.Minute)
	r.do(t, "sweep", func() (any, error) { return r.box.Sweep(t.Context()) })
	r.do(t, "reclaim", func() (any, error) { return nil, r.box.Reclaim(t.Context(), []core.ThreadKey{key}) })
	head = claim("once more")
	commit("the last run ends", thread.CommitStep{Fence: head.Claim.Fence, From: head.Seq, Outcome: thread.Done, Seq: head.Seq})
	r.do(t, "rewake an idle thread", func() (any, error) { return r.box.Rewake(t.Context(), hint) })
	r.do(t, "submit and claim", func() (any, error) {
		receipt, _, stored, err := r.box.SubmitAndClaim(t.Context(), input("inline", ""))
		if receipt.Running != (stored != nil) {
			t.Errorf("the receipt says %v, and the input is %v", receipt.Running, stored)
		}
		return receipt, err
	})
	commit("the inline run calls", thread.CommitTurn{Fence: 6, Seq: head.Seq + 2, From: head.Seq, Calls: 1, TurnFence: 6})
	commit("the call is suspended", thread.Suspend{Fence: 6, Tickets: []thread.Ticket{{Call: 0, ID: 1}}})
	commit("the run waits", thread.CommitStep{Fence: 6, From: head.Seq + 2, Seq: head.Seq + 2, Outcome: thread.Wait})
	commit("the call is decided", thread.Decide{Run: r.runs[len(r.runs)-1].RunID, Call: 0, Decision: 1, Resume: true})
	r.do(t, "cancel whatever is open", func() (any, error) { return r.box.Cancel(t.Context(), key, core.ID{}) })
}
