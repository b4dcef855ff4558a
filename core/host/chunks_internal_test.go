package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/position"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// spoken is a source whose chunks a test makes: each is one more letter of an attempt.
type spoken struct {
	told
	chunks []store.Record
	after  []string // of each list
	away   int      // so many lists fail
}

func (s *spoken) Chunks(_ context.Context, prefix, after string) (all []store.Record, err error) {
	if s.after = append(s.after, strings.TrimPrefix(after, prefix)); s.away > 0 {
		s.away--
		return nil, errors.New("no")
	}
	for _, c := range s.chunks {
		if strings.HasPrefix(c.Name, prefix) && c.Name > after && len(all) < chunksAtOnce {
			all = append(all, c)
		}
	}
	return all, nil
}

// says adds chunks from number n on, a letter each.
func (s *spoken) says(t *testing.T, a live.Attempt, n int, letters string) {
	t.Helper()
	for i, letter := range letters {
		type event struct {
			core.Event
			At string `json:"at"`
		}
		one := event{core.Event{Type: core.EventTextDelta, Delta: string(letter)}, "0-" + strconv.Itoa(n+i+1) + "-f"}
		payload, err := thread.Records{}.Encode("event chunk", map[string][]event{"events": {one}})
		if err != nil {
			t.Fatal(err)
		}
		s.chunks = append(s.chunks, store.Record{Name: recordname.Chunk(a.Prefix(), n+i), Payload: payload})
	}
}

// hears is an unsaid over a source, whose listener is h.
func hears(s *spoken, h Listener) (*unsaid, *strings.Builder) {
	var log strings.Builder
	st := newStream(env.System(), theRun, h)
	return &unsaid{
		env: env.System(), log: slog.New(slog.NewTextHandler(&log, nil)), key: roundKey, run: theRun, stream: st, source: s, worker: "w", every: time.Second,
		listen: func(core.ThreadKey, *live.Hearing) ([]core.Event, bool) { return nil, false },
	}, &log
}

// Chunks are shown in their order, each once, however many a list has; one that is missing
// is waited for, and another attempt begins at its first.
func TestChunksAreShownInOrder(t *testing.T) {
	first, second := live.Attempt{Run: theRun, Step: 1, Fence: 3}, live.Attempt{Run: theRun, Step: 1, Fence: 4}
	long := strings.Repeat("x", 2*chunksAtOnce)
	h := &hearer{}
	s := &spoken{}
	u, _ := hears(s, h)
	for i, test := range []struct {
		attempt live.Attempt
		n       int
		more    string
		want    string // words
		lists   string // after which they were read
	}{
		{first, 0, "", "", ""},
		{first, 0, "ab", "ab", ""},
		{first, 0, "", "", "000001"},
		{first, 3, "d", "", "000001"},
		{first, 2, "c", "cd", "000001"},
		{first, 4, long, long, "000003 000035 000067"},
		{second, 0, "z", "|z", ""},
		{second, 1, "y", "y", "000000"},
	} {
		before := len(h.events)
		s.says(t, test.attempt, test.n, test.more)
		slices.SortFunc(s.chunks, func(a, b store.Record) int { return strings.Compare(a.Name, b.Name) })
		s.after = nil
		if err := u.showChunks(t.Context(), test.attempt); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, e := range h.events[before:] {
			if e.Type == core.EventStepRestarted {
				got += "|"
			}
			got += e.Delta
		}
		lists := []string{}
		for _, after := range s.after {
			lists = append(lists, strings.TrimPrefix(after, "#"))
		}
		if got != test.want || strings.Join(lists, " ") != test.lists {
			t.Errorf("look %d shows %q, reads after %q; want %q and %q", i, got, lists, test.want, test.lists)
		}
	}
}

// A list that fails ends no stream, and is logged once until one succeeds; a chunk that
// cannot be decoded makes the stream deaf to its attempt.
func TestChunksThatCannotBeRead(t *testing.T) {
	a, b := live.Attempt{Run: theRun, Step: 1, Fence: 3}, live.Attempt{Run: theRun, Step: 2, Fence: 3}
	h := &hearer{}
	s := &spoken{}
	u, log := hears(s, h)
	show := func(a live.Attempt) {
		t.Helper()
		if err := u.showChunks(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	const away = `level=WARN msg="event chunks cannot be read" tenant=acme thread=t run=`
	logged := func(what string, want int) {
		t.Helper()
		if n := strings.Count(log.String(), what); n != want {
			t.Errorf("%q is logged %d times, want %d", what, n, want)
		}
	}
	s.away = 2
	show(a)
	show(a)
	logged(away, 1)
	s.says(t, a, 0, "a")
	show(a)
	s.away = 1
	show(a)
	logged(away, 2)
	s.away = 1
	show(b) // of another attempt it is said anew
	logged(away, 3)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.away = 1
	if err := u.showChunks(ended, a); err != nil {
		t.Error(err)
	}
	logged(away, 3)
	s.says(t, a, 1, "bc")
	s.chunks[1].Payload = []byte("{")
	show(a)
	show(a)
	logged(`level=WARN msg="live events cannot be read" tenant=acme thread=t run=`, 1)
	lists := len(s.after)
	show(a)
	if len(s.after) != lists {
		t.Error("a deaf stream reads on")
	}
	s.says(t, b, 0, "z")
	show(b)
	if got := h.brief(); got != "a step_restarted z" && got != "a z" {
		t.Errorf("shown %q", got)
	}
	// The listener's absence is an error.
	gone := &hearer{ready: func(context.Context) error { return errAway }}
	u, _ = hears(s, gone)
	if err := u.showChunks(t.Context(), b); !errors.Is(err, errAway) || len(gone.events) > 0 {
		t.Errorf("%v, shown %q", err, gone.brief())
	}
}

// What a step of this process says is shown at once; another process's words are looked for
// at each interval. A head that does not infer ends that.
func TestWordsAreShownUntilTheHeadMoves(t *testing.T) {
	infers := thread.Head{Version: 4, Incarnation: 1, Claim: thread.Claim{Fence: 3, Worker: "other"}, Run: thread.Run{ID: theRun, Cursor: thread.CursorInfer}}
	attempt := live.Attempt{Run: theRun, Step: 1, Fence: 3}
	word := func(end int, text string) core.Event {
		return core.Event{Type: core.EventTextDelta, RunID: theRun, Step: 1, Delta: text, Position: position.Position{Run: theRun, Step: 1, Attempt: 3, End: end, Kind: 'f'}.String()}
	}
	moved := infers
	moved.Version = 5
	for name, test := range map[string]struct {
		seen  func(*thread.Head)
		here  bool
		said  []core.Event // by this process, at once
		lists int          // of chunks in 2.5 s
		want  string
	}{
		"another process":      {nil, false, nil, 3, "a"},
		"this process":         {nil, true, []core.Event{word(2, "hi")}, 0, "hi"},
		"another run":          {func(h *thread.Head) { h.Run.ID = core.ID{8} }, false, nil, 0, ""},
		"its tools run":        {func(h *thread.Head) { h.Run.Cursor = thread.CursorTools }, false, nil, 0, ""},
		"nobody has the claim": {func(h *thread.Head) { h.Claim = thread.Claim{} }, false, nil, 0, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := &hearer{}
			s := &spoken{}
			s.says(t, attempt, 0, "a")
			u, _ := hears(s, h)
			r, _ := program(t, nil)
			u.demand = demand{env: u.env, store: r.reads.store, mailbox: r.mailbox, agents: r.agents, key: roundKey, run: theRun}
			left := test.said
			u.listen = func(key core.ThreadKey, hearing *live.Hearing) ([]core.Event, bool) {
				if key != roundKey || hearing.Attempt != attempt {
					t.Errorf("%s: hears %v of %+v", name, key, hearing.Attempt)
				}
				said := left
				left = nil
				return said, test.here
			}
			ws := newWatches(u.env, func(context.Context, core.ThreadKey) (thread.Head, error) { return infers, nil }, time.Hour, u.log)
			a := ws.join(roundKey)
			defer a.quit()
			seen := infers
			if test.seen != nil {
				test.seen(&seen)
			}
			a.head = seen
			time.AfterFunc(2500*time.Millisecond, func() { ws.moved(roundKey, moved) })
			began := time.Now()
			head, err := wordsOf(u).after(t.Context(), a, seen)
			if err != nil || differs(head, moved) || time.Since(began) != 2500*time.Millisecond {
				t.Errorf("%s: head %d after %s, %v", name, head.Version, time.Since(began), err)
			}
			if got := h.brief(); got != test.want || len(s.after) != test.lists {
				t.Errorf("%s: shows %q, %d lists; want %q and %d", name, got, len(s.after), test.want, test.lists)
			}
		})
	}
	// A listener that has gone ends the wait.
	u, _ := hears(&spoken{}, &hearer{ready: func(context.Context) error { return errAway }})
	u.listen = func(core.ThreadKey, *live.Hearing) ([]core.Event, bool) { return []core.Event{word(2, "hi")}, true }
	ws := newWatches(u.env, nil, time.Hour, u.log)
	a := ws.join(roundKey)
	a.head = infers
	if head, err := wordsOf(u).after(t.Context(), a, infers); !errors.Is(err, errAway) || differs(head, infers) {
		t.Errorf("head %d, %v", head.Version, err)
	}
	// So does the end of the time.
	u, _ = hears(&spoken{}, &hearer{})
	r, _ := program(t, nil)
	u.demand = demand{env: u.env, store: r.reads.store, mailbox: r.mailbox, agents: r.agents, key: roundKey, run: theRun}
	ended, cancel := context.WithCancelCause(t.Context())
	cancel(errAway)
	if _, err := wordsOf(u).after(ended, a, infers); !errors.Is(err, errAway) {
		t.Errorf("a context that is over: %v", err)
	}
}

// wordsOf is a follower of a run of the agent demo that shows what u does.
func wordsOf(u *unsaid) *follower { return &follower{unsaid: *u, record: core.Run{AgentID: "demo"}} }

// A follower asks for chunks at its first look at another process's attempt, and at the
// second at one of its own process, whose step is about to speak by then.
func TestWhenAFollowerAsksForChunks(t *testing.T) {
	for worker, wants := range map[string][]bool{"other": {true, true}, "w": {false, true}} {
		synctest.Test(t, func(t *testing.T) {
			seen := thread.Head{Version: 4, Claim: thread.Claim{Fence: 3, Worker: worker}, Run: thread.Run{ID: theRun, Cursor: thread.CursorInfer}}
			attempt, _ := live.AttemptOf(seen)
			u, _ := hears(&spoken{}, &hearer{})
			r, _ := program(t, nil)
			u.demand = demand{env: u.env, store: r.reads.store, mailbox: r.mailbox, agents: r.agents, key: roundKey, run: theRun}
			ws := newWatches(u.env, nil, time.Hour, u.log)
			a := ws.join(roundKey)
			defer a.quit()
			a.head = seen
			for i, want := range wants {
				began := time.Now()
				head, err := u.afterChunks(t.Context(), t.Context(), a, seen, a.spoken(), attempt, "demo")
				if err != nil || differs(head, seen) || time.Since(began) != time.Second {
					t.Errorf("%s, look %d: head %d after %s, %v", worker, i, head.Version, time.Since(began), err)
				}
				if asked := u.demand.until > 0; asked != want {
					t.Errorf("%s, look %d: it asks %t", worker, i, asked)
				}
			}
		})
	}
}
