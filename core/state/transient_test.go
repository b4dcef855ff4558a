package state_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/internal/stateerror"
	"github.com/reveille-run/reveille/core/state"
)

var (
	hint = state.Key[string, string]{Name: "hint", Scope: state.ScopeRun, Transient: true, Apply: func(v, u string) string { return v + u }}
	kept = state.Key[int, int]{Name: "kept", Scope: state.ScopeThread, Retain: true, Apply: add}
)

// must commits a command whose errors are none.
func must(tb testing.TB, r *state.Registry, s state.Snapshot, commands ...state.Command) (state.Snapshot, state.Patch) {
	tb.Helper()
	c := state.Combine(commands...)
	if err := c.Check(); err != nil {
		tb.Fatal(err)
	}
	next, patch, err := r.Commit(s, c.Batch)
	if err != nil {
		tb.Fatal(err)
	}
	return next, patch
}

// read reads a value that decodes.
func read[V, U any](tb testing.TB, k state.Key[V, U], s state.Snapshot) V {
	tb.Helper()
	v, err := k.Read(s)
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestATransientValueIsReadAndNeverStored(t *testing.T) {
	r := registry(t, hint.Definition(), total.Definition())
	first, patch := must(t, r, state.Snapshot{}, hint.Update("a"))
	if first.Revision() != 0 || patch != nil || read(t, hint, first) != "a" {
		t.Errorf("revision %d, patch %s, value %q", first.Revision(), text(patch), read(t, hint, first))
	}
	second, patch := must(t, r, first, hint.Update("b"), total.Update(1))
	if diff := cmp.Diff(`[{"op":"add","path":"/thread/total","value":1}]`, text(patch)); diff != "" {
		t.Error(diff)
	}
	if second.Revision() != 1 || read(t, hint, second) != "ab" || read(t, hint, first) != "a" {
		t.Errorf("revision %d, %q after %q", second.Revision(), read(t, hint, second), read(t, hint, first))
	}
	if diff := cmp.Diff(map[string]string{"/thread/total": "1"}, values(second)); diff != "" {
		t.Error(diff)
	}
	folded := fold(t, state.Snapshot{}, 1, text(patch))
	if !folded.Equal(second) || read(t, hint, folded) != "" {
		t.Errorf("a fold has %v and %q", values(folded), read(t, hint, folded))
	}
	if len(folded.Diff(second)) != 0 {
		t.Error("a transient value makes a difference")
	}
}

func TestATransientValueEndsWithItsStretch(t *testing.T) {
	r := registry(t, hint.Definition())
	s, _ := must(t, r, state.Snapshot{}, hint.Update("a"))
	tests := []struct {
		name string
		s    state.Snapshot
		want string
	}{
		{"the same step", s.For(r).ForCall(1), "a"},
		{"another step", s.BeginStep(), ""},
		{"another run", s.BeginRun(), ""},
		{"a fold", s.Fold().Snapshot(), ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := read(t, hint, test.s); got != test.want {
				t.Errorf("reads %q, want %q", got, test.want)
			}
		})
	}
	other := state.Key[int, int]{Name: "other", Scope: state.ScopeCall, Transient: true, Apply: add}
	both, _ := must(t, registry(t, hint.Definition(), other.Definition()), s.ForCall(1), other.Update(3))
	if a, b := read(t, hint, both), read(t, other, both); a != "a" || b != 3 || read(t, other, both.ForCall(2)) != 0 {
		t.Errorf("beside another transient key it reads %q and %d", a, b)
	}
	cleared, _ := must(t, r, s, hint.Clear())
	if got := read(t, hint, cleared); got != "" {
		t.Errorf("cleared, it reads %q", got)
	}
	set, _ := must(t, r, s, state.Set(hint, "z"))
	if got := read(t, hint, set); got != "z" {
		t.Errorf("set, it reads %q", got)
	}
}

func TestDefinitionsSayWhatBecomesOfTheValue(t *testing.T) {
	if d := hint.Definition(); !d.Transient() || d.Retain() {
		t.Errorf("hint is transient %v, retained %v", d.Transient(), d.Retain())
	}
	if d := kept.Definition(); d.Transient() || !d.Retain() {
		t.Errorf("kept is transient %v, retained %v", d.Transient(), d.Retain())
	}
}

func TestUninstallRemovesWhatIsNotRetained(t *testing.T) {
	r := registry(t, total.Definition(), note.Definition(), names.Definition(), hint.Definition(), kept.Definition())
	before := given(t, 4, map[string]string{"/thread/total": "1", "/thread/kept": "2", "/call/0/note": `"x"`, "/call/3/note": `"y"`, "/run/names": "[]", "/thread/stranger": "3"})
	before, _ = must(t, r, before, hint.Update("a"))
	after, patch, err := r.Uninstall(before, "total", "kept", "note", "hint")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"/thread/kept": "2", "/run/names": "[]", "/thread/stranger": "3"}, values(after)); diff != "" {
		t.Error(diff)
	}
	want := `[{"op":"remove","path":"/thread/total"},{"op":"remove","path":"/call/0/note"},{"op":"remove","path":"/call/3/note"}]`
	if diff := cmp.Diff(want, text(patch)); diff != "" {
		t.Error(diff)
	}
	if after.Revision() != 5 || read(t, hint, after) != "" || !fold(t, before, 5, want).Equal(after) {
		t.Errorf("revision %d, hint %q", after.Revision(), read(t, hint, after))
	}
	if read(t, hint, before) != "a" || len(before.Paths()) != 6 {
		t.Error("the snapshot before it has changed")
	}
	single, patch, err := r.Uninstall(after, "names")
	if diff := cmp.Diff(`[{"op":"remove","path":"/run/names"}]`, text(patch)); diff != "" || err != nil || single.Revision() != 6 || len(single.Paths()) != 2 {
		t.Errorf("revision %d, %v %s", single.Revision(), err, diff)
	}
	same, patch, err := r.Uninstall(after, "total")
	if !same.Equal(after) || patch != nil || err != nil {
		t.Errorf("nothing to remove makes revision %d, %s, %v", same.Revision(), text(patch), err)
	}
	_, _, err = r.Uninstall(before, "total", "stranger")
	if diff := cmp.Diff(`uninstalling state keys: unknown state key "stranger"`, fmt.Sprint(err)); diff != "" || !errors.Is(err, stateerror.ErrUnknownKey) {
		t.Error(diff)
	}
}
