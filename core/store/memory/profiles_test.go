package memory_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// Revisions never come again, and a condition that does not hold changes nothing.
func TestProfilesKeepTheirRevisions(t *testing.T) {
	ctx, profiles, name := t.Context(), store.ProfilesOf(memory.New(), "acme"), state.ProfileName{Namespace: "n", Key: "b"}
	write := func(name state.ProfileName, value string, over, want uint64) {
		t.Helper()
		if got, err := profiles.Write(ctx, name, json.RawMessage(value), over); got != want || (err == nil) != (want != 0) || err != nil && !errors.Is(err, state.ErrProfileConflict) {
			t.Errorf("%s over revision %d is at %d, %v; want %d", value, over, got, err, want)
		}
	}
	write(name, `1`, 0, 1)
	write(name, `2`, 0, 0)
	write(name, `3`, 1, 2)
	write(name, `4`, state.AnyRevision, 3)
	if err := profiles.Delete(ctx, name, 2); !errors.Is(err, state.ErrProfileConflict) {
		t.Errorf("deleted at another revision: %v", err)
	}
	got, err := profiles.Read(ctx, name)
	if diff := cmp.Diff(state.Profile{Value: json.RawMessage(`4`), Revision: 3}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if err := profiles.Delete(ctx, name, 3); err != nil {
		t.Error(err)
	}
	if err := profiles.Delete(ctx, name, 3); err != nil { // nothing is there
		t.Error(err)
	}
	write(name, `5`, 0, 4)
	for _, key := range []string{"ba", "a", "c", "bb"} {
		if _, err := profiles.Write(ctx, state.ProfileName{Namespace: "n", Key: key}, json.RawMessage(`1`), 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"", "", 9, []string{"a", "b", "ba", "bb", "c"}}, {"b", "", 9, []string{"b", "ba", "bb"}}, {"b", "b", 9, []string{"ba", "bb"}},
		{"", "b", 2, []string{"ba", "bb"}}, {"", "", 5, []string{"a", "b", "ba", "bb", "c"}}, {"", "", 0, []string{}}, {"", "", -1, []string{}}, {"", "c", 9, nil},
	} {
		keys, err := profiles.Keys(ctx, "n", tt.prefix, tt.after, tt.limit)
		if diff := cmp.Diff(tt.want, keys); diff != "" || err != nil {
			t.Errorf("keys that begin with %q behind %q, %d at most: %v %s", tt.prefix, tt.after, tt.limit, err, diff)
		}
	}
	for what, err := range map[string]error{
		"read":   func() error { _, err := profiles.Read(ctx, state.ProfileName{Namespace: "n"}); return err }(),
		"write":  func() error { _, err := profiles.Write(ctx, name, json.RawMessage(`{`), 4); return err }(),
		"delete": profiles.Delete(ctx, state.ProfileName{Namespace: "n"}, 1),
		"keys":   func() error { _, err := profiles.Keys(ctx, "", "", "", 1); return err }(),
	} {
		if core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s of what cannot be: %v, want invalid", what, err)
		}
	}
}

func TestProfilesShareNothingWithTheCaller(t *testing.T) {
	ctx, profiles, name := t.Context(), store.ProfilesOf(memory.New(), "acme"), state.ProfileName{Namespace: "n", Key: "k"}
	value := json.RawMessage(`"stored"`)
	if _, err := profiles.Write(ctx, name, value, 0); err != nil {
		t.Fatal(err)
	}
	copy(value, `"XXXXXX"`)
	for range 2 {
		got, err := profiles.Read(ctx, name)
		if err != nil || string(got.Value) != `"stored"` {
			t.Fatalf("Read returns %s, %v", got.Value, err)
		}
		copy(got.Value, `"YYYYYY"`)
	}
}
