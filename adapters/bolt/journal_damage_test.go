package bolt

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/reveille-run/reveille/core/store"
)

// pending is a file with ten frames that a killed process left, and where they are.
func pending(t *testing.T) (content []byte, begin, end int64) {
	t.Helper()
	s := newStore(t)
	for v := range uint64(10) {
		if err := writeVersion(t, s, journalKey, v+1, 1000); err != nil {
			t.Fatal(err)
		}
	}
	content, err := os.ReadFile(s.db.path)
	if err != nil {
		t.Fatal(err)
	}
	return content, s.db.journal.begin, s.db.journal.begin + s.db.journal.end
}

// A damaged frame with others behind it was on the disk once, and its writer was
// told so: the file is refused. A damaged last one looks as if it was never whole.
func TestADamagedFrameIsNotTakenForTheEnd(t *testing.T) {
	withoutDisk(t)
	whole, begin, end := pending(t)
	random := rand.New(rand.NewPCG(1, 2))
	size := (end - begin) / 10
	path := filepath.Join(t.TempDir(), "damaged.db")
	refused, shorter := 0, 0
	for range 150 {
		content := append([]byte{}, whole...)
		bit := 8*begin + random.Int64N(8*(end-begin))
		content[bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		inLength := (bit/8-begin)%size < 64 // or beside it: the size of a frame varies by a few bytes
		isLast := bit/8 > end-size-64
		s, err := Open(path, Options{})
		if err != nil {
			if refused++; !errors.Is(err, store.ErrCorrupt) {
				t.Errorf("bit %d: Open returns %v, want ErrCorrupt", bit-8*begin, err)
			}
			continue
		}
		head, err := s.Head(t.Context(), journalKey)
		_ = s.Close()
		if err != nil || head.Version == 10 {
			t.Errorf("bit %d: the head has version %d, %v, though a frame is damaged", bit-8*begin, head.Version, err)
		}
		if shorter++; !isLast && !inLength {
			t.Errorf("bit %d: the head has version %d, and the frames behind it are lost without a word", bit-8*begin, head.Version)
		}
	}
	if refused < 75 || shorter < 5 {
		t.Errorf("%d files were refused and %d are shorter: too few for this test to say anything", refused, shorter)
	}
}

// Frames that are damaged while the file is open are missed when they are needed:
// what was written is not given up in silence.
func TestFramesThatAreDamagedWhileOpenAreMissed(t *testing.T) {
	s := newStore(t)
	for v := range uint64(3) {
		if err := writeVersion(t, s, journalKey, v+1, 1000); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.db.file.WriteAt([]byte{0xFF}, s.db.journal.begin+s.db.journal.end-1); err != nil {
		t.Fatal(err)
	}
	if head, err := s.Head(t.Context(), journalKey); head.Version != 3 || err != nil {
		t.Errorf("the head has version %d, %v, want 3 of the transaction under way", head.Version, err)
	}
	_ = s.commits.do("", breakOff) // gives the transaction up
	for range 2 {
		if _, err := s.Head(t.Context(), journalKey); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("then Head returns %v, want ErrCorrupt", err)
		}
	}
}
