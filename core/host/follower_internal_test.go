package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

var theRun = core.ID{7}

// told is a source that a test makes: a log of the thread, from sequence 1, and what the
// open round has.
type told struct {
	record  core.Run
	missing bool   // the run is
	failed  error  // of every read, or of those that fails names
	fails   string // such reads; empty: all
	log     []thread.Entry
	open    []openItem
	state   state.Snapshot
	of      core.ID
	unknown bool // the state would take too many reads
	reads   []string
}

func (s *told) note(what string) error {
	if s.reads = append(s.reads, what); s.fails != "" && s.fails != what {
		return nil
	}
	return s.failed
}

func (s *told) Run(context.Context, thread.Head) (core.Run, bool, error) {
	return s.record, !s.missing, s.note("run")
}

func (s *told) Entries(_ context.Context, from, to uint64) iter.Seq2[threadlog.Entry, error] {
	return func(yield func(threadlog.Entry, error) bool) {
		if err := s.note("log"); err != nil {
			yield(threadlog.Entry{}, err)
			return
		}
		for seq := from; seq <= to; seq++ {
			if !yield(threadlog.Entry{Seq: seq, Entry: s.log[seq-1]}, nil) {
				return
			}
		}
	}
}

func (s *told) Open(_ context.Context, head thread.Head) iter.Seq2[openItem, error] {
	return func(yield func(openItem, error) bool) {
		what := "open"
		if head.Run.Calls != nil {
			what = "results"
		}
		if err := s.note(what); err != nil {
			yield(openItem{}, err)
			return
		}
		for _, i := range s.open {
			if (i.ticket != nil || head.Run.Calls != nil) && !yield(i, nil) {
				return
			}
		}
	}
}

func (s *told) State(_ context.Context, _ thread.Head, seq uint64) (state.Snapshot, core.ID, bool, error) {
	return s.state, s.of, !s.unknown, s.note(fmt.Sprint("state", seq))
}

func (s *told) Chunks(context.Context, string, string) ([]store.Record, error) {
	return nil, s.note("chunks")
}

// following is a follower of theRun that shows h what s has.
func following(s *told, h Listener) *follower {
	e := env.System()
	if s.record.ID.IsZero() {
		s.record.ID, s.record.FirstSeq, s.record.Status = theRun, 1, core.RunRunning
	}
	f := &follower{env: e, log: slog.New(slog.DiscardHandler), key: core.ThreadKey{Tenant: "acme", Thread: "t"}, stream: newStream(e, theRun, h), source: s}
	f.watches = newWatches(e, func(context.Context, core.ThreadKey) (thread.Head, error) { return thread.Head{}, errors.New("no") }, time.Hour, f.log)
	return f
}

func saysText(step int, text string) thread.Entry {
	return thread.Entry{Run: theRun, Step: step, At: 5, Attempt: 1, Message: &core.Message{
		ID: "m", RunID: theRun, Role: core.RoleAssistant, Step: step, CreatedAt: 6, Content: []core.Block{{Type: core.BlockText, Text: text}},
	}}
}

// callsTwo is a turn with two calls, and resultOf a result of one of them.
func callsTwo() thread.Entry {
	e := saysText(1, "x")
	e.Message.ToolCalls = []core.ToolCall{{ID: "a", Name: "echo", Arguments: json.RawMessage(`{}`)}, {ID: "b", Name: "echo", Arguments: json.RawMessage(`{}`)}}
	return e
}

func resultOf(id string) thread.Entry {
	return thread.Entry{Run: theRun, Step: 1, Message: &core.Message{
		ID: history.ResultID(theRun, 1, int(id[0]-'a')), RunID: theRun, Role: core.RoleTool, Step: 1, CreatedAt: 7, ToolResult: &core.ToolResult{CallID: id, Name: "echo", Status: core.ResultOK},
	}}
}

// brief are types without the events that carry a turn.
func (h *hearer) brief() (all string) {
	for _, e := range h.events {
		switch e.Type {
		case core.EventStepStart, core.EventInferenceComplete, core.EventToolCallStart, core.EventToolCallDelta, core.EventToolCallReady:
			continue
		case core.EventTextDelta:
			all += " " + e.Delta
		case core.EventToolCallDone:
			all += " done:" + e.CallID
		case core.EventToolCallSuspended:
			all += " asks:" + e.Ticket.Suspension.ID
		case core.EventStateSnapshot:
			all += " state:" + string(e.Snapshot)
		default:
			all += " " + string(e.Type)
		}
	}
	return strings.TrimSpace(all)
}

var wantsState = map[core.EventType]bool{core.EventStateDelta: true, core.EventStateSnapshot: true}

func runningAt(seq, version uint64, cursor thread.Cursor) thread.Head {
	return thread.Head{Version: version, Seq: seq, Run: thread.Run{ID: theRun, Cursor: cursor}}
}

// A head is shown once: what it has more than the one before, and no record twice.
func TestAFollowerShowsWhatAHeadHasMore(t *testing.T) {
	h := &hearer{wants: wantsState}
	s := &told{log: []thread.Entry{
		{Run: theRun, Message: &core.Message{ID: "q", Role: core.RoleUser}}, saysText(1, "one"), saysText(2, "two"), {Run: core.ID{8}, Message: &core.Message{ID: "q"}},
	}}
	f := following(s, h)
	for i, test := range []struct {
		head  thread.Head
		want  string
		over  bool
		reads string
	}{
		{runningAt(0, 1, thread.CursorStart), "run_start", false, "run log state0"},
		{runningAt(0, 1, thread.CursorStart), "", false, ""},
		{runningAt(0, 2, thread.CursorInfer), "", false, "run"}, // its first record is known, and not committed
		{runningAt(1, 9, thread.CursorInfer), "", false, "run log state0"},
		{runningAt(2, 3, thread.CursorInfer), "one step_end", false, "run log"},
		{runningAt(2, 4, thread.CursorInfer), "", false, "run"}, // a renewed lease
		{runningAt(4, 5, thread.CursorInfer), "two step_end", false, "run log"},
		{runningAt(4, 6, thread.CursorInfer), "", false, "run log"},
	} {
		before := len(h.events)
		s.reads = nil
		if i == 0 {
			s.record = core.Run{ID: theRun, Status: core.RunRunning}
		}
		_, over, err := f.show(t.Context(), test.head)
		got := (&hearer{events: h.events[before:]}).brief()
		if got != test.want || over != test.over || err != nil {
			t.Errorf("head %d shows %q, over %t, %v, want %q", i, got, over, err, test.want)
		}
		if reads := strings.Join(s.reads, " "); i > 0 && reads != test.reads {
			t.Errorf("head %d reads %q, want %q", i, reads, test.reads)
		}
		s.record = core.Run{ID: theRun, FirstSeq: 1, Status: core.RunRunning}
	}
}

// A stream is over with a run that waits or is done, but not while it is closing.
func TestWhenAFollowedRunIsOver(t *testing.T) {
	for name, test := range map[string]struct {
		status core.RunStatus
		head   thread.Run
		want   bool
	}{
		"waiting for a child":   {core.RunWaiting, thread.Run{ID: theRun, Status: thread.Waiting, Base: 5}, false},
		"queued":                {core.RunCreated, thread.Run{}, false},
		"running":               {core.RunRunning, thread.Run{ID: theRun}, false},
		"waiting":               {core.RunWaiting, thread.Run{ID: theRun, Status: thread.Waiting}, true},
		"done":                  {core.RunDone, thread.Run{}, true},
		"closing":               {core.RunDone, thread.Run{ID: theRun, Status: thread.Closing}, false},
		"another run is closed": {core.RunDone, thread.Run{ID: core.ID{8}, Status: thread.Closing}, true},
		"another run goes on":   {core.RunDone, thread.Run{ID: core.ID{8}}, true},
	} {
		f := following(&told{record: core.Run{ID: theRun, Status: test.status}}, &hearer{})
		head := thread.Head{Version: 3, Run: test.head}
		if name == "waiting for a child" {
			head.Tickets = thread.Tickets{{ID: 2, Kind: thread.TicketChild}, {ID: 3, Call: 1, Decision: 5}}
		}
		record, over, err := f.show(t.Context(), head)
		if over != test.want || err != nil || record.Status != test.status {
			t.Errorf("%s: over %t, %v, %+v", name, over, err, record)
		}
		if f.seen.Version != 3 || f.record.Status != test.status {
			t.Errorf("%s: seen %d, %s", name, f.seen.Version, f.record.Status)
		}
	}
}

// What a follower cannot show is the error of its look, and nothing was shown then.
func TestWhatAFollowerCannotShow(t *testing.T) {
	no := errors.New("no")
	for name, test := range map[string]struct {
		source told
		head   thread.Head
		code   core.Code
		text   string
	}{
		"deleted":           {told{}, thread.Head{Version: 1, Deleted: true}, core.CodeDeleted, "thread t was deleted"},
		"missing":           {told{missing: true}, thread.Head{Version: 1}, core.CodeNotFound, "run " + theRun.String() + " not found"},
		"a read that fails": {told{failed: no}, thread.Head{Version: 1}, core.CodeInternal, "no"},
		"its log":           {told{failed: no, fails: "log"}, runningAt(1, 1, thread.CursorInfer), core.CodeInternal, "no"},
		"its open round":    {told{failed: no, fails: "open"}, thread.Head{Version: 1, Run: thread.Run{ID: theRun, Cursor: thread.CursorTools, Base: 1}}, core.CodeInternal, "no"},
	} {
		h := &hearer{}
		_, over, err := following(&test.source, h).show(t.Context(), test.head)
		if over || err == nil || err.Error() != test.text || test.code != core.CodeInternal && core.CodeOf(err) != test.code || h.brief() != "" && test.source.fails == "" {
			t.Errorf("%s: over %t, %v, shown %q", name, over, err, h.lines())
		}
	}
}

// A head shows nothing new if its version is the same, or as long as the run is queued.
func TestAHeadThatShowsNothingNew(t *testing.T) {
	queued := thread.Head{Version: 9, Incarnation: 1, Pending: []thread.Dispatch{{Run: theRun}}}
	open := thread.Head{Version: 9, Incarnation: 1, Run: thread.Run{ID: theRun}}
	with := func(h thread.Head, version, incarnation uint64) thread.Head {
		h.Version, h.Incarnation = version, incarnation
		return h
	}
	for name, test := range map[string]struct {
		seen   thread.Head
		status core.RunStatus // of the record; empty: nothing was shown
		head   thread.Head
		want   bool
	}{
		"the first look":         {thread.Head{}, "", open, false},
		"the same version":       {open, core.RunRunning, open, true},
		"a later one":            {open, core.RunRunning, with(open, 10, 1), false},
		"another thread's":       {open, core.RunRunning, with(open, 9, 2), false},
		"queued as before":       {queued, core.RunCreated, with(queued, 12, 1), true},
		"queued, anew":           {queued, core.RunCreated, with(queued, 12, 2), false},
		"opened":                 {queued, core.RunCreated, with(open, 12, 1), false},
		"queued, shown as open":  {open, core.RunRunning, with(queued, 12, 1), false},
		"unknown, shown as open": {open, core.RunRunning, thread.Head{Version: 12, Incarnation: 1}, false},
		"unknown, was queued":    {queued, core.RunCreated, thread.Head{Version: 12, Incarnation: 1}, false},
	} {
		f := following(&told{}, &hearer{})
		if f.seen = test.seen; test.status != "" {
			f.record = core.Run{ID: theRun, Status: test.status}
		}
		if got := f.unchanged(test.head); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// inTurn returns heads one after the other, then an error.
func inTurn(err error, heads ...thread.Head) nextHead {
	return func(context.Context, *watch, thread.Head) (thread.Head, error) {
		if len(heads) == 0 {
			return thread.Head{}, err
		}
		head := heads[0]
		heads = heads[1:]
		return head, nil
	}
}

// A stream ends with its run, with a yield when something else ends it, and silently when
// its listener has gone. What comes before the first event is its error.
func TestHowAFollowedStreamEnds(t *testing.T) {
	no := errors.New("no")
	first := runningAt(2, 1, thread.CursorInfer)
	deleted := thread.Head{Version: 2, Deleted: true}
	for name, test := range map[string]struct {
		newest thread.Head
		unread error // of the first head
		next   []thread.Head
		err    error
		done   bool // the record says so
		gone   int  // the event at which the listener leaves
		want   string
		fails  string
		logs   bool
	}{
		"its run ends":             {newest: first, done: true, want: "run_start one step_end run_finish"},
		"a later head cannot be":   {newest: first, err: no, want: "run_start one step_end run_yield", logs: true},
		"the thread is deleted":    {newest: first, next: []thread.Head{deleted}, want: "run_start one step_end run_yield"},
		"the first head cannot be": {unread: no, fails: "no"},
		"the first is deleted":     {newest: deleted, fails: "thread t was deleted"},
		"the listener leaves":      {newest: first, gone: 2, err: no, want: "run_start"},
		"the listener leaves late": {newest: first, gone: 5, err: no, want: "run_start one step_end"},
	} {
		h := &hearer{failed: no, at: test.gone}
		s := &told{record: core.Run{ID: theRun, FirstSeq: 1, Status: core.RunRunning}, log: []thread.Entry{{Run: theRun, Message: &core.Message{Role: core.RoleUser}}, saysText(1, "one")}}
		if test.done {
			s.record.Status = core.RunDone
			test.newest.Run = thread.Run{}
		}
		f := following(s, h)
		var log strings.Builder
		f.log = slog.New(slog.NewTextHandler(&log, nil))
		f.watches.read = func(context.Context, core.ThreadKey) (thread.Head, error) { return test.newest, test.unread }
		err := f.follow(t.Context(), inTurn(test.err, test.next...))
		if (err == nil) != (test.fails == "") || err != nil && err.Error() != test.fails {
			t.Errorf("%s: %v, want %q", name, err, test.fails)
		}
		if got := h.brief(); got != test.want {
			t.Errorf("%s shows %q, want %q", name, got, test.want)
		}
		logs := strings.Contains(log.String(), `level=WARN msg="stream aborted" tenant=acme thread=t run=`+theRun.String()+" error=no")
		if logs != test.logs || log.Len() > 0 && !logs {
			t.Errorf("%s: logged %q", name, log.String())
		}
		if len(f.watches.threads) > 0 {
			t.Errorf("%s: the thread is still watched", name)
		}
		if err := f.follow(t.Context(), nil); name != "the first head cannot be" && name != "the first is deleted" && (err != nil || h.brief() != test.want) {
			t.Errorf("%s: followed again: %v, %q", name, err, h.brief())
		}
	}
}

// A stream yields when the reserve of its time begins, without a line in the log; what is
// there is shown even then.
func TestAFollowedStreamKeepsItsReserve(t *testing.T) {
	for name, test := range map[string]struct {
		left    time.Duration
		reserve time.Duration
		looks   int
	}{
		"no time for a look": {time.Hour, 2 * time.Hour, 1},
		"time enough":        {time.Hour, time.Minute, 3},
	} {
		h := &hearer{}
		f := following(&told{log: []thread.Entry{saysText(1, "one")}}, h)
		var log strings.Builder
		f.log = slog.New(slog.NewTextHandler(&log, nil))
		f.limits.reserve = test.reserve
		f.watches.read = func(context.Context, core.ThreadKey) (thread.Head, error) {
			return runningAt(1, 1, thread.CursorInfer), nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), test.left)
		defer cancel()
		looks := 0
		err := f.follow(ctx, func(ctx context.Context, _ *watch, seen thread.Head) (thread.Head, error) {
			if looks++; ctx.Err() != nil || looks == 3 {
				return seen, context.DeadlineExceeded
			}
			return seen, nil
		})
		if err != nil || looks != test.looks || h.brief() != "run_start one step_end run_yield" {
			t.Errorf("%s: %d looks, %v, shows %q", name, looks, err, h.brief())
		}
		if (log.Len() > 0) != (test.looks == 3) {
			t.Errorf("%s: logged %q", name, log.String())
		}
	}
}

// A replay waits for its reader before each record, unless a run waits for the stream.
func TestAReplayWaitsForItsReader(t *testing.T) {
	for hurry, want := range map[bool]int{false: 3, true: 0} {
		h := &hearer{}
		s := &told{log: []thread.Entry{callsTwo(), resultOf("a"), resultOf("b")}}
		f := following(s, h)
		f.stream.hurry = hurry
		if _, _, err := f.show(t.Context(), runningAt(3, 1, thread.CursorInfer)); err != nil || h.asked != want {
			t.Errorf("hurry %t: asked %d times, want %d, %v", hurry, h.asked, want, err)
		}
	}
	// The end of the time stops a replay too, though the listener is still there.
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errAway)
	late := func() *hearer { return &hearer{ready: func(ctx context.Context) error { return ctx.Err() }} }
	h := late()
	if _, _, err := following(&told{log: []thread.Entry{saysText(1, "one")}}, h).show(ended, runningAt(1, 1, thread.CursorInfer)); !errors.Is(err, errAway) || h.brief() != "run_start" {
		t.Errorf("%v, shown %q", err, h.brief())
	}
	h = late()
	f := following(&told{log: []thread.Entry{callsTwo()}, open: []openItem{{result: openResult{call: 0, entry: resultOf("a")}}}}, h)
	f.stream.place.next = 2
	round := runningAt(1, 1, thread.CursorTools)
	round.Run.Base, round.Run.Calls = 2, []thread.CallStatus{thread.CallDone, thread.CallRunning}
	if _, _, err := f.show(ended, round); !errors.Is(err, errAway) || h.brief() != "run_start" {
		t.Errorf("an open round: %v, shown %q", err, h.brief())
	}
	no := errors.New("no")
	h = &hearer{ready: func(context.Context) error { return no }}
	if _, _, err := following(&told{log: []thread.Entry{saysText(1, "one")}}, h).show(t.Context(), runningAt(1, 1, thread.CursorInfer)); !errors.Is(err, no) || h.brief() != "run_start" {
		t.Errorf("%v, shown %q", err, h.brief())
	}
}

// The state is shown where the reader has caught up with a run, before the first record
// that is not of what it takes back; once, and from then on where a step has changed it.
func TestWhereAFollowerShowsTheState(t *testing.T) {
	now := state.Snapshot{}.With(4, map[state.KeyPath]json.RawMessage{{Scope: state.ScopeThread, Name: "k"}: json.RawMessage("1"), {Scope: state.ScopeRun, Name: "r"}: json.RawMessage("2")})
	whole := `state:{"thread":{"k":1},"run":{"r":2}}`
	fresh := `state:{"thread":{"k":1},"run":{}}`
	for name, test := range map[string]struct {
		source told
		wants  map[core.EventType]bool
		want   string
		reads  string
	}{
		"of the run":                {told{state: now, of: theRun, log: []thread.Entry{saysText(1, "one")}}, wantsState, "run_start " + whole + " one step_end", "run log state0"},
		"of the run before":         {told{state: now, of: core.ID{8}, log: []thread.Entry{saysText(1, "one")}}, wantsState, "run_start " + fresh + " one step_end", "run log state0"},
		"empty":                     {told{of: theRun, log: []thread.Entry{saysText(1, "one"), saysText(2, "two")}}, wantsState, "run_start one step_end two step_end", "run log state0"},
		"not wanted":                {told{state: now, of: theRun, log: []thread.Entry{saysText(1, "one")}}, nil, "run_start one step_end", "run log"},
		"a read that fails":         {told{state: now, of: theRun, failed: errAway, fails: "state0", log: []thread.Entry{saysText(1, "one")}}, wantsState, "run_start one " + whole + " step_end", "run log state0 state1"},
		"too many reads":            {told{state: now, of: theRun, unknown: true, log: []thread.Entry{saysText(1, "one"), saysText(2, "two")}}, wantsState, "run_start one step_end two step_end", "run log state0 state2"},
		"behind what it takes back": {told{state: now, of: theRun, log: []thread.Entry{{Run: theRun, Superseded: &thread.Range{From: 1, To: 1}}, saysText(1, "one")}}, wantsState, "run_start " + whole + " one step_end", "run log state1"},
	} {
		h := &hearer{wants: test.wants}
		f := following(&test.source, h)
		if _, _, err := f.show(t.Context(), runningAt(uint64(len(test.source.log)), 1, thread.CursorInfer)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := h.brief(); got != test.want {
			t.Errorf("%s shows %q, want %q", name, got, test.want)
		}
		if reads := strings.Join(test.source.reads, " "); reads != test.reads {
			t.Errorf("%s reads %q, want %q", name, reads, test.reads)
		}
	}
}
