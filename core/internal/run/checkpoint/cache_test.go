package checkpoint

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/state"
)

func cacheKey(n int) core.ThreadKey { return core.ThreadKey{Tenant: "t", Thread: strconv.Itoa(n)} }

// talked is a conversation of about so many bytes.
func talked(seq uint64, bytes int) *Conversation {
	b := build(&Conversation{incarnation: 1})
	b.c.Seq = seq
	b.keep(&thread.Entry{Run: core.ID{1}, Message: &core.Message{Role: core.RoleUser, Content: []core.Block{{Text: strings.Repeat("x", bytes)}}}})
	return b.done(all)
}

// all is a window of everything.
const all = window.Newest(1 << 40)

func head(seq uint64) *thread.Head { return &thread.Head{Incarnation: 1, Seq: seq} }

func TestCacheIsBoundedByBytes(t *testing.T) {
	c := newCache(1 << 20)
	for i := range 1000 {
		c.put(cacheKey(i), talked(1, 100_000))
		if c.used > c.limit {
			t.Fatalf("%d bytes are used after %d threads, at most %d", c.used, i+1, c.limit)
		}
	}
	for i, want := range map[int]bool{0: false, 990: false, 991: true, 999: true} { // 9 of about 115 KB
		if got := c.get(cacheKey(i), head(1)) != nil; got != want {
			t.Errorf("thread %d is kept: %v, want %v", i, got, want)
		}
	}
	if c.put(cacheKey(1), talked(1, 2<<20)); c.get(cacheKey(1), head(1)) != nil {
		t.Error("a conversation that is larger than the cache is kept")
	}
	for i := range 1000 {
		c.mu.Lock()
		if entry := c.byKey[cacheKey(i)]; entry != nil {
			c.remove(entry)
		}
		c.mu.Unlock()
	}
	if c.used != 0 || len(c.byKey) != 0 || c.ring.next != &c.ring || c.ring.before != &c.ring {
		t.Errorf("the empty cache uses %d bytes for %d threads", c.used, len(c.byKey))
	}
}

func TestCacheIsFilledToItsLastByte(t *testing.T) {
	c := newCache(2 * talked(1, 1000).bytes())
	c.put(cacheKey(1), talked(1, 1000))
	c.put(cacheKey(2), talked(1, 1000))
	if c.get(cacheKey(1), head(1)) == nil || c.get(cacheKey(2), head(1)) == nil {
		t.Error("two conversations that fit are not both kept")
	}
}

func TestCacheKeepsWhatWasUsedLast(t *testing.T) {
	c := newCache(250_000)
	c.put(cacheKey(1), talked(1, 100_000))
	c.put(cacheKey(2), talked(1, 100_000))
	c.get(cacheKey(1), head(1))
	c.put(cacheKey(3), talked(1, 100_000))
	for i, want := range map[int]bool{1: true, 2: false, 3: true} {
		if got := c.get(cacheKey(i), head(1)) != nil; got != want {
			t.Errorf("thread %d is kept: %v, want %v", i, got, want)
		}
	}
}

// What is cached is a prefix of the log: never another incarnation's, never
// ahead of the head, and never replaced by a shorter one.
func TestCacheHoldsCommittedPrefixes(t *testing.T) {
	c := newCache(1 << 20)
	c.put(cacheKey(1), talked(5, 10))
	c.put(cacheKey(1), talked(3, 10))
	if got := c.get(cacheKey(1), head(7)); got == nil || got.Seq != 5 {
		t.Errorf("the cache holds %+v, want the conversation up to 5", got)
	}
	if got := c.get(cacheKey(1), head(4)); got != nil {
		t.Errorf("for a head at 4 the cache returns a conversation up to %d", got.Seq)
	}
	c.put(cacheKey(1), talked(5, 10))
	if got := c.get(cacheKey(1), &thread.Head{Incarnation: 2, Seq: 7}); got != nil {
		t.Error("the cache returns another incarnation's conversation")
	}
	renewed := talked(2, 10)
	renewed.incarnation = 2
	c.put(cacheKey(1), talked(5, 10))
	c.put(cacheKey(1), renewed)
	if got := c.get(cacheKey(1), &thread.Head{Incarnation: 2, Seq: 2}); got != renewed {
		t.Error("the longer conversation of an earlier incarnation kept the new one out")
	}
}

// Entries that do not fold onto what is known leave it as it was: a conversation without
// their state would be wrong for ever.
func TestEntriesThatDoNotFoldAreAnError(t *testing.T) {
	r := New(Options{Window: all})
	before := talked(1, 10)
	next, err := r.Extend(before, []thread.Entry{{Revision: 1, Patch: state.Patch{{Op: "remove", Path: "/thread/nothing"}}}}, List[core.Message]{}, nil)
	if next != nil || err == nil || before.Seq != 1 {
		t.Errorf("the conversation goes on to %+v, %v", next, err)
	}
}

// Two steps may go on from one conversation: what the one adds is not seen by the
// other.
func TestConversationIsSharedByItsBuilders(t *testing.T) {
	said := func(text string) *thread.Entry {
		m := core.UserMessage(text)
		return &thread.Entry{Run: core.ID{1}, Message: &m}
	}
	shared := &Conversation{Messages: List[core.Message]{}.With(core.UserMessage("first")), Places: List[window.Place]{}.With(window.Place{Sequence: 1}), Seq: 1}
	one, two := build(shared), build(shared)
	one.keep(said("one"))
	two.c.Seq = 5
	two.keep(said("two"))
	if got := one.c.Messages.At(1).Text(); got != "one" || one.c.Places.At(1).Sequence != 1 || two.c.Places.At(1).Sequence != 5 {
		t.Errorf("the first says %q at %d, the other one something at %d; want one at 1, and 5", got, one.c.Places.At(1).Sequence, two.c.Places.At(1).Sequence)
	}
}

// A draft may have said what was not committed: the log counts.
func TestConversationHasWhatTheLogSays(t *testing.T) {
	message := func(id string) core.Message { return core.Message{ID: id, Role: core.RoleUser} }
	shared := &Conversation{Messages: List[core.Message]{}.With(message("m1")), Places: List[window.Place]{}.With(window.Place{Sequence: 1}), Seq: 1}
	for _, said := range []string{"m2", "m3"} {
		b := build(shared)
		b.ahead = shared.Messages.With(message("m2"))
		m := message(said)
		b.keep(&thread.Entry{Run: core.ID{1}, Message: &m})
		if got := b.c.Messages.At(1).ID; got != said || b.c.Messages.Len() != 2 {
			t.Errorf("the second of %d messages is %s, want %s", b.c.Messages.Len(), got, said)
		}
	}
}

// A round ends with its last result; of one that began before what was read the turn
// behind it says all.
func TestRoundsThatHaveFailedAreCounted(t *testing.T) {
	turn := core.Message{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "a"}, {ID: "b"}}}
	result := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{IsError: true}}
	tests := []struct {
		name     string
		messages []core.Message
		want     int
	}{
		{"a round from the beginning", []core.Message{turn, result, result}, 3},
		{"a round whose second result is missing", []core.Message{turn, result}, 2},
		{"a round behind others", []core.Message{turn, result, result, turn, result, result}, 4},
		{"the end of a round that was not read", []core.Message{result}, 2},
	}
	for _, tt := range tests {
		b := build(&Conversation{Seq: 7, Run: core.ID{1}, Totals: thread.Totals{ErrorSteps: 2}})
		for _, m := range tt.messages {
			b.c.Seq++
			b.keep(&thread.Entry{Run: core.ID{1}, Message: &m})
		}
		if int(b.c.Totals.ErrorSteps) != tt.want {
			t.Errorf("%s: %d steps have failed in a row, want %d", tt.name, b.c.Totals.ErrorSteps, tt.want)
		}
	}
}

// What a superseded range was cut from may have room for older messages again,
// unless there are none.
func TestConversationIsShortAfterACut(t *testing.T) {
	tests := []struct {
		name  string
		seqs  []uint64
		from  uint64
		left  int
		short bool
	}{
		{"the end of all that is known, with more before it", []uint64{5, 6, 7}, 6, 1, true},
		{"the end of the whole log", []uint64{1, 2, 3}, 2, 1, false},
		{"all that is known, and not the first of the log", []uint64{5, 6, 7}, 2, 0, true},
		{"all of the log", []uint64{2, 3}, 1, 0, false},
		{"nothing that is known", []uint64{5, 6, 7}, 8, 3, false},
	}
	for _, tt := range tests {
		b := &builder{c: &Conversation{Places: ListOf(placed(tt.seqs)), Messages: ListOf(make([]core.Message, len(tt.seqs))), size: int32(240 * len(tt.seqs))}}
		b.cut(tt.from)
		if b.c.Places.Len() != tt.left || b.c.Messages.Len() != tt.left || int(b.c.size) != 240*tt.left || b.c.short != tt.short {
			t.Errorf("%s: %d messages of %d bytes are left, short %v; want %d, short %v", tt.name, b.c.Messages.Len(), b.c.size, b.c.short, tt.left, tt.short)
		}
	}
}

func placed(seqs []uint64) (places []window.Place) {
	for _, seq := range seqs {
		places = append(places, window.Place{Sequence: seq})
	}
	return places
}

// What a run was asked is its first message, if the log was read from there.
func TestOpeningAndTotalsOfARun(t *testing.T) {
	said := func(run byte, text string) thread.Entry {
		m := core.UserMessage(text)
		return thread.Entry{Run: core.ID{run}, Message: &m}
	}
	turn := func(run byte) thread.Entry {
		return thread.Entry{Run: core.ID{run}, Message: &core.Message{Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: "turn"}}}, Totals: &thread.Totals{Steps: 1}}
	}
	failed := thread.Entry{Run: core.ID{1}, Message: &core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{IsError: true}}}
	tests := []struct {
		name    string
		before  uint64 // sequence of the entry before those that were read
		entries []thread.Entry
		opening string
		totals  thread.Totals
	}{
		{"the first run", 0, []thread.Entry{said(1, "a"), turn(1), failed, said(1, "steered")}, "a", thread.Totals{Steps: 1, Failures: 1}},
		{"the next run", 0, []thread.Entry{said(1, "a"), turn(1), failed, said(2, "b"), turn(2), said(2, "steered")}, "b", thread.Totals{Steps: 1}},
		{"a run that has only begun", 0, []thread.Entry{said(1, "a"), turn(1), failed, said(2, "b"), said(2, "and")}, "b", thread.Totals{}},
		{"a run that began before what was read", 7, []thread.Entry{said(1, "steered"), turn(1)}, "", thread.Totals{Steps: 1}},
		{"a run behind it", 7, []thread.Entry{turn(1), said(2, "b")}, "b", thread.Totals{}},
		{"a run that begins without input", 0, []thread.Entry{turn(1), said(1, "steered")}, "", thread.Totals{Steps: 1}},
	}
	for _, tt := range tests {
		b := build(&Conversation{Seq: tt.before})
		for _, entry := range tt.entries {
			b.c.Seq++
			b.keep(&entry)
		}
		opening := ""
		if b.c.Opening.Message != nil {
			opening = b.c.Opening.Message.Text()
		}
		if diff := cmp.Diff(tt.totals, b.c.Totals); diff != "" || opening != tt.opening {
			t.Errorf("%s: opening %q, want %q; totals (-want +got):\n%s", tt.name, opening, tt.opening, diff)
		}
	}
}

// What a run was asked is kept behind its window, and is counted there.
func TestCacheCountsTheOpeningBehindTheWindow(t *testing.T) {
	b := build(&Conversation{incarnation: 1})
	for i, role := range []core.Role{core.RoleUser, core.RoleAssistant, core.RoleAssistant, core.RoleAssistant} {
		m := core.Message{ID: strconv.Itoa(i), Role: role}
		if role == core.RoleUser {
			m.Content = []core.Block{{Text: strings.Repeat("x", 100_000)}}
		}
		if err := b.add(&thread.Entry{Run: core.ID{1}, Message: &m}); err != nil {
			t.Fatal(err)
		}
	}
	long := b.done(1) // the newest message
	if long.Messages.Len() != 2 || long.Opening.Message == nil {
		t.Fatalf("%d messages are kept, opening %v", long.Messages.Len(), long.Opening.Message != nil)
	}
	if got := long.bytes(); got < 112_500 || got > 116_000 {
		t.Errorf("%d bytes, want those of its 100,000 letters, rounded up", got)
	}
}

// A step of one thread costs the same, however many others are kept.
func BenchmarkCache(b *testing.B) {
	c := newCache(1 << 30)
	for i := range 100_000 {
		c.put(cacheKey(i), talked(1, 10))
	}
	v := talked(2, 10)
	b.ReportAllocs()
	for b.Loop() {
		c.get(cacheKey(99_999), head(2))
		c.put(cacheKey(99_999), v)
	}
}
