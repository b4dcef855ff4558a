package window_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/window"
)

// A request measures the messages that came since the one before it, and no older one.
func TestARequestMeasuresWhatIsNew(t *testing.T) {
	var sum window.Sum
	h := listed(1, user(368), turn(368, 0), user(368), turn(368, 0))
	r := window.Request{History: h, Limit: 100_000, Sum: &sum}
	if got := r.Next().Estimate; got != 400 {
		t.Fatalf("four messages are estimated at %d, want 400", got)
	}
	for i := range h.Messages { // messages never change: a request that looked at them would see it
		h.Messages[i].Content = []core.Block{{Type: core.BlockText, Text: strings.Repeat("x", 10_000)}}
	}
	more := listed(5, user(768))
	r.History = window.History{Messages: slices.Concat(h.Messages, more.Messages), Places: slices.Concat(h.Places, more.Places)}
	if got := r.Next().Estimate; got != 600 {
		t.Errorf("with a message of 200 more they are estimated at %d, want 600", got)
	}
	if got := r.Size(); got != 600 {
		t.Errorf("their size is %d, want 600", got)
	}
	r.PerByte = 500
	if got := r.Next().Estimate; got != 4*5008+392 {
		t.Errorf("where a byte costs twice as much they are estimated at %d, want 20424", got)
	}
}

// Whatever happens to a thread between two requests, the second is the one of a process that
// measures everything: messages come, are withdrawn and replaced, a window is cut, refused and
// cut again, a summary takes the place of messages, and another model counts bytes otherwise.
func TestSumsFollowTheThread(t *testing.T) {
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 7))
		var sum window.Sum
		var last core.Window
		h, next := window.History{}, uint64(1)
		perByte, happened := 250, map[string]int{}
		for range 400 {
			switch what := random.IntN(20); {
			case what < 10 || len(h.Messages) < 2:
				happened["said"]++
				more := randomHistory(random, 1+random.IntN(6))
				for i := range more.Messages {
					more.Places[i].Sequence = next
					next += 1 + uint64(random.IntN(2))
				}
				h = window.History{Messages: slices.Concat(h.Messages, more.Messages), Places: slices.Concat(h.Places, more.Places)}
			case what < 13: // to a random one: the sequences after it are not used again
				happened["withdrawn"]++
				n := 1 + random.IntN(len(h.Messages)-1)
				h = window.History{Messages: h.Messages[:n:n], Places: h.Places[:n:n]}
				if last.First > h.Places[n-1].Sequence {
					last = core.Window{}
				}
			case what == 13:
				happened["summed"]++
				last = core.Window{Summary: h.Places[random.IntN(len(h.Places)-1)].Sequence, Short: last.Short}
			case what == 14:
				happened["model"]++
				perByte = []int{0, 250, 300, 500}[random.IntN(4)]
			case what == 15: // another process continued from an older window
				happened["back"]++
				last = core.Window{}
			}
			r := window.Request{
				History: h.From(max(last.First, last.Summary+1)), Last: last, Run: core.ID{1}, Fixed: 100, Limit: 5_000 + random.IntN(8_000), Keep: 4, PerByte: perByte,
			}
			known := r
			known.Sum = &sum
			if got, want := known.Size(), r.Size(); got != want {
				t.Fatalf("seed %d: a size of %d, want %d", seed, got, want)
			}
			w := r.Next()
			if diff := cmp.Diff(w, known.Next()); diff != "" {
				t.Fatalf("seed %d: after %v (-want +got):\n%s", seed, happened, diff)
			}
			if random.IntN(12) == 0 {
				again, _ := r.Again(w)
				got, _ := known.Again(w)
				if diff := cmp.Diff(again, got); diff != "" {
					t.Fatalf("seed %d: refused (-want +got):\n%s", seed, diff)
				}
				w = again
			}
			if w.First != last.First {
				happened["cut"]++
			}
			last = w
		}
		for _, what := range []string{"said", "withdrawn", "summed", "model", "back", "cut"} {
			if happened[what] == 0 {
				t.Errorf("seed %d: nothing was %s", seed, what)
			}
		}
	}
}
