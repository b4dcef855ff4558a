package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// What one tenant writes, it alone reads, lists and deletes.
func TestProfilesOfATenantAreItsOwn(t *testing.T) {
	s := memory.New()
	acme, other := store.ProfilesOf(s, "acme"), store.ProfilesOf(s, "other")
	ctx, name := t.Context(), state.ProfileName{Namespace: "memory", Key: "ann"}
	revision, err := acme.Write(ctx, name, []byte(`"tea"`), 0)
	if err != nil || revision == 0 {
		t.Fatalf("written at revision %d, %v", revision, err)
	}
	if _, err := other.Write(ctx, name, []byte(`"coffee"`), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := acme.Write(ctx, name, []byte(`"milk"`), revision+1); !errors.Is(err, state.ErrProfileConflict) {
		t.Errorf("written over another revision: %v, want a conflict", err)
	}
	got, err := acme.Read(ctx, name)
	if diff := cmp.Diff(state.Profile{Value: []byte(`"tea"`), Revision: revision}, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if _, err := acme.Write(ctx, state.ProfileName{Namespace: "memory", Key: "bob"}, []byte(`1`), 0); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		prefix, after string
		limit         int
		want          []string
	}{{"", "", 9, []string{"ann", "bob"}}, {"", "ann", 9, []string{"bob"}}, {"a", "", 9, []string{"ann"}}, {"", "", 1, []string{"ann"}}} {
		keys, err := acme.Keys(ctx, "memory", tt.prefix, tt.after, tt.limit)
		if diff := cmp.Diff(tt.want, keys); diff != "" || err != nil {
			t.Errorf("keys that begin with %q behind %q: %v %s", tt.prefix, tt.after, err, diff)
		}
	}
	if err := acme.Delete(ctx, name, revision); err != nil {
		t.Fatal(err)
	}
	if got, err := acme.Read(ctx, name); err != nil || got.Value != nil || got.Revision != 0 {
		t.Errorf("deleted, it is %s at %d, %v", got.Value, got.Revision, err)
	}
	if got, err := other.Read(ctx, name); err != nil || string(got.Value) != `"coffee"` {
		t.Errorf("the other tenant's is %s, %v", got.Value, err)
	}
	if _, err := store.ProfilesOf(s, "a#b").Read(ctx, name); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("of no tenant: %v, want invalid", err)
	}
}
