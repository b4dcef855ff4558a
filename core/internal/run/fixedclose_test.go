package run_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run"
)

// A run that is cancelled while one of its results is missing takes in those that were found
// in the order of their fixed places, though the missing one would come between.
func TestFoundResultsOfFixedPlacesInARunThatCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{9, 9, 9, 1}, []string{"a", "b", "c", "d"})
		_, _ = p.cut(t, 3*time.Second, false)
		p.leave(t, left{call: 1, place: 4, adds: "b"}, left{call: 2, place: 3, adds: "c"})
		if _, err := p.box.Cancel(t.Context(), key, p.head(t, key).Run.ID); err != nil {
			t.Fatal(err)
		}
		p.under(t, 2, 4, 3, 1)
		p.finish(t, key, nil)
		time.Sleep(20 * time.Second) // until the tools of the first claim have ended
		var places []string
		for i := range 4 {
			places = append(places, fmt.Sprint(p.entry(t, uint64(3+i)).Place))
		}
		if diff := cmp.Diff([]string{"0", "4", "3", "1", "dcb"}, append(places, p.left)); diff != "" {
			t.Errorf("places and the key (-want +got):\n%s\n%s", diff, &p.log)
		}
	})
}

// Results that are kept back when the step's time is over are not stored before those that
// they wait for: the next claim runs their tools again.
func TestResultsThatAreKeptBackWhenTheTimeIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{9, 1}, []string{"a", "b"})
		p.under(t, 1, 2)
		if stepped, err := p.cut(t, 3*time.Second, false); err != nil || !stepped.Retry || len(p.puts) > 0 {
			t.Fatalf("the step is %+v, %v, after puts of %q; want it given back after none", stepped, err, p.puts)
		}
		time.Sleep(20 * time.Second) // until the tools of the first claim have ended
		p.mu.Lock()
		p.ran = nil
		p.mu.Unlock()
		if _, err := p.stepper.Step(t.Context(), run.Work{Key: key, Head: p.take(t, key)}, nil); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]int{1, 0}, p.ran); diff != "" {
			t.Errorf("tools that ran (-want +got):\n%s", diff)
		}
	})
}

// Calls that run one after the other have their results at once, whatever places are fixed.
func TestNoResultIsKeptBackInASequentialRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{1, 1}, []string{"a", "b"})
		p.options.mode = agent.Sequential
		p.under(t, 2, 1)
		p.comesTo(t, []string{"call 0", "call 1"}, []string{"0 ok", "1 ok"}, []string{`ok: "added 0"`, `ok: "added 1"`}, []string{"0", "0", "ab"})
	})
}

// A result that the head marks done is taken in where it stands, although one that has a place
// before it is still to come.
func TestADoneResultOfAFixedPlaceIsNotKeptBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaced(t, []int{9, 9, 1}, []string{"a", "b", "c"})
		_, _ = p.cut(t, 3*time.Second, false)
		p.leave(t, left{call: 0, place: 3, adds: "a", done: true})
		p.under(t, 3, 2, 1)
		p.finish(t, key, nil)
		time.Sleep(20 * time.Second) // until the tools of the first claim have ended
		var places []string
		for i := range 3 {
			places = append(places, fmt.Sprint(p.entry(t, uint64(3+i)).Place))
		}
		want := []string{`ok: "added 2" after d0`, `ok: "added 1"`, `ok: "added 2"`, "3", "2", "1", "cab"}
		if diff := cmp.Diff(want, append(append(p.results(t), places...), p.left)); diff != "" {
			t.Errorf("results, places and the key (-want +got):\n%s\n%s", diff, &p.log)
		}
	})
}
