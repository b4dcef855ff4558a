package host

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// steppingOver is the work of a call that follows theRun on roundKey, in a process that has its
// store alone, and the watch of its thread.
func steppingOver(t *testing.T, over store.Backend) (stepping, *watch, *Host) {
	t.Helper()
	r, _ := program(t, func(c *Options) {
		withoutWorkers(c)
		c.Store = over
	})
	f := r.streams.follower(roundKey, core.ID{}, newStream(r.env, theRun, ListenerFunc(discard)))
	w := stepping{worker: r.worker, queue: r.queue, waiter: r.queue.join(roundKey), follower: f}
	joined := r.watches.join(roundKey)
	t.Cleanup(joined.quit)
	return w, joined, r
}

// A call without work waits until its thread is due, or another one; if it was due and could
// not be claimed, for half a second. News end every wait.
func TestHowLongACallWithoutWorkWaits(t *testing.T) {
	for name, test := range map[string]struct {
		own, other time.Duration // when they are due; 0: never
		news       time.Duration // 0: none
		want       time.Duration
	}{
		"for news alone":         {0, 0, time.Hour, time.Hour},
		"for its thread":         {3 * time.Second, 0, time.Hour, 3 * time.Second},
		"for another":            {0, 3 * time.Second, time.Hour, 3 * time.Second},
		"for its thread first":   {3 * time.Second, 4 * time.Second, time.Hour, 3 * time.Second},
		"for another first":      {4 * time.Second, 3 * time.Second, time.Hour, 3 * time.Second},
		"it is due":              {-time.Second, 0, time.Hour, 500 * time.Millisecond},
		"it is due now":          {time.Millisecond / 2, 0, time.Hour, 500 * time.Millisecond},
		"it is due soon":         {100 * time.Millisecond, 0, time.Hour, 100 * time.Millisecond},
		"it is due, another too": {-time.Second, 200 * time.Millisecond, time.Hour, 200 * time.Millisecond},
		"news come first":        {3 * time.Second, 4 * time.Second, time.Second, time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, watch, r := steppingOver(t, memory.New())
			defer watch.quit()
			watch.followers++
			began := time.Now()
			head := watch.head
			var other time.Time
			if test.own != 0 {
				head.DueAt = began.Add(test.own).UnixMilli()
			}
			if test.other != 0 {
				other = began.Add(test.other)
			}
			timer := time.AfterFunc(test.news, func() { r.queue.moved(roundKey) })
			if err := w.pause(t.Context(), watch, head, other); err != nil {
				t.Error(name, err)
			}
			timer.Stop()
			if took := time.Since(began); took != test.want {
				t.Errorf("%s: %s, want %s", name, took, test.want)
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			before := time.Now()
			if err := w.pause(ended, watch, thread.Head{}, time.Time{}); err == nil || time.Since(before) != 0 {
				t.Errorf("%s: a call that is over waits, %v", name, err)
			}
		})
	}
}

// A thread that another process has claimed is tried twice a second, as long as its head
// says that it is due; one that is not due is not.
func TestACallTriesItsThreadTwiceASecond(t *testing.T) {
	for name, test := range map[string]struct {
		due  time.Duration // of the head, from now; 0: never
		want int           // attempts in 5.2 s
	}{
		"due":       {-time.Millisecond, 11},
		"due later": {2 * time.Second, 7},
		"never":     {0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			head := thread.Head{Layout: thread.Layout, Schema: 1, Version: 3, Incarnation: 1, Fence: 4, Run: thread.Run{ID: core.ID{8}, Cursor: thread.CursorInfer}, Claim: thread.Claim{Fence: 4, Worker: "other", Lease: began.Add(time.Hour).UnixMilli()}}
			if test.due != 0 {
				head.DueAt = began.Add(test.due).UnixMilli()
			}
			looks := 0
			over := &storetest.Faulty{Backend: memory.New(), OnHead: func(context.Context, core.ThreadKey) (thread.Head, error) { looks++; return head, nil }}
			w, watch, r := steppingOver(t, over)
			beside := r.worker.permits.newPermit() // of other work: each attempt reads the head before its claim
			if !r.worker.permits.tryAcquire(beside, false, false) {
				t.Fatal("no permit")
			}
			r.watches.moved(roundKey, head)
			ctx, cancel := context.WithTimeout(t.Context(), 5200*time.Millisecond)
			defer cancel()
			got, err := w.after(ctx, watch, head)
			if !errors.Is(err, context.DeadlineExceeded) || differs(got, head) || time.Since(began) != 5200*time.Millisecond || r.Stats().Working != 1 {
				t.Errorf("%s: head %d, %v after %s, %d at work", name, got.Version, err, time.Since(began), r.Stats().Working)
			}
			if looks != test.want {
				t.Errorf("%s: %d attempts, want %d", name, looks, test.want)
			}
		})
	}
}

// Another head is news at once, an error ends the wait, and so does its context.
func TestWhatEndsTheWorkOfACall(t *testing.T) {
	no := errors.New("no")
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(no)
	for name, test := range map[string]struct {
		ctx  context.Context
		head thread.Head
		err  error // of the watch
		want thread.Head
		fail error
	}{
		"another head":           {t.Context(), at(5, 1), nil, at(5, 1), nil},
		"an unreadable head":     {t.Context(), at(4, 1), no, at(4, 1), no},
		"a context that is over": {ended, at(4, 1), nil, at(4, 1), no},
	} {
		w, watch, _ := steppingOver(t, memory.New())
		watch.head, watch.failed = test.head, test.err
		got, err := w.after(test.ctx, watch, at(4, 1))
		if differs(got, test.want) || !errors.Is(err, test.fail) || (err == nil) != (test.fail == nil) {
			t.Errorf("%s: %d, %v", name, got.Version, err)
		}
	}
}

// A hint of another thread that cannot be worked off is kept, for a second.
func TestAHintThatFailsIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, watch, _ := steppingOver(t, memory.New())
		defer watch.quit()
		watch.followers++
		bad := core.WakeUp{Tenant: "acme", Thread: "a#b"}
		if _, err := w.workOff(t.Context(), watch, watch.head, Delivery{Hint: bad, Receives: 1}); err != nil {
			t.Error(err)
		}
		if d, due, at := w.queue.pop(); due || time.Until(at) != time.Second {
			t.Errorf("%+v is due %t, in %s", d, due, time.Until(at))
		}
		time.Sleep(time.Second)
		if d, due, _ := w.queue.pop(); !due || d.Hint != bad || d.Receives != 2 {
			t.Errorf("%+v is due %t", d, due)
		}
	})
}

// logged stores records of the log of roundKey, a run's record for each run, and the head
// over them, and returns a runtime there.
func logged(t *testing.T, head thread.Head, runs []core.Run, log ...thread.Entry) *Host {
	t.Helper()
	backend := memory.New()
	put := func(name string, payload []byte, err error) {
		t.Helper()
		if err == nil {
			err = backend.Put(t.Context(), roundKey, store.Record{Name: name, Fence: 1, Version: 1, Payload: payload})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, e := range log {
		payload, err := thread.Records{}.EncodeEntry(&e)
		put(store.LogName(uint64(i+1)), payload, err)
	}
	for _, r := range runs {
		payload, err := thread.Records{}.EncodeRun(&thread.RunRecord{Run: r})
		put(recordname.Run(r.ID), payload, err)
	}
	head.Layout, head.Schema, head.Version, head.CommitID, head.Incarnation, head.Fence, head.Seq = thread.Layout, 1, 1, core.ID{9}, 1, 1, uint64(len(log))
	if outcome, err := backend.Commit(t.Context(), roundKey, store.Commit{Head: head}); err != nil || !outcome.Written {
		t.Fatal(err)
	}
	r, _ := program(t, func(c *Options) { c.Store = backend })
	return r
}

// The result of a run is what its own records have, whatever came before and after it. One
// that waits has said what its last turn says.
func TestTheResultOfARun(t *testing.T) {
	another := core.ID{8}
	said := func(run core.ID, id string, role core.Role) thread.Entry {
		return thread.Entry{Run: run, Message: &core.Message{ID: id, RunID: run, Role: role, Content: []core.Block{{Type: core.BlockText, Text: id}}}}
	}
	log := []thread.Entry{
		said(another, "before", core.RoleUser), said(theRun, "asked", core.RoleUser), {Run: theRun, Step: 1}, said(theRun, "turn", core.RoleAssistant), said(theRun, "told", core.RoleUser),
		said(another, "after", core.RoleUser), said(theRun, "never", core.RoleUser), // a run has no records behind another's
	}
	for name, test := range map[string]struct {
		status   core.RunStatus
		first    uint64
		head     thread.Run
		want     string // text
		messages []string
		end      core.TerminationType
	}{
		"done":                   {core.RunDone, 2, thread.Run{}, "said", []string{"asked", "turn", "told"}, core.TerminationNatural},
		"it waits":               {core.RunWaiting, 2, thread.Run{ID: theRun, Status: thread.Waiting, Cursor: thread.CursorTools}, "turn", []string{"asked", "turn", "told"}, core.TerminationSuspended},
		"it goes on":             {core.RunRunning, 2, thread.Run{ID: theRun, Cursor: thread.CursorInfer}, "", []string{"asked", "turn", "told"}, ""},
		"it ended before a step": {core.RunDone, 0, thread.Run{}, "said", nil, core.TerminationNatural},
	} {
		record := core.Run{ID: theRun, ThreadID: roundKey.Thread, AgentID: "demo", Status: test.status, FirstSeq: test.first, Response: "said", Usage: core.Usage{Output: 5}, Termination: &core.Termination{Type: core.TerminationNatural}}
		r := logged(t, thread.Head{Run: test.head}, []core.Run{record}, log...)
		one := r.player.follow(roundKey, theRun, core.ID{}, core.Identity{Tenant: "acme"}, ListenerFunc(discard))
		var got Result
		if err := r.player.readResult(t.Context(), one, &got); err != nil {
			t.Fatal(name, err)
		}
		var ids []string
		for _, m := range got.Messages {
			ids = append(ids, m.ID)
		}
		if diff := cmp.Diff(test.messages, ids); diff != "" || got.Text != test.want || got.Termination.Type != test.end || got.Usage.Output != 5 || got.Run.ID != theRun {
			t.Errorf("%s: %q, %+v, %+v (-want +got):\n%s", name, got.Text, got.Termination, got.Run, diff)
		}
	}
	r := logged(t, thread.Head{}, nil, log...)
	one := r.player.follow(roundKey, core.ID{5}, core.ID{}, core.Identity{Tenant: "acme"}, ListenerFunc(discard))
	if err := r.player.readResult(t.Context(), one, &Result{}); core.CodeOf(err) != core.CodeNotFound || err.Error() != "run "+(core.ID{5}).String()+" not found" {
		t.Errorf("a run that is not there: %v", err)
	}
	// A wait that is over since: its tickets are gone, and it is not the head's run any more.
	r = logged(t, thread.Head{Run: thread.Run{ID: another, Cursor: thread.CursorInfer}}, []core.Run{{ID: theRun, ThreadID: roundKey.Thread, Status: core.RunWaiting, FirstSeq: 2}}, log...)
	one = r.player.follow(roundKey, theRun, core.ID{}, core.Identity{Tenant: "acme"}, ListenerFunc(discard))
	var got Result
	if err := r.player.readResult(t.Context(), one, &got); err != nil || got.Termination.Type == core.TerminationSuspended || got.Text != "" {
		t.Errorf("a wait that is over: %+v, %v", got, err)
	}
}

// Beside an error no sequence counts.
func TestTheRecordOfARevision(t *testing.T) {
	r := logged(t, thread.Head{}, nil, thread.Entry{Run: theRun, Revision: 3, Patch: record(1, 3, "/thread/k", "1").Patch}, thread.Entry{Run: theRun}, thread.Entry{Run: theRun, Revision: 6, Patch: record(3, 6, "/thread/k", "2").Patch})
	head, err := r.mailbox.Head(t.Context(), roundKey)
	if err != nil {
		t.Fatal(err)
	}
	r.reads.store = &storetest.Faulty{Backend: r.reads.store, Around: func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		if op.Method == "LogBackwards" && ctx.Value(roundKey) != nil {
			return errAway
		}
		return do(ctx)
	}}
	if seq, err := r.reads.seqOf(context.WithValue(t.Context(), roundKey, true), roundKey, head, 3); seq != 0 || !errors.Is(err, errAway) {
		t.Errorf("a log that cannot be read: record %d, %v", seq, err)
	}
	for revision, want := range map[uint64]uint64{0: 0, 1: 0, 3: 1, 4: 0, 6: 3, 7: 0} {
		seq, err := r.reads.seqOf(t.Context(), roundKey, head, revision)
		if seq != want || (err == nil) != (revision == 0 || revision == 3 || revision == 6) {
			t.Errorf("revision %d: record %d, %v", revision, seq, err)
		}
	}
}

// What a follower is made of: it reads and writes as its process does.
func TestWhatAFollowerIsMadeOf(t *testing.T) {
	records := thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 2}}
	r, _ := program(t, func(c *Options) { c.Records, c.FollowInterval = records, 100*time.Millisecond })
	f := r.streams.follower(roundKey, core.ID{5}, newStream(r.env, theRun, ListenerFunc(discard)))
	if f.unsaid.records != records || f.unsaid.demand.records != records || r.reads.records != records {
		t.Errorf("records %+v, %+v, %+v", f.unsaid.records, f.unsaid.demand.records, r.reads.records)
	}
	if f.unsaid.worker != "w7" || f.unsaid.every != 100*time.Millisecond || f.unsaid.key != roundKey || f.unsaid.run != theRun || f.unsaid.demand.run != theRun || f.unsaid.demand.key != roundKey {
		t.Errorf("unsaid %+v", &f.unsaid)
	}
	source := f.source.(*storedRun)
	if source.key != roundKey || source.run != theRun || source.dispatch != (core.ID{5}) || f.key != roundKey || f.stream.run != theRun || f.watches != r.watches {
		t.Errorf("source %+v", source)
	}
}
