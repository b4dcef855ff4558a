package host

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// What the head alone has of an open round: results of done calls, and tickets that nobody
// has decided, each once.
func TestAFollowerShowsTheOpenRound(t *testing.T) {
	ticket := func(id string) openItem { return openItem{ticket: asking(id)} }
	a := openItem{result: openResult{call: 0, entry: resultOf("a")}}
	b := openItem{result: openResult{call: 1, entry: resultOf("b")}}
	round := func(version uint64, first, second thread.CallStatus, tickets ...thread.Ticket) thread.Head {
		head := runningAt(1, version, thread.CursorTools)
		head.Run.Base, head.Run.Calls, head.Tickets = 2, []thread.CallStatus{first, second}, tickets
		return head
	}
	h := &hearer{}
	s := &told{log: []thread.Entry{callsTwo(), resultOf("a"), resultOf("b")}}
	f := following(s, h)
	for i, test := range []struct {
		head  thread.Head
		open  []openItem
		want  string
		asked int
		reads string // of the open round
	}{
		{round(1, thread.CallRunning, thread.CallSuspended, thread.Ticket{ID: 1}), []openItem{ticket("s1")}, "run_start x asks:s1", 1, "open"},
		{round(2, thread.CallRunning, thread.CallSuspended, thread.Ticket{ID: 1}), nil, "", 0, "open"},
		{round(3, thread.CallRunning, thread.CallDone), []openItem{b}, "done:b", 1, "results"},
		{round(4, thread.CallSuspended, thread.CallDone, thread.Ticket{ID: 2}, thread.Ticket{ID: 1, Decision: 9}), []openItem{ticket("s2")}, "asks:s2", 0, "open"},
		{round(5, thread.CallDone, thread.CallDone), []openItem{a, b}, "done:a", 2, "results"},
		{runningAt(3, 6, thread.CursorInfer), nil, "step_end", 2, ""},
	} {
		before := len(h.events)
		s.open, s.reads, h.asked = test.open, nil, 0
		if _, _, err := f.show(t.Context(), test.head); err != nil {
			t.Fatal(i, err)
		}
		reads := ""
		for _, what := range s.reads {
			if what == "open" || what == "results" {
				reads += what
			}
		}
		if reads != test.reads {
			t.Errorf("head %d reads %v, want %s", i, s.reads, test.reads)
		}
		if got := (&hearer{events: h.events[before:]}).brief(); got != test.want || h.asked != test.asked {
			t.Errorf("head %d shows %q, asked %d times, want %q and %d", i, got, h.asked, test.want, test.asked)
		}
	}
	// A result behind an open call has no position: a client that reconnects is given it again.
	for _, e := range h.events {
		if e.Type == core.EventToolCallDone && (e.Position == "") != (e.CallID == "b") {
			t.Errorf("the result of %s stands at %q", e.CallID, e.Position)
		}
	}
}

// Only the round that the log was shown up to is looked at.
func TestWhichOpenRoundIsShown(t *testing.T) {
	good := thread.Head{Seq: 1, Run: thread.Run{ID: theRun, Cursor: thread.CursorTools, Base: 2, Calls: []thread.CallStatus{thread.CallDone, thread.CallNew}}, Tickets: []thread.Ticket{{ID: 1}, {ID: 2, Decision: 5}, {ID: 3}}}
	for name, change := range map[string]func(*thread.Head){
		"none is open":    func(h *thread.Head) { h.Run.ID = core.ID{} },
		"another run":     func(h *thread.Head) { h.Run.ID = core.ID{8} },
		"it infers":       func(h *thread.Head) { h.Run.Cursor = thread.CursorInfer },
		"a later round":   func(h *thread.Head) { h.Run.Base = 3 },
		"an earlier one":  func(h *thread.Head) { h.Run.Base = 1 },
		"the right round": func(*thread.Head) {},
	} {
		f := following(&told{}, &hearer{})
		f.stream.place.next = 2
		head := good
		change(&head)
		got, ok := f.stream.unseen(head)
		if ok != (name == "the right round") {
			t.Errorf("%s: %t", name, ok)
		}
		if ok {
			if diff := cmp.Diff(thread.Tickets{{ID: 1}, {ID: 3}}, got.Tickets); diff != "" || len(got.Run.Calls) != 2 || len(head.Tickets) != 3 {
				t.Errorf("calls %v (-want +got):\n%s", got.Run.Calls, diff)
			}
			f.stream.shownOpen(got)
			head.Tickets = append(head.Tickets, thread.Ticket{ID: 4})
			got, ok = f.stream.unseen(head)
			if diff := cmp.Diff(thread.Tickets{{ID: 4}}, got.Tickets); diff != "" || !ok || got.Run.Calls != nil {
				t.Errorf("the second look: calls %v (-want +got):\n%s", got.Run.Calls, diff)
			}
			// A later round begins anew.
			f.stream.shownOpen(got)
			f.stream.place.next, head.Run.Base = 5, 5
			if got, ok = f.stream.unseen(head); !ok || len(got.Tickets) != 3 || len(got.Run.Calls) != 2 {
				t.Errorf("a later round: %v, %v", got.Tickets, got.Run.Calls)
			}
		}
	}
}

// After inline steps a stream goes on behind their commit; if that left a round open, the
// replayer learns its turn first.
func TestAFollowerGoesOnBehindInlineSteps(t *testing.T) {
	for name, test := range map[string]struct {
		head   thread.Head
		next   uint64
		inside bool
		want   string
		reads  string
	}{
		"behind a step": {runningAt(1, 1, thread.CursorInfer), 2, false, "run_start two step_end", "run log"},
		"in a round":    {runningAt(1, 1, thread.CursorTools), 2, true, "run_start done:a two step_end", "run log log"},
		"another run's": {thread.Head{Seq: 1, Run: thread.Run{ID: core.ID{8}, Cursor: thread.CursorTools}}, 2, false, "run_start two step_end", "run log"},
		"none is open":  {thread.Head{Seq: 1, Run: thread.Run{Cursor: thread.CursorTools}}, 2, false, "run_start two step_end", "run log"},
	} {
		h := &hearer{}
		s := &told{log: []thread.Entry{saysText(1, "one"), saysText(2, "two")}}
		if test.inside {
			turn := callsTwo()
			turn.Message.ToolCalls = turn.Message.ToolCalls[:1]
			s.log = []thread.Entry{turn, resultOf("a"), saysText(2, "two")}
		}
		f := following(s, h)
		f.stream.skipTo(test.head)
		if f.stream.place.next != test.next || f.stream.place.inside != test.inside {
			t.Errorf("%s: the stream goes on at %+v", name, f.stream.place)
		}
		if _, _, err := f.show(t.Context(), runningAt(uint64(len(s.log)), 2, thread.CursorInfer)); err != nil {
			t.Fatal(err)
		}
		got := strings.Replace(h.brief(), "step_end two", "two", 1)
		if got != test.want || f.stream.place.inside {
			t.Errorf("%s shows %q, want %q", name, got, test.want)
		}
		if reads := strings.Join(s.reads, " "); reads != test.reads {
			t.Errorf("%s reads %q, want %q", name, reads, test.reads)
		}
	}
}

// Before a claim's step emits, the stream has what others have committed; a reader that
// cannot be given it is sent away.
func TestAStreamThatWasOvertaken(t *testing.T) {
	no := errors.New("no")
	for name, test := range map[string]struct {
		version uint64
		failed  error
		gone    bool
		want    string
	}{
		"only the claim came in between": {version: 5},
		"others have committed":          {version: 6, want: "run_start one step_end"},
		"much later":                     {version: 9, want: "run_start one step_end"},
		"it cannot be read":              {version: 9, failed: no, want: "run_yield"},
		"nobody is there":                {version: 9, gone: true},
	} {
		h := &hearer{ready: func(context.Context) error { t.Errorf("%s: the run waits for a reader", name); return nil }}
		s := &told{failed: test.failed, log: []thread.Entry{saysText(1, "one")}}
		f := following(s, h)
		if f.seen.Version = 4; test.gone {
			f.stream.audience.gone = no
		}
		f.overtaken(t.Context(), runningAt(1, test.version, thread.CursorInfer))
		if got := h.brief(); got != test.want || f.stream.hurry || test.want == "" && len(s.reads) > 0 {
			t.Errorf("%s shows %q, want %q, hurry %t, reads %v", name, got, test.want, f.stream.hurry, s.reads)
		}
	}
}
