package host

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

var roundKey = core.ThreadKey{Tenant: "acme", Thread: "t"}

// round stores what theRun's round after a turn had come to when it waited for tickets, at
// a version of the head.
func storeRound(t *testing.T, to store.Backend, version, turn uint64, merged []int, tickets ...string) {
	t.Helper()
	round := thread.RoundRecord{Turn: turn, Merged: merged}
	for _, id := range tickets {
		round.Waits = append(round.Waits, thread.TicketKey(theRun, id))
	}
	payload, err := thread.Records{}.Encode("round", &round)
	if err == nil {
		err = to.Put(t.Context(), roundKey, store.Record{Name: recordname.Round(theRun, version), Fence: 1, Version: version, Payload: payload})
	}
	if err != nil {
		t.Fatal(err)
	}
}

func keys(ids ...string) map[uint64]bool {
	all := map[uint64]bool{}
	for _, id := range ids {
		all[thread.TicketKey(theRun, id)] = true
	}
	return all
}

func decidedAgain(turn uint64, suspension string) mailbox.Decided {
	return mailbox.Decided{RunID: theRun, Turn: turn, SuspensionID: suspension, Duplicate: true}
}

// What a client was shown when the run last waited for its decision: of the round's records
// the newest that has the ticket, whatever the order of their names.
func TestWhatWasShownAtTheLastWait(t *testing.T) {
	backend := memory.New()
	storeRound(t, backend, 4, 2, nil, "a", "b")
	storeRound(t, backend, 9, 2, []int{0}, "a", "b")
	storeRound(t, backend, 10, 2, []int{0, 1}, "a", "c")
	storeRound(t, backend, 11, 2, []int{0, 1, 2}, "c")
	storeRound(t, backend, 12, 7, []int{5}, "a", "d") // of a later turn
	reader := &reader{store: backend}
	for _, test := range []struct {
		turn       uint64
		suspension string
		results    []int
		tickets    map[uint64]bool
	}{
		{2, "a", []int{0, 1}, keys("a", "c")},
		{2, "b", []int{0}, keys("a", "b")},
		{2, "c", []int{0, 1, 2}, keys("c")},
		{2, "d", nil, keys()},
		{7, "a", []int{5}, keys("a", "d")},
		{7, "d", []int{5}, keys("a", "d")},
		{3, "a", nil, keys()},
	} {
		got, err := reader.lastWait(t.Context(), roundKey, decidedAgain(test.turn, test.suspension))
		if err != nil || !cmp.Equal(test.results, got.results) || !cmp.Equal(test.tickets, got.tickets) {
			t.Errorf("turn %d, %s: %+v, %v", test.turn, test.suspension, got, err)
		}
	}
}

// The rounds of a run are read a hundred at a time, and what is no round is passed over.
func TestTheRoundsOfALongRun(t *testing.T) {
	for _, n := range []uint64{99, 100, 101, 200, 250} {
		backend := memory.New()
		for v := range n {
			storeRound(t, backend, v+1, 2, []int{int(v + 1)}, "a")
		}
		pages := 0
		lists := &storetest.Faulty{Backend: backend, OnRecords: func(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
			if pages++; prefix != "C#"+theRun.String()+"#round#" || limit != 100 {
				t.Errorf("prefix %q, limit %d", prefix, limit)
			}
			found, err := backend.Records(ctx, key, prefix, after, limit)
			if pages == 1 {
				found[0].Name = prefix + "x" // damaged
			}
			return found, err
		}}
		got, err := (&reader{store: lists}).lastWait(t.Context(), roundKey, decidedAgain(2, "a"))
		if err != nil || !cmp.Equal(got.results, []int{int(n)}) || pages != int(n/100)+1 {
			t.Errorf("of %d: %+v, %v, in %d pages", n, got, err, pages)
		}
	}
}

func TestARoundThatCannotBeRead(t *testing.T) {
	backend := memory.New()
	misnamed := &storetest.Faulty{Backend: backend, OnRecord: func(_ storetest.Operation, found store.Record) store.Record {
		found.Name += "x"
		return found
	}}
	storeRound(t, backend, 4, 2, nil, "a")
	if got, err := (&reader{store: misnamed}).lastWait(t.Context(), roundKey, decidedAgain(2, "a")); err != nil || len(got.results) > 0 || len(got.tickets) > 0 {
		t.Errorf("what is named as no round: %+v, %v", got, err)
	}
	lists := &storetest.Faulty{Backend: backend}
	lists.OnRecord = func(_ storetest.Operation, found store.Record) store.Record {
		found.Payload = []byte("{")
		return found
	}
	r := &reader{store: lists}
	if _, err := r.lastWait(t.Context(), roundKey, decidedAgain(2, "a")); core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("a damaged round: %v", err)
	}
	lists.OnRecords = func(context.Context, core.ThreadKey, string, string, int) ([]store.Record, error) {
		return nil, store.ErrThrottled
	}
	_, err := r.lastWait(t.Context(), roundKey, decidedAgain(2, "a"))
	if want := fmt.Sprintf("list rounds of run %s: ", theRun); !errors.Is(err, store.ErrThrottled) || err.Error()[:len(want)] != want {
		t.Errorf("rounds that cannot be listed: %v", err)
	}
	if _, err := r.readShown(t.Context(), roundKey, decisions{waits: []mailbox.Decided{decidedAgain(2, "a")}}, 2); !errors.Is(err, store.ErrThrottled) {
		t.Errorf("what was shown: %v", err)
	}
}

// What every client has seen is what was shown at each of the waits that its decisions met.
func TestWhatWasShownBeforeDecisions(t *testing.T) {
	backend := memory.New()
	storeRound(t, backend, 4, 2, []int{0, 1}, "a", "b")
	storeRound(t, backend, 5, 2, []int{1, 2}, "b", "c")
	first := thread.Head{Version: 7, Run: thread.Run{ID: theRun, Base: 3, Calls: []thread.CallStatus{thread.CallRunning, thread.CallDone, thread.CallDone}}, Tickets: []thread.Ticket{{ID: thread.TicketKey(theRun, "b")}, {ID: thread.TicketKey(theRun, "d")}}}
	elsewhere := first
	elsewhere.Run.Base = 9
	fresh := mailbox.Decided{RunID: theRun, Turn: 2, SuspensionID: "a"}
	for name, test := range map[string]struct {
		d       decisions
		results []int
		tickets map[uint64]bool
	}{
		"nothing is known":           {decisions{waits: []mailbox.Decided{fresh}}, nil, keys()},
		"a new one":                  {decisions{first: first, waits: []mailbox.Decided{fresh}}, []int{1, 2}, keys("b", "d")},
		"one of another round":       {decisions{first: elsewhere, waits: []mailbox.Decided{fresh}}, nil, keys()},
		"one that does not exist":    {decisions{first: thread.Head{Run: thread.Run{Base: 3, Calls: first.Run.Calls}}, waits: []mailbox.Decided{fresh}}, nil, keys()},
		"again":                      {decisions{waits: []mailbox.Decided{decidedAgain(2, "a")}}, []int{0, 1}, keys("a", "b")},
		"again, of an earlier turn":  {decisions{waits: []mailbox.Decided{decidedAgain(1, "a")}}, nil, keys()},
		"two waits":                  {decisions{waits: []mailbox.Decided{decidedAgain(2, "a"), decidedAgain(2, "c")}}, []int{1}, keys("b")},
		"a new one and one again":    {decisions{first: first, waits: []mailbox.Decided{decidedAgain(2, "c"), fresh}}, []int{1, 2}, keys("b")},
		"two waits and a new one":    {decisions{first: first, waits: []mailbox.Decided{decidedAgain(2, "a"), decidedAgain(2, "c"), fresh}}, []int{1}, keys("b")},
		"one again, one not at all":  {decisions{waits: []mailbox.Decided{decidedAgain(2, "a"), decidedAgain(2, "z")}}, nil, keys()},
		"again, beside another turn": {decisions{waits: []mailbox.Decided{decidedAgain(2, "a"), decidedAgain(1, "c")}}, []int{0, 1}, keys("a", "b")},
	} {
		got, err := (&reader{store: backend}).readShown(t.Context(), roundKey, test.d, 2)
		if err != nil || len(got.results) != len(test.results) || len(test.results) > 0 && !cmp.Equal(test.results, got.results) || !cmp.Equal(test.tickets, got.tickets) {
			t.Errorf("%s: %+v, %v, want %v and %v", name, got, err, test.results, test.tickets)
		}
	}
}

// A stream that begins with decisions begins behind the newest turn that they are of: what
// was shown of its round is not shown again.
func TestWhereAStreamOfDecisionsBegins(t *testing.T) {
	backend := memory.New()
	storeRound(t, backend, 4, 1, []int{0}, "a")
	log := []thread.Entry{callsTwo(), resultOf("a"), resultOf("b"), saysText(2, "two")}
	round := runningAt(1, 7, thread.CursorTools)
	round.Run.Base, round.Run.Calls = 2, []thread.CallStatus{thread.CallDone, thread.CallDone}
	half := round
	half.Run.Calls = []thread.CallStatus{thread.CallDone, thread.CallRunning}
	a := openItem{result: openResult{call: 0, entry: resultOf("a")}}
	b := openItem{result: openResult{call: 1, entry: resultOf("b")}}
	for name, test := range map[string]struct {
		d     decisions
		open  []openItem
		want  string
		reads string
	}{
		"the round is open":    {decisions{head: round, waits: []mailbox.Decided{decidedAgain(1, "a")}}, []openItem{a, b}, "run_start done:b", "run log results"},
		"half of it is":        {decisions{head: half, waits: []mailbox.Decided{decidedAgain(1, "a")}}, []openItem{a}, "run_start", "run log open"},
		"the log has it":       {decisions{head: runningAt(4, 9, thread.CursorInfer), waits: []mailbox.Decided{decidedAgain(1, "a")}}, nil, "run_start done:b step_end two step_end", "run log log"},
		"nothing is known":     {decisions{head: runningAt(4, 9, thread.CursorInfer), waits: []mailbox.Decided{decidedAgain(1, "z")}}, nil, "run_start done:a done:b step_end two step_end", "run log log"},
		"of no turn":           {decisions{head: runningAt(4, 9, thread.CursorInfer), waits: []mailbox.Decided{{RunID: theRun}}}, nil, "run_start", "run"},
		"of the later of them": {decisions{head: round, waits: []mailbox.Decided{{RunID: theRun}, decidedAgain(1, "a"), {RunID: theRun}}}, []openItem{a, b}, "run_start done:b", "run log results"},
	} {
		h := &hearer{}
		s := &told{log: log, open: test.open}
		f := following(s, h)
		f.key = roundKey
		err := (&streams{reads: &reader{store: backend}}).resume(t.Context(), f, test.d)
		if got := h.brief(); got != test.want || err != nil {
			t.Errorf("%s shows %q, want %q, %v", name, got, test.want, err)
		}
		got := ""
		for i, read := range s.reads {
			if i > 0 {
				got += " "
			}
			got += read
		}
		if got != test.reads {
			t.Errorf("%s reads %q, want %q", name, got, test.reads)
		}
		if seen := name != "of no turn"; (f.seen.Version == test.d.head.Version) != seen {
			t.Errorf("%s: seen %d", name, f.seen.Version)
		}
	}
	for name, s := range map[string]*told{"missing": {missing: true}, "unreadable": {failed: store.ErrThrottled}, "unreadable log": {failed: store.ErrThrottled, fails: "log"}} {
		h := &hearer{}
		err := (&streams{reads: &reader{store: backend}}).resume(t.Context(), following(s, h), decisions{head: round, waits: []mailbox.Decided{decidedAgain(1, "a")}})
		if (name == "missing") != (core.CodeOf(err) == core.CodeNotFound) || (name != "missing") != errors.Is(err, store.ErrThrottled) || len(h.events) > 0 {
			t.Errorf("%s: %v, %q", name, err, h.brief())
		}
	}
}
