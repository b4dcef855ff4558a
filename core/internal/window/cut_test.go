package window_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/window"
)

// listed gives messages the sequences from a first one on.
func listed(first uint64, messages ...core.Message) (h window.History) {
	for i := range messages {
		h.Messages = append(h.Messages, messages[i])
		h.Places = append(h.Places, window.Place{Sequence: first + uint64(i)})
	}
	return h
}

var run1, run2 = core.ID{1}, core.ID{2}

// of puts messages into a run, and numbers them.
func of(run core.ID, messages ...core.Message) []core.Message {
	for i := range messages {
		messages[i].RunID, messages[i].ID = run, fmt.Sprint(run[0], ".", i)
	}
	return messages
}

// Each message of 368 bytes costs 100 tokens, and a result of 40,000 as much as 10,000;
// a reference is 448. What stands beside the history costs nothing here.
func TestNext(t *testing.T) {
	chat := of(run1, user(368), turn(368, 0), user(368), turn(368, 0), user(368), turn(368, 0), user(368), turn(368, 0), user(368), turn(368, 0))
	asks := of(run2, user(368))
	loop := of(run2, user(368), turn(336, 1), result(368), turn(336, 1), result(368), turn(336, 1), result(368), turn(336, 1), result(368))
	reads := of(run2, user(368), turn(336, 1), result(40_000), turn(336, 1), result(368), turn(336, 1), result(40_000))
	mended := slices.Clone(chat)
	mended[4].Repair = true
	join := func(parts ...[]core.Message) (all []core.Message) {
		for _, p := range parts {
			all = append(all, p...)
		}
		return all
	}
	tests := []struct {
		name    string
		request window.Request
		want    core.Window
	}{
		{"nothing", window.Request{Limit: 100}, core.Window{}},
		{"all of it fits", window.Request{History: listed(1, chat[:3]...), Limit: 300}, core.Window{Estimate: 300}},
		{"what is left out and shortened stays so", window.Request{History: listed(7, chat[:3]...), Last: core.Window{First: 7, Short: 5, Estimate: 9, Tokens: 8, Prefix: [3]uint32{1}}, Limit: 300},
			core.Window{First: 7, Short: 5, Estimate: 300, Tokens: 8, Prefix: [3]uint32{1}}},
		{"a quarter is left out, and the question of a run begins what is shown", window.Request{History: listed(1, join(chat, asks)...), Run: run2, Opening: &asks[0], OpenedAt: 11, Limit: 1000},
			core.Window{First: 5, Short: 11, Estimate: 700}},
		{"what the runtime asked begins nothing", window.Request{History: listed(1, join(mended, asks)...), Run: run2, Opening: &asks[0], OpenedAt: 11, Limit: 1000},
			core.Window{First: 7, Short: 11, Estimate: 500}},
		{"of a long run turns are left out, and what it was asked stands before the others", window.Request{History: listed(1, join(chat[:2], loop)...), Run: run2, Opening: &loop[0], OpenedAt: 3, Limit: 904},
			core.Window{First: 6, Short: 10, Estimate: 676, Opening: 3}},
		{"what stands beside the history is not cut", window.Request{History: listed(1, join(chat, asks)...), Run: run2, Limit: 2000, Fixed: 1000},
			core.Window{First: 5, Short: 11, Estimate: 1700}},
		{"an old large result becomes a reference before anything is left out", window.Request{History: listed(1, reads...), Run: run2, Opening: &reads[0], OpenedAt: 1, Limit: 20_000},
			core.Window{Short: 6, Estimate: 10_932}},
		{"a new one when there is no other way", window.Request{History: listed(1, reads...), Run: run2, Opening: &reads[0], OpenedAt: 1, Limit: 5_000},
			core.Window{Short: 8, Estimate: 1_372}},
		{"messages that are to be kept are, up to what the model takes", window.Request{History: listed(1, join(chat, asks)...), Run: run2, Limit: 500, Most: 1100, Keep: 11},
			core.Window{Short: 12, Estimate: 1100}},
		{"and not beyond", window.Request{History: listed(1, join(chat, asks)...), Run: run2, Limit: 500, Most: 1000, Keep: 11},
			core.Window{First: 9, Short: 11, Estimate: 300}},
		{"the newest turn with its results is there in any case", window.Request{History: listed(1, join(chat, loop[:3])...), Run: run2, Opening: &loop[0], OpenedAt: 11, Limit: 50},
			core.Window{First: 12, Short: 14, Estimate: 292, Opening: 11}},
		{"a run without a question begins with a turn of the newest run", window.Request{History: listed(1, loop...), Run: run1, Limit: 400},
			core.Window{First: 8, Short: 8, Estimate: 192}},
		{"a provider that counts twice as much", window.Request{History: listed(1, chat...), Run: run1, Limit: 1000, Reckoned: 100, Counted: 200},
			core.Window{First: 8, Short: 10, Estimate: 300}},
		{"one that counts half", window.Request{History: listed(1, chat...), Run: run1, Limit: 500, Reckoned: 100, Counted: 50}, core.Window{Estimate: 1000}},
		{"one whose count cannot be", window.Request{History: listed(1, chat...), Run: run1, Limit: 1000, Reckoned: 100, Counted: 401}, core.Window{Estimate: 1000}},
		{"bytes that cost twice as much", window.Request{History: listed(1, chat[:1]...), Limit: 1000, PerByte: 500}, core.Window{Estimate: 192}},
		{"what a run was asked stands behind a summary of all that came since", window.Request{Last: core.Window{Summary: 9}, Run: run2, Opening: &loop[0], OpenedAt: 3, Fixed: 100, Limit: 1000},
			core.Window{Summary: 9, Opening: 3, Estimate: 200}},
		{"and where that is too much, what comes later is not shortened for it", window.Request{Last: core.Window{Summary: 9, Short: 4}, Run: run2, Opening: &loop[0], OpenedAt: 3, Fixed: 100, Limit: 150},
			core.Window{Summary: 9, Short: 4, Opening: 3, Estimate: 200}},
		{"what an earlier run was asked costs what it did", window.Request{History: listed(9, chat[:1]...), Last: core.Window{First: 9, Opening: 3}, Front: &loop[0], Limit: 1000},
			core.Window{First: 9, Opening: 3, Estimate: 200}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.request.Next()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAgainShowsAQuarterLess(t *testing.T) {
	chat := of(run1, user(368), turn(368, 0), user(368), turn(368, 0), user(368), turn(368, 0), user(368), turn(368, 0))
	tests := []struct {
		name    string
		request window.Request
		refused core.Window
		want    core.Window
		ok      bool
	}{
		{"of what was estimated", window.Request{History: listed(1, chat...), Limit: 2000, Keep: 8}, core.Window{Estimate: 800},
			core.Window{First: 3, Short: 8, Estimate: 600}, true},
		{"of what is left of a window", window.Request{History: listed(1, chat...), Limit: 2000}, core.Window{First: 3, Estimate: 600},
			core.Window{First: 5, Short: 8, Estimate: 400}, true},
		{"of the limit, whatever was counted before", window.Request{History: listed(1, chat...), Limit: 400, Reckoned: 100, Counted: 50}, core.Window{Estimate: 800},
			core.Window{First: 6, Short: 8, Estimate: 300}, true},
		{"without the front that it has not shown", window.Request{History: listed(1, chat[:1]...), Front: &chat[2], Limit: 400}, core.Window{Short: 2, Estimate: 200},
			core.Window{Short: 2, Estimate: 100}, false},
		{"and nothing when no turn is left", window.Request{History: listed(1, chat[:1]...), Limit: 400}, core.Window{Short: 2, Estimate: 200},
			core.Window{Short: 2, Estimate: 100}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := tt.request.Again(tt.refused)
			if diff := cmp.Diff(tt.want, got); diff != "" || ok != tt.ok {
				t.Errorf("%v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

// history is a random thread: runs of questions, turns, results of all sizes, and what
// is said in between.
func randomHistory(random *rand.Rand, n int) window.History {
	var messages []core.Message
	size := func() int { return random.IntN(1500) }
	for number := byte(0); len(messages) < n; number++ {
		messages = append(messages, of1(core.ID{number, byte(len(messages) >> 8)}, len(messages), user(size()))...)
		for range random.IntN(12) {
			calls := random.IntN(4)
			round := []core.Message{turn(size(), calls)}
			for i := range calls {
				bytes := size()
				if random.IntN(8) == 0 {
					bytes = 8_000 + random.IntN(50_000)
				}
				r := result(bytes)
				r.ToolResult.CallID = strconv.Itoa(i)
				round = append(round, r)
			}
			if random.IntN(6) == 0 {
				round = append(round, user(size()))
			}
			messages = append(messages, of1(core.ID{number, byte(len(messages) >> 8)}, len(messages), round...)...)
		}
	}
	h := window.History{}
	for i, seq := 0, uint64(1); i < n; i++ {
		h.Messages = append(h.Messages, messages[i])
		h.Places = append(h.Places, window.Place{Sequence: seq})
		seq += 1 + uint64(random.IntN(8)/7) // records without a message lie between
	}
	return h
}

func of1(run core.ID, from int, messages ...core.Message) []core.Message {
	run[1] = 0
	for i := range messages {
		messages[i].RunID, messages[i].ID = run, strconv.Itoa(from+i)
	}
	return messages
}

// Of random threads of 5,000 messages each request, one for each turn, is one that
// providers take: by its form at the first try, by its length at the second, whatever
// between 0.7 and 1.3 times our estimate they count, from one request to the next. It is
// the same however often it is made, and however much older history is known; and it
// goes on from the one before as long as nothing is cut.
func TestEachRequestOfALongThreadIsValid(t *testing.T) {
	threads, most := 6, 5000
	if testing.Short() || underRace {
		threads = 2
	}
	for seed := range uint64(threads) {
		random := rand.New(rand.NewPCG(seed, 1))
		h := randomHistory(random, most)
		w := walk{t: t, h: h, limit: 6_000 + random.IntN(30_000), keep: random.IntN(12), fixed: random.IntN(500), seed: seed}
		for i, m := range h.Messages {
			if m.Role == core.RoleAssistant {
				w.ask(i, random.Float64()*0.6+0.7)
			}
			if t.Failed() {
				return
			}
		}
		if w.requests < 500 || w.cuts < 20 || w.refused == 0 || w.shortened == 0 || w.cuts > w.requests/4 {
			t.Errorf("seed %d: %d requests, %d cuts, %d refused, %d with references", seed, w.requests, w.cuts, w.refused, w.shortened)
		}
	}
}

// walk goes through a thread, from request to request.
type walk struct {
	t                                  *testing.T
	seed                               uint64
	h                                  window.History
	limit, keep, fixed                 int
	last                               core.Window
	front                              *core.Message
	shown                              []core.Message
	requests, cuts, refused, shortened int
}

// ask makes the request for the turn at an index. The provider counts so many times our
// estimate.
func (w *walk) ask(turn int, counts float64) {
	known := window.History{Messages: w.h.Messages[:turn], Places: w.h.Places[:turn]}
	if turn == 0 {
		return
	}
	opening := turn - 1
	for opening > 0 && w.h.Messages[opening-1].RunID == w.h.Messages[turn].RunID {
		opening--
	}
	r := window.Request{
		History: known.From(w.last.First), Last: w.last, Run: w.h.Messages[turn].RunID, Front: w.front,
		Opening: &w.h.Messages[opening], OpenedAt: w.h.Places[opening].Sequence,
		Fixed: w.fixed, Limit: w.limit, Keep: w.keep, Reckoned: w.last.Estimate, Counted: w.last.Tokens,
	}
	w.requests++
	next := r.Next()
	if diff := cmp.Diff(next, r.Next()); diff != "" {
		w.t.Errorf("seed %d, turn %d: the request is another when it is made again:\n%s", w.seed, turn, diff)
	}
	count := w.check(turn, &r, next, counts)
	if count > w.limit {
		w.refused++
		refused := next
		var ok bool
		if next, ok = r.Again(refused); !ok || next.First < refused.First {
			w.t.Errorf("seed %d, turn %d: nothing is cut of %+v", w.seed, turn, refused)
		}
		if count = w.check(turn, &r, next, counts); count > w.limit {
			w.t.Errorf("seed %d, turn %d: refused a second time: %d tokens, estimated %d, limit %d", w.seed, turn, count, next.Estimate, w.limit)
		}
	}
	if next.First != w.last.First || next.Short != w.last.Short {
		w.cuts++
	}
	if next.Opening != w.last.Opening {
		w.front = nil
		if next.Opening != 0 {
			w.front = r.Opening
		}
	}
	next.Tokens = count
	w.last = next
}

// check makes the view, and returns how many tokens the provider counts.
func (w *walk) check(turn int, r *window.Request, next core.Window, counts float64) int {
	fail := func(text string, args ...any) {
		w.t.Helper()
		w.t.Errorf("seed %d, turn %d: %s", w.seed, turn, fmt.Sprintf(text, args...))
	}
	front := w.front
	if next.Opening == r.OpenedAt {
		front = r.Opening
	}
	if next.Opening == 0 {
		front = nil
	}
	view := window.View(r.History, next, nil, front, true)
	if whole := (window.History{Messages: w.h.Messages[:turn], Places: w.h.Places[:turn]}); len(window.View(whole, next, nil, front, true)) != len(view) {
		fail("it depends on how much is known")
	}
	sum, asked := w.fixed, false
	for i, m := range view {
		sum += window.Tokens(m)
		asked = asked || m.ID == r.Opening.ID
		if m.ToolResult != nil && strings.Contains(m.ToolResult.Message, "[Shortened: ") {
			w.shortened++
		}
		if m.Role != core.RoleAssistant {
			continue
		}
		for n, call := range m.ToolCalls {
			if i+1+n >= len(view) || view[i+1+n].ToolResult == nil || view[i+1+n].ToolResult.CallID != call.ID {
				fail("call %d of message %s has no result", n, m.ID)
			}
		}
	}
	results, calls := 0, 0
	for _, m := range view {
		calls += len(m.ToolCalls)
		if m.ToolResult != nil {
			results++
		}
	}
	switch {
	case results != calls:
		fail("%d calls have %d results", calls, results)
	case view[0].Role != core.RoleUser:
		fail("it begins with a message of role %s", view[0].Role)
	case !asked:
		fail("what the run was asked is not in it")
	case view[len(view)-1].ID != w.h.Messages[turn-1].ID:
		fail("the newest message is not in it")
	case sum > next.Estimate+20 || sum < next.Estimate-60*results: // a note, and lines that are shorter than a reference may be
		fail("%d tokens are estimated at %d", sum, next.Estimate)
	}
	if next.First == w.last.First && next.Short == w.last.Short && next.Opening == w.last.Opening {
		for i := range w.shown {
			if view[i].ID != w.shown[i].ID || view[i].Text() != w.shown[i].Text() {
				fail("message %d is another than in the request before", i)
			}
		}
	}
	w.shown = view
	return int(counts * float64(sum))
}
