package lattice_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/state/lattice"
)

const (
	tag1 = `"00000000-0000-0000-0000-000000000001"`
	tag2 = `"00000000-0000-0000-0000-000000000002"`
)

func TestJSONIsTheSameForEqualValues(t *testing.T) {
	set := lattice.ORSet[string]{}.Adding(tag(2), "b", "<a>").Merge(lattice.ORSet[string]{}.Adding(tag(1), "b", "gone"))
	items := lattice.ORMap[lattice.MaxReg[int]]{}.Putting(tag(2), "b", lattice.MaxReg[int]{}.With(2)).Merge(lattice.ORMap[lattice.MaxReg[int]]{}.Putting(tag(1), "a", lattice.MaxReg[int]{}.With(-1)))
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"an empty Flag", flag(false), `false`},
		{"a Flag", flag(true), `true`},
		{"an empty MaxReg", lattice.MaxReg[int]{}, `null`},
		{"a MaxReg", lattice.MaxReg[int]{}.With(-3), `-3`},
		{"a MinReg", lattice.MinReg[string]{}.With("<a>"), `"<a>"`},
		{"an empty GCounter", lattice.GCounter{}, `{}`},
		{"a share of nothing", lattice.GCounter{}.Add("a", 0), `{}`},
		{"a GCounter", lattice.GCounter{}.Add("b", 2).Merge(lattice.GCounter{}.Add("a", 1)), `{"a":1,"b":2}`},
		{"an empty GSet", lattice.GSet[int]{}, `[]`},
		{"a GSet of numbers", lattice.GSet[int]{}.Adding(10, 9, 10), `[9,10]`},
		{"a GSet of texts", lattice.GSet[string]{}.Adding("b", "a"), `["a","b"]`},
		{"an empty ORSet", lattice.ORSet[int]{}, `{"added":[],"removed":[]}`},
		{"an ORSet", set, `{"added":[["<a>",[` + tag2 + `]],["b",[` + tag1 + `,` + tag2 + `]],["gone",[` + tag1 + `]]],"removed":[]}`},
		{"an ORSet after a removal", set.Merge(set.Removing("gone")), `{"added":[["<a>",[` + tag2 + `]],["b",[` + tag2 + `]]],"removed":[` + tag1 + `]}`},
		{"a removal alone", set.Removing("b"), `{"added":[],"removed":[` + tag1 + `,` + tag2 + `]}`},
		{"an empty ORMap", lattice.ORMap[flag]{}, `{"members":{},"removed":[]}`},
		{"an ORMap", items, `{"members":{"a":{` + tag1 + `:-1},"b":{` + tag2 + `:2}},"removed":[]}`},
		{"an ORMap after a removal", items.Merge(items.Removing("a")), `{"members":{"b":{` + tag2 + `:2}},"removed":[` + tag1 + `]}`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, text(test.value)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestASetHasItsElements(t *testing.T) {
	set := lattice.GSet[string]{}.Adding("a").Merge(lattice.GSet[string]{}.Adding("b"))
	if !set.Has("a") || !set.Has("b") || set.Has("c") || set.Len() != 2 {
		t.Errorf("a %v, b %v, c %v of %d", set.Has("a"), set.Has("b"), set.Has("c"), set.Len())
	}
}

// What is decoded takes the place of what the variable held.
func TestDecodingStartsAnew(t *testing.T) {
	counter, register := lattice.GCounter{}.Add("a", 5), lattice.MaxReg[int]{}.With(7)
	if err := json.Unmarshal([]byte(`{"b":1,"c":0}`), &counter); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`null`), &register); err != nil {
		t.Fatal(err)
	}
	if got := text(counter) + text(register); got != `{"b":1}null` {
		t.Errorf("got %s, want the counter of b and an empty register", got)
	}
}

// A tag is put once; should two values have one all the same, they merge.
func TestValuesOfOneTagMerge(t *testing.T) {
	a, b := lattice.ORMap[lattice.GCounter]{}.Putting(tag(1), "n", lattice.GCounter{}.Add("x", 1)), lattice.ORMap[lattice.GCounter]{}.Putting(tag(1), "n", lattice.GCounter{}.Add("y", 2))
	if diff := cmp.Diff(`{"members":{"n":{`+tag1+`:{"x":1,"y":2}}},"removed":[]}`, text(a.Merge(b))); diff != "" {
		t.Error(diff)
	}
}

func TestRegistersKeepTheLargestAndTheSmallest(t *testing.T) {
	if v, ok := (lattice.MaxReg[int]{}).Merge((lattice.MaxReg[int]{}).With(-5)).Value(); v != -5 || !ok {
		t.Errorf("the largest of -5 alone is %d, %v", v, ok)
	}
	if v, _ := (lattice.MaxReg[int]{}).With(3).Merge((lattice.MaxReg[int]{}).With(2)).Value(); v != 3 {
		t.Errorf("the largest is %d, want 3", v)
	}
	if v, _ := (lattice.MinReg[int]{}).With(3).Merge((lattice.MinReg[int]{}).With(2)).Value(); v != 2 {
		t.Errorf("the smallest is %d, want 2", v)
	}
	if v, ok := (lattice.MinReg[int]{}).Value(); v != 0 || ok {
		t.Errorf("nothing was said, and the smallest is %d, %v", v, ok)
	}
}

func TestACounterAddsTheSharesOfItsActors(t *testing.T) {
	c := lattice.GCounter{}.Add("a", 2)
	c = c.Merge(c.Add("a", 3)).Merge(c.Add("b", 1))
	if c.Value() != 6 || c.Share("a") != 5 || c.Share("b") != 1 || c.Share("nobody") != 0 {
		t.Errorf("%s is %d", text(c), c.Value())
	}
	if again := c.Merge(lattice.GCounter{}.Add("a", 5)); again.Value() != 6 {
		t.Errorf("a share that came twice makes %d", again.Value())
	}
	if full := c.Merge(c.Add("b", math.MaxUint64)); full.Value() != math.MaxUint64 {
		t.Errorf("a sum over 64 bits is %d", full.Value())
	}
}

func TestARemovalTakesAwayWhatItHasSeen(t *testing.T) {
	seen := lattice.ORSet[string]{}.Adding(tag(1), "a", "b")
	again := lattice.ORSet[string]{}.Adding(tag(2), "a")
	removal := seen.Removing("a", "nothing")
	tests := []struct {
		name string
		set  lattice.ORSet[string]
		want string
	}{
		{"nothing removed", seen, `["a","b"]`},
		{"one tag is one adding: both go", seen.Merge(removal), `[]`},
		{"an adding that the removal had not seen stays", seen.Merge(again).Merge(removal), `["a"]`},
		{"the removal comes first", removal.Merge(seen), `[]`},
		{"the same adding comes again", seen.Merge(removal).Merge(seen), `[]`},
		{"a new adding after the removal", seen.Merge(removal).Merge(again), `["a"]`},
		{"a second removal sees both", seen.Merge(again).Merge(seen.Merge(again).Removing("a")), `[]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			elements := test.set.Elements()
			if elements == nil {
				elements = []string{}
			}
			if diff := cmp.Diff(test.want, text(elements)); diff != "" {
				t.Error(diff)
			}
			if test.set.Len() != len(elements) || test.set.Has("a") != (test.want == `["a"]` || test.want == `["a","b"]`) {
				t.Errorf("%d elements, a is in it: %v", test.set.Len(), test.set.Has("a"))
			}
		})
	}
}

func TestAMemberIsTheMergeOfWhatWasPutThere(t *testing.T) {
	first := lattice.ORMap[lattice.GSet[string]]{}.Putting(tag(1), "a", lattice.GSet[string]{}.Adding("x"))
	second := lattice.ORMap[lattice.GSet[string]]{}.Putting(tag(2), "a", lattice.GSet[string]{}.Adding("y"))
	tests := []struct {
		name string
		m    lattice.ORMap[lattice.GSet[string]]
		want string
		ok   bool
	}{
		{"one", first, `["x"]`, true},
		{"two", first.Merge(second), `["x","y"]`, true},
		{"removed", first.Merge(first.Removing("a")), `[]`, false},
		{"put at the time of the removal", first.Merge(second).Merge(first.Removing("a")), `["y"]`, true},
		{"nothing", lattice.ORMap[lattice.GSet[string]]{}, `[]`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			value, ok := test.m.Member("a")
			if text(value) != test.want || ok != test.ok || test.m.Len() != len(test.m.Names()) {
				t.Errorf("%s, %v, want %s, %v", text(value), ok, test.want, test.ok)
			}
		})
	}
}

func TestWhatIsNoLatticeIsRefused(t *testing.T) {
	tests := []struct {
		name string
		text string
		into any
		want string
	}{
		{"a register", `"x"`, new(lattice.MaxReg[int]), "json: cannot unmarshal string into Go value of type int"},
		{"a counter", `{"a":-1}`, new(lattice.GCounter), "json: cannot unmarshal number -1 into Go value of type uint64"},
		{"a set", `{}`, new(lattice.GSet[string]), "json: cannot unmarshal object into Go value of type []string"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := json.Unmarshal([]byte(test.text), test.into)
			if err == nil || err.Error() != test.want {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
	for _, bad := range []string{`[]`, `{"removed":["x"]}`, `{"added":[1]}`} {
		if json.Unmarshal([]byte(bad), new(lattice.ORSet[string])) == nil {
			t.Errorf("%s is a set", bad)
		}
	}
	for _, bad := range []string{`[]`, `{"removed":["x"]}`, `{"members":{"a":1}}`} {
		if json.Unmarshal([]byte(bad), new(lattice.ORMap[flag])) == nil {
			t.Errorf("%s is a map", bad)
		}
	}
}

func TestAPatchHoldsWhatIsNew(t *testing.T) {
	key := lattice.Key[lattice.GSet[string]]("k", state.ScopeThread)
	registry, err := new(state.Registry).With(key.Definition())
	if err != nil {
		t.Fatal(err)
	}
	s := state.Snapshot{}.With(1, map[state.KeyPath]json.RawMessage{
		{Scope: state.ScopeThread, Name: "k"}: json.RawMessage(`["a name that is long enough","c name that is long enough"]`),
	})

	_, patch, err := registry.Commit(s, key.Update(lattice.GSet[string]{}.Adding("b", "a name that is long enough")).Batch)
	if diff := cmp.Diff(`[{"op":"add","path":"/thread/k/1","value":"b"}]`, text(patch)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	_, patch, err = registry.Commit(s, key.Update(lattice.GSet[string]{}.Adding("a name that is long enough")).Batch)
	if len(patch) != 0 || err != nil {
		t.Errorf("nothing new makes %s, %v", text(patch), err)
	}
}

// A hook that runs again makes the same tags, and so adds nothing twice.
func TestTheSameAddingCountsOnce(t *testing.T) {
	id := core.ID{1}
	once := lattice.ORSet[string]{}.Adding(id, "a")
	twice := once.Merge(lattice.ORSet[string]{}.Adding(id, "a"))
	if text(once) != text(twice) {
		t.Errorf("%s and %s", text(once), text(twice))
	}
}
