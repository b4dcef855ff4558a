package state_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// A key named "n" as three versions of a program declare it.
var (
	adds  = state.Key[int, int]{Name: "n", Scope: state.ScopeThread, Apply: func(v, u int) int { return v + u }}
	tens  = state.Key[int, int]{Name: "n", Scope: state.ScopeThread, Apply: func(v, u int) int { return v + 10*u }}
	words = state.Key[string, string]{Name: "n", Scope: state.ScopeThread, Apply: func(_, u string) string { return u }}
)

func TestAFoldReadsWhatWasWrittenWhateverBecameOfApply(t *testing.T) {
	var c state.Command
	update(t, &c, adds, 2)
	_, patch := commit(t, registry(t, adds.Definition()), state.Snapshot{}, c.Batch)
	n, err := tens.Read(fold(t, state.Snapshot{}, 1, text(patch)))
	if n != 2 || err != nil {
		t.Errorf("reads %d, %v, want 2", n, err)
	}
}

func TestAChangedTypeIsTheKeysErrorWhenItIsRead(t *testing.T) {
	s := fold(t, state.Snapshot{}, 1, `[{"op":"add","path":"/thread/n","value":2},{"op":"add","path":"/thread/gone","value":{"a":[]}}]`)
	s = fold(t, s, 2, `[{"op":"replace","path":"/thread/n","value":3},{"op":"add","path":"/thread/gone/a/-","value":1}]`)
	_, err := words.Read(s)
	if diff := cmp.Diff(`decoding the value of state key "n": json: cannot unmarshal number into Go value of type string`, fmt.Sprint(err)); diff != "" {
		t.Error(diff)
	}
	if core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("code %q, want corrupt", core.CodeOf(err))
	}
	if diff := cmp.Diff(map[string]string{"/thread/n": "3", "/thread/gone": `{"a":[1]}`}, values(s)); diff != "" {
		t.Error(diff)
	}

	// Clearing it needs no decoding, and mends it.
	c := words.Clear()
	update(t, &c, words, "mended")
	s, _ = commit(t, registry(t, words.Definition()), s, c.Batch)
	if v, err := words.Read(s); v != "mended" || err != nil {
		t.Errorf("reads %q, %v", v, err)
	}
}

func TestFoldOperations(t *testing.T) {
	const before = `{"a~/b":1,"list":[1,[2,3],{"x":null}]}`
	tests := []struct {
		name  string
		patch string
		want  string // of /run/k; "": absent
	}{
		{"nothing", `[]`, before},
		{"replace the key", `[{"op":"replace","path":"/run/k","value":null}]`, `null`},
		{"add over the key", `[{"op":"add","path":"/run/k","value":1}]`, `1`},
		{"remove the key", `[{"op":"remove","path":"/run/k"}]`, ``},
		{"an escaped member", `[{"op":"replace","path":"/run/k/a~0~1b","value":{"z":1,"y":2}}]`, `{"a~/b":{"y":2,"z":1},"list":[1,[2,3],{"x":null}]}`},
		{"a new member", `[{"op":"add","path":"/run/k/","value":true}]`, `{"":true,"a~/b":1,"list":[1,[2,3],{"x":null}]}`},
		{"a member is set again", `[{"op":"add","path":"/run/k/list","value":[]}]`, `{"a~/b":1,"list":[]}`},
		{"a member goes", `[{"op":"remove","path":"/run/k/list"}]`, `{"a~/b":1}`},
		{"insert first", `[{"op":"add","path":"/run/k/list/0","value":0}]`, `{"a~/b":1,"list":[0,1,[2,3],{"x":null}]}`},
		{"insert behind the last", `[{"op":"add","path":"/run/k/list/3","value":0}]`, `{"a~/b":1,"list":[1,[2,3],{"x":null},0]}`},
		{"append twice", `[{"op":"add","path":"/run/k/list/-","value":0},{"op":"add","path":"/run/k/list/-","value":[]}]`, `{"a~/b":1,"list":[1,[2,3],{"x":null},0,[]]}`},
		{"append, then lead inside", `[{"op":"add","path":"/run/k/list/1/-","value":4},{"op":"replace","path":"/run/k/list/1/0","value":9},{"op":"add","path":"/run/k/list/1/-","value":5}]`, `{"a~/b":1,"list":[1,[9,3,4,5],{"x":null}]}`},
		{"a member that is named as the end of a list", `[{"op":"add","path":"/run/k/-","value":1}]`, `{"-":1,"a~/b":1,"list":[1,[2,3],{"x":null}]}`},
		{"an element goes", `[{"op":"remove","path":"/run/k/list/1"}]`, `{"a~/b":1,"list":[1,{"x":null}]}`},
		{"deep", `[{"op":"replace","path":"/run/k/list/2/x","value":[1]},{"op":"add","path":"/run/k/list/2/x/0","value":0}]`, `{"a~/b":1,"list":[1,[2,3],{"x":[0,1]}]}`},
		{"what was just removed", `[{"op":"remove","path":"/run/k"},{"op":"add","path":"/run/k","value":[]},{"op":"add","path":"/run/k/-","value":1}]`, `[1]`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := given(t, 1, map[string]string{"/run/k": before})
			want := map[string]string{"/run/k": test.want}
			if test.want == "" {
				want = map[string]string{}
			}
			if diff := cmp.Diff(want, values(fold(t, s, 2, test.patch))); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]string{"/run/k": before}, values(s)); diff != "" {
				t.Errorf("the snapshot before changed: %s", diff)
			}
			back, err := parse(t, test.patch).Inverse(s)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(values(s), values(fold(t, fold(t, s, 2, test.patch), 3, text(back)))); diff != "" {
				t.Errorf("the inverse %s leads elsewhere: %s", text(back), diff)
			}
		})
	}
}

func TestAPatchThatDoesNotFitIsCorrupt(t *testing.T) {
	tests := []struct {
		name  string
		patch state.Patch
		want  string
	}{
		{"replace of an absent key", state.Patch{{Op: "replace", Path: "/run/x", Value: []byte("1")}}, `replace at "/run/x": nothing is there`},
		{"remove of an absent key", state.Patch{{Op: "remove", Path: "/run/x"}}, `remove at "/run/x": nothing is there`},
		{"into an absent key", state.Patch{{Op: "add", Path: "/run/x/-", Value: []byte("1")}}, `add at "/run/x/-": nothing is there`},
		{"another scope", state.Patch{{Op: "remove", Path: "/thread/k"}}, `remove at "/thread/k": nothing is there`},
		{"into a number", state.Patch{{Op: "add", Path: "/run/n/a", Value: []byte("1")}}, `add at "/run/n/a": neither an object nor an array is there`},
		{"an append to a number", state.Patch{{Op: "add", Path: "/run/n/-", Value: []byte("1")}}, `add at "/run/n/-": neither an object nor an array is there`},
		{"an absent member", state.Patch{{Op: "replace", Path: "/run/k/z", Value: []byte("1")}}, `replace at "/run/k/z": nothing is there`},
		{"an absent member on the way", state.Patch{{Op: "replace", Path: "/run/k/z/y", Value: []byte("1")}}, `replace at "/run/k/z/y": nothing is there`},
		{"within a number", state.Patch{{Op: "replace", Path: "/run/n/a", Value: []byte("1")}}, `replace at "/run/n/a": neither an object nor an array is there`},
		{"an append to a damaged list", state.Patch{{Op: "add", Path: "/run/bad/-", Value: []byte("1")}}, `add at "/run/bad/-": neither an object nor an array is there`},
		{"an absent element", state.Patch{{Op: "remove", Path: "/run/k/a/2"}}, `remove at "/run/k/a/2": nothing is there`},
		{"an insert too far", state.Patch{{Op: "add", Path: "/run/k/a/3", Value: []byte("1")}}, `add at "/run/k/a/3": nothing is there`},
		{"an index that is none", state.Patch{{Op: "add", Path: "/run/k/a/01", Value: []byte("1")}}, `add at "/run/k/a/01": no index of the array`},
		{"a replace behind the end", state.Patch{{Op: "replace", Path: "/run/k/a/-", Value: []byte("1")}}, `replace at "/run/k/a/-": no index of the array`},
		{"a value that is no JSON", state.Patch{{Op: "add", Path: "/run/k", Value: []byte("{")}}, `add at "/run/k": not JSON`},
		{"a path that is no text", state.Patch{{Op: "add", Path: "/run/\xff", Value: []byte("1")}}, `path "/run/\xff" of a state patch is not UTF-8`},
		{"no value", state.Patch{{Op: "add", Path: "/run/k"}}, `operation "add" of a state patch at "/run/k" has no value`},
		{"an unknown operation", state.Patch{{Op: "move", Path: "/run/k"}}, `operation "move" of a state patch does not exist`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := given(t, 1, map[string]string{"/run/k": `{"a":[1,2]}`, "/run/n": "5", "/run/bad": "[1"})
			err := s.Fold().Apply(test.patch, 2)
			if diff := cmp.Diff("folding operation 0 of a state patch: "+test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Errorf("code %q, want corrupt", core.CodeOf(err))
			}
			if _, err := test.patch.Inverse(s); core.CodeOf(err) != core.CodeCorrupt {
				t.Errorf("the inverse: %v, want corrupt", err)
			}
		})
	}
}

// Elements are appended in room that grows ahead of them; a snapshot keeps none of it.
func TestAFoldedValueKeepsNoSpareRoom(t *testing.T) {
	f := given(t, 1, map[string]string{"/run/k": `[1]`}).Fold()
	appended := func(element string, revision uint64) []byte {
		t.Helper()
		if err := f.Apply(state.Patch{{Op: "add", Path: "/run/k/-", Value: []byte(element)}}, revision); err != nil {
			t.Fatal(err)
		}
		value, _ := f.Snapshot().Value(state.KeyPath{Name: "k"})
		return value
	}
	before := appended(`2`, 2)
	after := appended(`3`, 3)
	if string(before) != `[1,2]` || cap(before) != 5 || string(after) != `[1,2,3]` || cap(after) != 7 {
		t.Errorf("%s in %d bytes became %s in %d, want [1,2] in 5 and [1,2,3] in 7", before, cap(before), after, cap(after))
	}
}

func TestARevisionNamesOneState(t *testing.T) {
	patch := parse(t, `[{"op":"add","path":"/run/k","value":1}]`)
	tests := []struct {
		name     string
		patch    state.Patch
		revision uint64
		want     string
	}{
		{"the next", patch, 6, "<nil>"},
		{"a later one, of several commits in one record", patch, 9, "<nil>"},
		{"nothing changed, and none stored", nil, 0, "<nil>"},
		{"the same", patch, 5, "folding state: a patch to revision 5 follows revision 5"},
		{"an earlier one", patch, 4, "folding state: a patch to revision 4 follows revision 5"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := given(t, 5, nil).Fold()
			err := f.Apply(test.patch, test.revision)
			if diff := cmp.Diff(test.want, fmt.Sprint(err)); diff != "" {
				t.Error(diff)
			}
			if want := max(5, test.revision); err == nil && (f.Revision() != want || f.Snapshot().Revision() != want) {
				t.Errorf("revision %d, want %d", f.Revision(), want)
			}
		})
	}
}

func TestScopesEndWithTheirRunAndStep(t *testing.T) {
	s := given(t, 3, map[string]string{"/thread/a": "1", "/run/a": "[]", "/call/0/a": `"n"`, "/call/12/b": "1"})
	tests := []struct {
		name string
		got  state.Snapshot
		want map[string]string
	}{
		{"a run keeps the thread's values", s.BeginRun(), map[string]string{"/thread/a": "1"}},
		{"a step keeps the run's values", s.BeginStep(), map[string]string{"/thread/a": "1", "/run/a": "[]"}},
		{"a call's only value ends too", given(t, 3, map[string]string{"/call/0/a": "1"}).BeginStep(), map[string]string{}},
		{"the original stays", s, map[string]string{"/thread/a": "1", "/run/a": "[]", "/call/0/a": `"n"`, "/call/12/b": "1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, values(test.got)); diff != "" {
				t.Error(diff)
			}
			if test.got.Revision() != 3 {
				t.Errorf("revision %d, want 3", test.got.Revision())
			}
		})
	}
}

// Values that were stored one by one, each as of a record of the log, take only
// what later records did to them.
func TestAFoldSkipsWhatAKeyHasBehindIt(t *testing.T) {
	old := state.KeyPath{Scope: state.ScopeThread, Name: "old"}
	asOf := map[state.KeyPath]int{
		old:                                      1,
		{Scope: state.ScopeThread, Name: "late"}: 3,
		{Scope: state.ScopeRun, Name: "late"}:    3,
	}
	f := given(t, 4, map[string]string{"/thread/old": "1", "/thread/late": "3", "/run/late": "[3]"}).Fold()
	record := 0
	f.Skip = func(key state.KeyPath) bool { return record <= asOf[key] }
	for i, patch := range []string{
		`[{"op":"add","path":"/thread/old","value":1},{"op":"add","path":"/thread/late","value":1}]`,
		`[{"op":"replace","path":"/thread/old","value":2},{"op":"replace","path":"/thread/late","value":2}]`,
		`[{"op":"replace","path":"/thread/late","value":3},{"op":"add","path":"/run/late/-","value":3}]`,
		`[{"op":"replace","path":"/thread/late","value":4}]`,
	} {
		record = i + 1
		if record == 3 {
			f.BeginRun()
		}
		if err := f.Apply(parse(t, patch), uint64(record+1)); err != nil {
			t.Fatal(err)
		}
	}
	got := f.Snapshot()
	if diff := cmp.Diff(map[string]string{"/thread/old": "2", "/thread/late": "4", "/run/late": "[3]"}, values(got)); diff != "" {
		t.Error(diff)
	}
	if got.Revision() != 5 {
		t.Errorf("revision %d, want 5", got.Revision())
	}
}

func TestAFoldGoesOnBehindASnapshot(t *testing.T) {
	f := state.Snapshot{}.Fold()
	step := func(revision uint64, patch string) state.Snapshot {
		if err := f.Apply(parse(t, patch), revision); err != nil {
			t.Fatal(err)
		}
		return f.Snapshot()
	}
	a := step(1, `[{"op":"add","path":"/run/l","value":[1]}]`)
	b := step(2, `[{"op":"add","path":"/run/l/-","value":2}]`)
	c := step(3, `[{"op":"add","path":"/run/l/-","value":3},{"op":"remove","path":"/run/l/0"}]`)
	for i, want := range []string{"[1]", "[1,2]", "[2,3]"} {
		if diff := cmp.Diff(map[string]string{"/run/l": want}, values([]state.Snapshot{a, b, c}[i])); diff != "" {
			t.Errorf("snapshot %d: %s", i, diff)
		}
	}
}
