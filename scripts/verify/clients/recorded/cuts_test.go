package recorded

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/model"
)

// cuts is how many streams the test breaks off, over all transcripts.
const cuts = 2000

// told is what our adapter yields for a body.
type told struct {
	deltas []model.Delta
	err    error
}

func (s *transcript) tell(t *testing.T, body *pieces) told {
	t.Helper()
	var all told
	for d, err := range s.stream(t, body) {
		if err != nil {
			all.err = err
			break
		}
		all.deltas = append(all.deltas, d)
	}
	return all
}

// place returns where a body is cut: every third time within a character of several bytes
// or within an escape, if there is one.
func place(body []byte, random *rand.Rand) int {
	at := random.IntN(len(body) + 1)
	if random.IntN(3) > 0 {
		return at
	}
	for i := at; i < len(body); i++ {
		if !utf8.RuneStart(body[i]) || i > 0 && body[i-1] == '\\' {
			return i
		}
	}
	return at
}

// arrivals returns for each delta after how many bytes of the body the event ends that has its
// text, as far as that can be seen; otherwise more bytes than there are.
func (s *transcript) arrivals(deltas []model.Delta) []int {
	after := make([]int, len(deltas))
	from, last := 0, "" // where the last delta was found, and its text
	for i, d := range deltas {
		after[i] = len(s.body) + 1
		if d.Text == "" {
			continue
		}
		if d.Text == last {
			from = min(from+1, len(s.events)) // an event that says a text twice means it once
		}
		at := slices.IndexFunc(s.events[from:], func(e event) bool { return slices.Contains(e.texts, d.Text) })
		if at >= 0 {
			from, last = from+at, d.Text
			after[i] = s.events[from].end
		}
	}
	return after
}

// checkCut compares what came before a cut with what the whole stream says: the beginning of
// it, with each delta that had arrived. A chat that has its finish reason is complete: what it
// may lack is the usage, or an error of the server that came afterwards.
func checkCut(cut, whole told, after []int, at int) error {
	rest, complete := whole.deltas, false
	for i, d := range cut.deltas {
		complete = complete || d.Type == model.DeltaStop
		if complete && i < len(cut.deltas)-1 {
			return fmt.Errorf("%d deltas after the stop", len(cut.deltas)-1-i)
		}
		for complete && len(rest) > 0 && rest[0].Type == model.DeltaUsage {
			rest = rest[1:]
		}
		if complete && len(rest) == 0 && whole.err != nil {
			break
		}
		if len(rest) == 0 {
			return fmt.Errorf("%d deltas, the whole stream has %d", len(cut.deltas), len(whole.deltas))
		}
		if diff := cmp.Diff(rest[0], d); diff != "" {
			return fmt.Errorf("delta %d (-whole +cut):\n%s", i, diff)
		}
		rest = rest[1:]
	}
	e, ok := errors.AsType[*model.Error](cut.err)
	switch n := len(cut.deltas); {
	case complete != (cut.err == nil):
		return fmt.Errorf("complete is %t, the error %w", complete, cut.err)
	case complete && len(rest) > 0:
		return fmt.Errorf("the cut stream is complete, %d deltas are missing", len(rest))
	case !complete && n < len(after) && after[n] <= at:
		return fmt.Errorf("%d deltas, the event of the next one ended at byte %d", n, after[n])
	case complete, whole.err != nil && cut.err.Error() == whole.err.Error():
	case !ok || e.Kind != model.KindInterrupted:
		return fmt.Errorf("error %w, want one of kind %s", cut.err, model.KindInterrupted)
	}
	return nil
}

func TestACutLosesAndRepeatsNothing(t *testing.T) {
	all := transcripts(t)
	wholes, after := map[string]told{}, map[string][]int{}
	for i := range cuts {
		s := &all[i%len(all)]
		whole, ok := wholes[s.name]
		if !ok {
			whole = s.tell(t, &pieces{rest: s.body, random: rand.New(rand.NewPCG(20261130, 0))})
			wholes[s.name], after[s.name] = whole, s.arrivals(whole.deltas)
		}
		random := rand.New(rand.NewPCG(20261130, uint64(i)+1))
		at := place(s.body, random)
		cut := s.tell(t, &pieces{rest: s.body[:at], random: random, broken: random.IntN(2) == 0})
		if err := checkCut(cut, whole, after[s.name], at); err != nil {
			t.Errorf("cut %d, %s before byte %d of %d: %v", i, s.name, at, len(s.body), err)
		}
	}
}
