package state_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/state"
)

func TestSetMakesAValueWhateverApplyWouldDo(t *testing.T) {
	tests := []struct {
		name   string
		before map[string]string
		set    state.Command
		want   map[string]string
		patch  string
	}{
		{"a sum", map[string]string{"/thread/total": "3"}, state.Set(total, 5),
			map[string]string{"/thread/total": "5"}, `[{"op":"replace","path":"/thread/total","value":5}]`},
		{"a list", map[string]string{"/run/names": `["a"]`}, state.Set(names, []string{"b"}),
			map[string]string{"/run/names": `["b"]`}, `[{"op":"replace","path":"/run/names","value":["b"]}]`},
		{"what is absent", nil, state.Set(total, 5),
			map[string]string{"/thread/total": "5"}, `[{"op":"add","path":"/thread/total","value":5}]`},
		{"null, which is no clear", map[string]string{"/run/plan~1~0": "1"}, state.Set(plan, nil),
			map[string]string{"/run/plan~1~0": "null"}, `[{"op":"replace","path":"/run/plan~1~0","value":null}]`},
		{"the zero value, which is no clear", map[string]string{"/thread/total": "1"}, state.Set(total, 0),
			map[string]string{"/thread/total": "0"}, `[{"op":"replace","path":"/thread/total","value":0}]`},
		{"a value that does not decode", map[string]string{"/thread/total": `"x"`}, state.Set(total, 5),
			map[string]string{"/thread/total": "5"}, `[{"op":"replace","path":"/thread/total","value":5}]`},
		{"the value that is there", map[string]string{"/thread/total": "5"}, state.Set(total, 5),
			map[string]string{"/thread/total": "5"}, "null"},
		{"before an update of a list", map[string]string{"/run/names": `["a"]`}, state.Combine(state.Set(names, []string{"b"}), names.Update("c")),
			map[string]string{"/run/names": `["b","c"]`}, `[{"op":"replace","path":"/run/names","value":["b","c"]}]`},
		{"a clear before an update of a list", map[string]string{"/run/names": `["a"]`}, state.Combine(names.Clear(), names.Update("c"), names.Update("d")),
			map[string]string{"/run/names": `["c","d"]`}, `[{"op":"replace","path":"/run/names","value":["c","d"]}]`},
		{"between updates", map[string]string{"/thread/total": "1"}, state.Combine(total.Update(1), state.Set(total, 10), total.Update(2)),
			map[string]string{"/thread/total": "12"}, `[{"op":"replace","path":"/thread/total","value":12}]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stored state.Command // through its wire form, as a tool's stored result
			if err := json.Unmarshal([]byte(text(test.set)), &stored); err != nil {
				t.Fatal(err)
			}
			s, patch := commit(t, registry(t), given(t, 3, test.before), stored.Batch)
			if diff := cmp.Diff(test.want, values(s)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.patch, text(patch)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetReportsWhatJSONCannotExpress(t *testing.T) {
	ratio := state.Key[float64, float64]{Name: "ratio"}
	c := state.Set(ratio, math.NaN())
	if diff := cmp.Diff(`encoding a value of state key "ratio": json: unsupported value: NaN`, fmt.Sprint(c.Err)); diff != "" {
		t.Error(diff)
	}
	if len(c.Batch.Mutations) != 0 || c.IsZero() {
		t.Errorf("the command is %v, want its error alone", c)
	}
}

func TestAValueOfAHandmadeMutationThatDoesNotDecodeIsCorrupt(t *testing.T) {
	b := state.Batch{Mutations: []state.Mutation{{Key: "total", Value: json.RawMessage("{")}}}
	_, _, err := registry(t).Commit(state.Snapshot{}, b)
	if core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("%v of code %s, want corrupt", err, core.CodeOf(err))
	}
}

// Bytes that were stored damaged are the key's error, and nothing is added to them.
func TestAnUpdateOfADamagedListIsCorrupt(t *testing.T) {
	for _, damaged := range []string{`["a"`, `{"a":1}`, `"a]`} {
		_, _, err := registry(t).Commit(given(t, 1, map[string]string{"/run/names": damaged}), names.Update("b").Batch)
		if diff := cmp.Diff(`committing state: decoding the value of state key "names": it is not a list`, fmt.Sprint(err)); diff != "" || core.CodeOf(err) != core.CodeCorrupt {
			t.Errorf("%s: %s", damaged, diff)
		}
	}
}

func TestCombineKeepsTheOrderAndTheFirstError(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	got := state.Combine(total.Update(1), state.Command{Err: first}, names.Update("a"), state.Command{Err: second}, names.Clear())
	want := []state.Mutation{{Key: "total", Update: json.RawMessage("1")}, {Key: "names", Update: json.RawMessage(`"a"`)}, {Key: "names"}}
	if diff := cmp.Diff(want, got.Batch.Mutations); diff != "" {
		t.Error(diff)
	}
	if !errors.Is(got.Err, first) || !errors.Is(got.Check(), first) {
		t.Errorf("the error is %v, and of Check %v, want the first", got.Err, got.Check())
	}
	one, two := state.Combine(total.Update(1)), state.Combine(total.Update(2))
	one.Batch, two.Batch = one.Batch.On(given(t, 1, nil)), two.Batch.On(given(t, 2, nil))
	if got := state.Combine(state.Command{Err: first}, one, two); !errors.Is(got.Err, first) {
		t.Errorf("before batches of two revisions the error is %v, want the first", got.Err)
	}
	if c := state.Combine(); !c.IsZero() {
		t.Errorf("nothing combined is %v", c)
	}
}

func TestACommandsErrorIsNotStored(t *testing.T) {
	got := text(state.Combine(total.Update(1), state.Command{Err: errors.New("first")}))
	if diff := cmp.Diff(`{"batch":{"mutations":[{"key":"total","update":1}]}}`, got); diff != "" {
		t.Error(diff)
	}
}

func TestABoundSnapshotReadsTheRegistrysKeysOnly(t *testing.T) {
	values := given(t, 1, map[string]string{"/thread/total": "7"}).ForCall(0)
	other := registry(t, names.Definition())
	tests := []struct {
		name string
		s    state.Snapshot
		want string
	}{
		{"unbound", values, "7 <nil>"},
		{"bound to the keys", values.For(registry(t)), "7 <nil>"},
		{"bound to other keys", values.For(other), `0 reading state: unknown state key "total"`},
		{"bound to other keys, for a call", values.For(other).ForCall(1), `0 reading state: unknown state key "total"`},
		{"bound to other keys, then to these", values.For(other).For(registry(t)), "7 <nil>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			n, err := total.Read(test.s)
			if diff := cmp.Diff(test.want, fmt.Sprint(n, err)); diff != "" {
				t.Error(diff)
			}
			if err != nil && !errors.Is(err, stateerror.ErrUnknownKey) {
				t.Errorf("%v is not ErrUnknownKey", err)
			}
		})
	}
	// What a commit makes of a bound snapshot is bound as it was.
	next, _ := commit(t, registry(t), values.For(other), total.Update(1).Batch)
	if _, err := total.Read(next); !errors.Is(err, stateerror.ErrUnknownKey) {
		t.Errorf("behind a commit: %v, want UnknownKey", err)
	}
	if !values.For(other).Equal(values) {
		t.Error("what a snapshot is bound to makes it another")
	}
}
