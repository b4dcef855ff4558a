package state_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/state/lattice"
)

var (
	visits = state.Counter("visits", state.ScopeThread)
	labels = lattice.Key[lattice.GSet[string]]("labels", state.ScopeRun)
	peak   = lattice.Key[lattice.MaxReg[int]]("peak", state.ScopeThread)
	ages   = state.Map[int]("ages", state.ScopeThread)
)

// drawUpdate draws an update of a commutative key by one of several hooks: each sets
// members of its own in the map.
func drawUpdate(t *rapid.T, hook int) state.Command {
	switch rapid.IntRange(0, 4).Draw(t, "key") {
	case 0:
		return visits.Update(rapid.IntRange(-2, 2).Draw(t, "n"))
	case 1:
		return labels.Update(lattice.GSet[string]{}.Adding(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "label")))
	case 2:
		return peak.Update(lattice.MaxReg[int]{}.With(rapid.IntRange(-2, 2).Draw(t, "peak")))
	case 3:
		return ages.Put(string(rune('a'+hook)), rapid.IntRange(0, 2).Draw(t, "age"))
	default:
		return ages.Delete(string(rune('a' + hook)))
	}
}

func TestAnyInterleavingOfCommutativeUpdatesGivesTheSameState(t *testing.T) {
	r := registry(t, visits.Definition(), labels.Definition(), peak.Definition(), ages.Definition())
	rapid.Check(t, func(t *rapid.T) {
		hooks := make([][]state.Command, rapid.IntRange(2, 4).Draw(t, "hooks"))
		var turns []int // whose update is next
		for i := range hooks {
			for range rapid.IntRange(0, 3).Draw(t, "updates") {
				hooks[i], turns = append(hooks[i], drawUpdate(t, i)), append(turns, i)
			}
		}
		var states []map[string]string
		for range 2 {
			var s state.Snapshot
			next := make([]int, len(hooks))
			for _, i := range rapid.Permutation(turns).Draw(t, "order") {
				command := hooks[i][next[i]]
				next[i]++
				after, _, err := r.Commit(s, command.Batch)
				if err != nil {
					t.Fatal(err)
				}
				s = after
			}
			all := values(s)
			if s.Revision() > 0 && all["/thread/ages"] == "{}" {
				delete(all, "/thread/ages") // the object is made by the first update, whatever it does
			}
			states = append(states, all)
		}
		if diff := cmp.Diff(states[0], states[1]); diff != "" {
			t.Fatal(diff)
		}

		// Together as the engine merges them, it is the same again.
		var batches []state.Batch
		for _, commands := range hooks {
			batches = append(batches, state.Combine(commands...).Batch)
		}
		together, err := r.Merge(batches...)
		if err != nil {
			t.Fatal(err)
		}
		s, _, err := r.Commit(state.Snapshot{}, together)
		all := values(s)
		if all["/thread/ages"] == "{}" {
			delete(all, "/thread/ages")
		}
		if diff := cmp.Diff(states[0], all); diff != "" || err != nil {
			t.Fatal(diff, err)
		}
	})
}

func TestABatchAppliesWholeOrNotAtAll(t *testing.T) {
	r := registry(t)
	before := given(t, 4, map[string]string{"/thread/total": "1", "/run/names": `["a"]`, "/thread/seen": `{"a":1}`})
	had := values(before)
	rapid.Check(t, func(t *rapid.T) {
		good := command(t).Batch
		batch := state.Batch{Mutations: slices.Clone(good.Mutations)}
		bad := rapid.SampledFrom([]state.Mutation{
			{}, {Key: "nobody"}, {Key: "total", Update: json.RawMessage(`"x"`)}, {Key: "bomb", Update: json.RawMessage("1")}, {Key: "seen", Update: json.RawMessage("[")},
		}).Draw(t, "bad")
		if bad.Key != "" {
			batch.Mutations = slices.Insert(batch.Mutations, rapid.IntRange(0, len(batch.Mutations)).Draw(t, "at"), bad)
		}
		s, patch, err := r.Commit(before.ForCall(0), batch)
		if diff := cmp.Diff(had, values(before)); diff != "" {
			t.Fatalf("the snapshot before it changed: %s", diff)
		}
		if bad.Key != "" {
			if err == nil || patch != nil || !s.Equal(state.Snapshot{}) {
				t.Fatalf("%v, %s, %v", err, text(patch), values(s))
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		one := before.ForCall(0)
		for _, m := range good.Mutations {
			if one, _, err = r.Commit(one, state.Batch{Mutations: []state.Mutation{m}}); err != nil {
				t.Fatal(err)
			}
		}
		same(t, "one mutation after the other", one, s)
	})
}

// The log of several runs, read by a program that has none of their keys: each of its
// revisions comes back, and an agent without the keys goes on from it.
func TestReplayingTheLogGivesTheSnapshotAtEveryRevision(t *testing.T) {
	r := registry(t)
	stranger := registry(t, visits.Definition())
	rapid.Check(t, func(t *rapid.T) {
		type commit struct {
			Patch         json.RawMessage
			From, To      uint64
			NewRun, Fresh bool
		}
		var log []commit
		var s state.Snapshot
		at := map[uint64]state.Snapshot{0: s}
		for range rapid.IntRange(1, 8).Draw(t, "commits") {
			var c commit
			switch rapid.IntRange(0, 4).Draw(t, "begin") {
			case 0:
				s, c.NewRun = s.BeginRun(), true
			case 1:
				s, c.Fresh = s.BeginStep(), true
			}
			next, patch, err := r.Commit(s.ForCall(rapid.IntRange(0, 1).Draw(t, "call")), command(t).Batch)
			if err != nil {
				t.Fatal(err)
			}
			c.Patch, c.From, c.To = json.RawMessage(text(patch)), s.Revision(), next.Revision()
			if log, s = append(log, c), next; len(patch) > 0 {
				at[next.Revision()] = next
			}
		}
		for revision, want := range at {
			fold := state.Snapshot{}.Fold()
			for _, c := range log {
				if c.From >= revision {
					break
				}
				switch {
				case c.NewRun:
					fold.BeginRun()
				case c.Fresh:
					fold.BeginStep()
				}
				var patch state.Patch
				if err := json.Unmarshal(c.Patch, &patch); err != nil {
					t.Fatal(err)
				}
				if err := fold.Apply(patch, c.To); err != nil {
					t.Fatal(err)
				}
			}
			got := fold.Snapshot()
			if !got.Equal(want) {
				t.Fatalf("revision %d: %s", revision, cmp.Diff(values(want), values(got)))
			}
			after, patch, err := stranger.Commit(got, visits.Update(1).Batch)
			if err != nil {
				t.Fatal(err)
			}
			kept := values(after)
			delete(kept, "/thread/visits")
			if diff := cmp.Diff(values(want), kept); diff != "" || len(patch) != 1 {
				t.Fatalf("a stranger's commit lost something: %s", diff)
			}
		}
	})
}
