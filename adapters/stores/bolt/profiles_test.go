package bolt

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

var locale = state.ProfileName{Namespace: "locale", Key: "alice"}

func writeLocale(t *testing.T, s *Store, value string, revision uint64) uint64 {
	t.Helper()
	next, err := s.WriteProfile(t.Context(), "acme", locale, json.RawMessage(value), revision)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// reopened opens a file and reads its profile and its snapshot.
func reopened(t *testing.T, path string) (s *Store, profile state.Profile, snapshot string) {
	t.Helper()
	s, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	profile, err = s.ReadProfile(t.Context(), "acme", locale)
	if err != nil {
		t.Fatal(err)
	}
	content, _, err := s.Snapshot(t.Context(), "hash")
	if err != nil {
		t.Fatal(err)
	}
	return s, profile, string(content)
}

func TestProfilesAndSnapshotsAreThereAfterAKill(t *testing.T) {
	s := newStore(t)
	writeLocale(t, s, `"en-GB"`, 0)
	if err := s.PutSnapshot(t.Context(), "hash", []byte("agents")); err != nil {
		t.Fatal(err)
	}
	_, profile, snapshot := reopened(t, left(t, s))
	if string(profile.Value) != `"en-GB"` || profile.Revision != 1 || snapshot != "agents" {
		t.Errorf("after a kill the profile is %s at revision %d and the snapshot %q", profile.Value, profile.Revision, snapshot)
	}
}

func TestProfileRevisionsGoOnAfterAStart(t *testing.T) {
	s := newStore(t)
	first := writeLocale(t, s, `1`, 0)
	if err := errors.Join(s.DeleteProfile(t.Context(), "acme", locale, first), s.Close()); err != nil {
		t.Fatal(err)
	}
	s, profile, _ := reopened(t, s.db.path)
	if profile.Revision != 0 {
		t.Errorf("the deleted profile has revision %d", profile.Revision)
	}
	if again := writeLocale(t, s, `1`, 0); first != 1 || again != 2 {
		t.Errorf("the revisions are %d and %d, want 1 and 2", first, again)
	}
}

func TestADamagedProfileIsReplacedByAWriteWithoutCondition(t *testing.T) {
	ctx, s := t.Context(), newStore(t)
	revision := writeLocale(t, s, `"en-GB"`, 0)
	if err := errors.Join(s.PutSnapshot(ctx, "hash", []byte("agents")), s.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(s.db.path)
	if err != nil {
		t.Fatal(err)
	}
	content = bytes.ReplaceAll(content, []byte(`"en-GB"`), []byte(`"en-GA"`))
	content = bytes.ReplaceAll(content, []byte(`agents`), []byte(`AGENTS`))
	path := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err = Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, readErr := s.ReadProfile(ctx, "acme", locale)
	_, writeErr := s.WriteProfile(ctx, "acme", locale, json.RawMessage(`1`), revision)
	_, _, snapshotErr := s.Snapshot(ctx, "hash")
	errs := map[string]error{
		"ReadProfile": readErr, "WriteProfile": writeErr, "DeleteProfile": s.DeleteProfile(ctx, "acme", locale, revision),
		"Snapshot": snapshotErr, "PutSnapshot": s.PutSnapshot(ctx, "hash", []byte("agents")),
	}
	for method, err := range errs {
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("%s of a damaged value returns the error %v, want ErrCorrupt", method, err)
		}
	}
	next := writeLocale(t, s, `"de"`, state.AnyRevision)
	if got, err := s.ReadProfile(ctx, "acme", locale); err != nil || string(got.Value) != `"de"` || got.Revision != next {
		t.Errorf("after a write without condition: %s at %d, %v", got.Value, got.Revision, err)
	}
}

// beside makes a write of a profile or a snapshot.
func (w *world) beside(n, size int) write {
	ctx, value := context.Background(), fmt.Appendf(nil, `"%0*d"`, size, w.random.IntN(1000))
	name := state.ProfileName{Namespace: "n", Key: fmt.Sprint("k", n)}
	switch w.random.IntN(4) {
	case 0:
		return func(s *Store) error { return s.DeleteProfile(ctx, "acme", name, state.AnyRevision) }
	case 1:
		return func(s *Store) error { return s.PutSnapshot(ctx, fmt.Sprint("hash", n), value) }
	default:
		return func(s *Store) error {
			_, err := s.WriteProfile(ctx, "acme", name, value, state.AnyRevision)
			return err
		}
	}
}
