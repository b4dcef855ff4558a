package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// The patience of a stream begins once, where it has shown what was there: heads that come
// later do not prolong it.
func TestPatienceBeginsOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := following(&told{log: []thread.Entry{saysText(1, "one"), saysText(2, "two"), saysText(3, "three"), saysText(4, "four")}}, &hearer{})
		head := runningAt(1, 1, thread.CursorInfer)
		f.limits.patience = 10 * time.Second
		f.stream.audience.listener = &hearer{ready: func(ctx context.Context) error {
			if head.Version == 4 {
				<-ctx.Done() // a reader that takes nothing more
			}
			return ctx.Err()
		}}
		f.watches.read = func(context.Context, core.ThreadKey) (thread.Head, error) { return head, nil }
		began := time.Now()
		err := f.follow(t.Context(), func(ctx context.Context, _ *watch, _ thread.Head) (thread.Head, error) {
			if env.System().Sleep(ctx, 3*time.Second) != nil {
				return head, context.Cause(ctx)
			}
			head.Version++
			head.Seq++
			return head, nil
		})
		if took := time.Since(began); err != nil || took != 10*time.Second || head.Version != 4 {
			t.Errorf("it ends after %s with head %d, %v", took, head.Version, err)
		}
	})
}

// Whatever event a listener fails at, the look that shows it fails, and shows nothing more.
func TestALookEndsWithItsListener(t *testing.T) {
	no := errors.New("no")
	for name, test := range map[string]struct {
		s    func() *told
		head thread.Head
		n    int // events
	}{
		"a log": {func() *told {
			return &told{state: state.Snapshot{}.With(4, valuesOf("1")), of: theRun, log: []thread.Entry{saysText(1, "one"), saysText(2, "two")}}
		}, runningAt(2, 1, thread.CursorInfer), 10},
		"an open round": {func() *told {
			return &told{of: theRun, log: []thread.Entry{callsTwo()}, open: []openItem{{result: openResult{call: 0, entry: resultOf("a")}}, {ticket: asking("s")}}}
		}, func() thread.Head {
			head := runningAt(1, 1, thread.CursorTools)
			head.Run.Base, head.Run.Calls, head.Tickets = 2, []thread.CallStatus{thread.CallDone, thread.CallSuspended}, thread.Tickets{{ID: 1}}
			return head
		}(), 12},
	} {
		for at := 1; at <= test.n+1; at++ {
			h := &hearer{wants: wantsState, failed: no, at: at}
			_, _, err := following(test.s(), h).show(t.Context(), test.head)
			if at > 1 && at <= test.n && !errors.Is(err, no) || at > test.n && err != nil || len(h.events) != min(at, test.n) {
				t.Errorf("%s, event %d: %v, %d events: %q", name, at, err, len(h.events), h.lines())
			}
		}
	}
	for _, at := range []int{2, 6} { // the first event of a record, and its last but one
		s := newStream(env.System(), theRun, &hearer{failed: no, at: at})
		s.begin(core.Run{ID: theRun, FirstSeq: 1})
		if err := s.showRecord(threadlog.Entry{Seq: 1, Entry: callsTwo()}); !errors.Is(err, no) || s.place.next != 1 {
			t.Errorf("a record, event %d: %v, next %d", at, err, s.place.next)
		}
	}
	s := newStream(env.System(), theRun, &hearer{failed: no, at: 2})
	word := core.Event{Type: core.EventTextDelta, Delta: "x"}
	if err := s.showUnsaid([]core.Event{word, word, word}); !errors.Is(err, no) {
		t.Errorf("words: %v", err)
	}
}

// A state that cannot be known is not looked for again before the next record; one that is
// owed behind the last record is shown there.
func TestTheStateBehindTheLastRecord(t *testing.T) {
	patch := saysText(1, "one")
	patch.Patch, patch.Revision = state.Patch{{Op: "add", Path: "/thread/k", Value: json.RawMessage("1")}}, 5
	s := &told{unknown: true, log: []thread.Entry{patch, saysText(2, "two")}}
	f := following(s, &hearer{wants: wantsState})
	f.stream.audience.started = true
	for version, want := range []string{"run log state1", "run", "run log state2"} {
		s.reads = nil
		if _, _, err := f.show(t.Context(), runningAt(uint64(1+version/2), uint64(version+1), thread.CursorInfer)); err != nil || strings.Join(s.reads, " ") != want {
			t.Errorf("look %d: %v, reads %q, want %s", version, err, s.reads, want)
		}
	}
	s = &told{record: core.Run{ID: theRun, Status: core.RunRunning}}
	f = following(s, &hearer{wants: wantsState})
	f.stream.audience.started, f.stream.state.again, f.stream.place.next = true, true, 2
	if _, _, err := f.show(t.Context(), runningAt(1, 1, thread.CursorInfer)); err != nil || strings.Join(s.reads, " ") != "run" {
		t.Errorf("before its first record: %v, reads %q", err, s.reads)
	}
	h := &hearer{wants: wantsState}
	s = &told{state: state.Snapshot{}.With(4, valuesOf("1")), of: theRun, log: []thread.Entry{saysText(1, "one")}}
	f = following(s, h)
	f.stream.audience.started, f.stream.state.again, f.stream.place.next = true, true, 2
	if _, _, err := f.show(t.Context(), runningAt(1, 1, thread.CursorInfer)); err != nil || h.brief() != `state:{"thread":{"k":1},"run":{}}` && h.brief() != `run_start state:{"thread":{"k":1},"run":{}}` || strings.Join(s.reads, " ") != "run state1" {
		t.Errorf("after a void step: %v, shown %q, reads %q", err, h.brief(), s.reads)
	}
}

// once fails at its first read of the log.
type once struct {
	*told
	read bool
}

func (s *once) Entries(ctx context.Context, from, to uint64) iter.Seq2[threadlog.Entry, error] {
	if s.read {
		return s.told.Entries(ctx, from, to)
	}
	s.read = true
	return func(yield func(threadlog.Entry, error) bool) { yield(threadlog.Entry{}, errAway) }
}

// A follower that cannot read the turn before its place shows nothing of what comes next.
func TestATurnThatCannotBeRead(t *testing.T) {
	h := &hearer{}
	s := &told{log: []thread.Entry{callsTwo(), resultOf("a")}}
	f := following(s, h)
	f.source = &once{told: s}
	d := decisions{head: runningAt(2, 2, thread.CursorInfer), waits: []mailbox.Decided{decidedAgain(1, "a")}}
	if err := (&streams{reads: &reader{store: memory.New()}}).resume(t.Context(), f, d); !errors.Is(err, errAway) || len(h.events) > 0 {
		t.Errorf("behind decisions: %v, shown %q", err, h.brief())
	}
	f = following(s, h)
	f.source = &once{told: s}
	f.stream.skipTo(runningAt(1, 1, thread.CursorTools))
	if _, over, err := f.show(t.Context(), runningAt(2, 2, thread.CursorInfer)); over || !errors.Is(err, errAway) || h.brief() != "run_start" {
		t.Errorf("%v, shown %q", err, h.brief())
	}
}

// What is read of an open round can be left at each item, and ends with the first error.
func TestWhatIsReadOfAnOpenRound(t *testing.T) {
	r := logged(t, thread.Head{Run: thread.Run{ID: theRun, Cursor: thread.CursorTools, Step: 1, Base: 2, Calls: []thread.CallStatus{thread.CallDone, thread.CallDone}}}, []core.Run{{ID: theRun, ThreadID: "t", FirstSeq: 1}}, callsTwo())
	over := &storetest.Faulty{Backend: r.reads.store}
	r, _ = program(t, func(c *Options) { c.Store = over })
	payload, err := thread.Records{}.EncodeEntry(new(resultOf("a")))
	if err != nil {
		t.Fatal(err)
	}
	if err := over.Put(t.Context(), roundKey, store.Record{Name: store.LogName(2), Fence: 1, Version: 1, Payload: payload}); err != nil {
		t.Fatal(err)
	}
	if err := over.Put(t.Context(), roundKey, store.Record{Name: store.LogName(3), Fence: 1, Version: 1, Payload: payload}); err != nil {
		t.Fatal(err)
	}
	head, err := r.mailbox.Head(t.Context(), roundKey)
	if err != nil {
		t.Fatal(err)
	}
	source := &storedRun{reads: r.reads, mailbox: r.mailbox, key: roundKey, run: theRun}
	read := func(most int) (all []string) {
		for i, err := range source.Open(t.Context(), head) {
			if all = append(all, fmt.Sprint(i.ticket != nil, " ", err)); len(all) == most {
				break
			}
		}
		return all
	}
	results := []string{"false <nil>", "false <nil>"}
	for most, want := range map[int][]string{1: results[:1], 2: results, 9: results} {
		if diff := cmp.Diff(want, read(most)); diff != "" {
			t.Errorf("at most %d (-want +got):\n%s", most, diff)
		}
	}
	if err := over.Put(t.Context(), roundKey, store.Record{Name: store.LogName(4), Fence: 1, Version: 1, Payload: payload}); err != nil {
		t.Fatal(err)
	}
	over.OnLog = func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
		return over.Backend.Log(ctx, key, from-1, to+1) // too many
	}
	if diff := cmp.Diff(results, read(9)); diff != "" {
		t.Errorf("records around the round (-want +got):\n%s", diff)
	}
	over.OnLog, over.OnRecord = nil, func(_ storetest.Operation, found store.Record) store.Record {
		found.Payload = []byte("{")
		return found
	}
	if got := read(9); len(got) != 1 || !strings.HasPrefix(got[0], "false log of acme/t at 2: ") {
		t.Errorf("a damaged result: %q", got)
	}
	over.OnRecord, head.Tickets = nil, thread.Tickets{{ID: 1, Call: 1}} // of which there is no record
	if got := read(9); len(got) != 3 || got[2] == "false <nil>" {
		t.Errorf("a ticket that is lost: %q", got)
	}
	over.OnLog = func(context.Context, core.ThreadKey, uint64, uint64) iter.Seq2[store.Record, error] {
		return func(yield func(store.Record, error) bool) { yield(store.Record{}, errAway) }
	}
	if diff := cmp.Diff([]string{"false read log of acme/t: the store is away"}, read(9)); diff != "" {
		t.Errorf("a log that cannot be read (-want +got):\n%s", diff)
	}
}

// Who has nothing to say waits for no reader, and nothing is said when the time is over.
func TestWordsWhenTheTimeIsOver(t *testing.T) {
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errAway)
	attempt := live.Attempt{Run: theRun, Step: 1, Fence: 3}
	h := &hearer{ready: func(ctx context.Context) error { return ctx.Err() }}
	s := &spoken{}
	u, _ := hears(s, h)
	if here, err := u.hear(ended, attempt); here || err != nil || h.asked != 0 {
		t.Errorf("nothing: here %t, %v, waited for %d times", here, err, h.asked)
	}
	u.listen = func(core.ThreadKey, *live.Hearing) ([]core.Event, bool) {
		return []core.Event{{Type: core.EventTextDelta, Delta: "x"}}, true
	}
	if here, err := u.hear(ended, attempt); !here || !errors.Is(err, errAway) || len(h.events) > 0 {
		t.Errorf("a word: here %t, %v, shown %q", here, err, h.brief())
	}
	s.says(t, attempt, 0, "a")
	if err := u.showChunks(ended, attempt); !errors.Is(err, errAway) || len(h.events) > 0 || u.next != 0 {
		t.Errorf("a chunk: %v, shown %q, next %d", err, h.brief(), u.next)
	}
	s.chunks[0].Payload = []byte("{")
	asked := h.asked
	if err := u.showChunks(t.Context(), attempt); err != nil || h.asked != asked || !u.deaf || u.next != 0 {
		t.Errorf("a damaged chunk: %v, waited for %d times, next %d", err, h.asked-asked, u.next)
	}
	ws := newWatches(u.env, nil, time.Hour, u.log)
	a := ws.join(roundKey)
	a.failed = errAway
	r, _ := program(t, nil)
	u.demand = demand{env: u.env, store: r.reads.store, mailbox: r.mailbox, agents: r.agents, key: roundKey, run: theRun}
	if _, err := u.afterChunks(t.Context(), t.Context(), a, thread.Head{Version: 4}, a.spoken(), attempt, "demo"); !errors.Is(err, errAway) {
		t.Errorf("a thread that cannot be read: %v", err)
	}
}

// The tickets of a round are read until their reader has enough.
func TestTheTicketsOfARoundCanBeLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := waitsForTwo(t)
		head, err := a.mailbox.Head(t.Context(), roundKey)
		if err != nil {
			t.Fatal(err)
		}
		source := &storedRun{reads: a.reads, mailbox: a.mailbox, key: roundKey, run: a.run}
		for most := 1; most <= 2; most++ {
			n := 0
			for i, err := range source.Open(t.Context(), head) {
				if n++; i.ticket == nil || err != nil {
					t.Errorf("item %d: %+v, %v", n, i, err)
				}
				if n == most {
					break
				}
			}
			if n != most {
				t.Errorf("%d tickets, want %d", n, most)
			}
		}
	})
}
