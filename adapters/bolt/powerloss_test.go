package bolt

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

var (
	powerlossWorlds = flag.Int("powerloss.worlds", 2, "how many histories TestPowerLoss cuts")
	powerlossSeed   = flag.Uint64("powerloss.seed", 1, "seed of the first of them")
)

// world is a store with a history, whose power may fail at every sync.
type world struct {
	t      *testing.T
	random *rand.Rand
	disk   *lossyDisk
	path   string
	now    time.Time
	s      *Store

	states  [][32]byte // that the file may be in: what is durable, and what is under way
	writing bool       // a write of the history is under way, and not durable

	crashes, syncs int
	stop           bool
}

const powerlossJournal = 12 << 10 // small, so that bbolt commits often

// withoutDisk puts the test's files into memory where it can: disks are slow.
func withoutDisk(t *testing.T) {
	t.Helper()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		t.Setenv("TMPDIR", "/dev/shm")
	}
}

func newWorld(t *testing.T, seed uint64) *world {
	withoutDisk(t)
	w := &world{
		t: t, random: rand.New(rand.NewPCG(seed, seed)), path: filepath.Join(t.TempDir(), "world.db"),
		now: time.Unix(1000, 0),
	}
	w.disk = &lossyDisk{random: w.random, onSync: w.cut, onDurable: func() {
		if w.writing {
			w.writing = false
			w.states = w.states[len(w.states)-1:]
		}
	}}
	empty := w.open(filepath.Join(t.TempDir(), "empty.db"), nil)
	w.states = [][32]byte{storedBy(t, empty)}
	_ = empty.Close()
	return w
}

// open opens a file whose disk loses nothing, or that of the world.
func (w *world) open(path string, disk func(*bbolt.DB, journalFile) journalFile) *Store {
	w.t.Helper()
	s, err := w.tryOpen(path, disk)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) tryOpen(path string, disk func(*bbolt.DB, journalFile) journalFile) (*Store, error) {
	if disk == nil {
		disk = func(db *bbolt.DB, file journalFile) journalFile {
			db.NoSync, db.NoGrowSync = true, true
			return unsynced{file}
		}
	}
	db, err := openDatabase(path, opening{timeout: time.Second, journal: powerlossJournal, disk: disk})
	if err != nil {
		return nil, err
	}
	return &Store{db: db, commits: newCommitter(db), now: func() time.Time { return w.now }, maxPayload: defaultMaxPayload}, nil
}

// unsynced is a file that takes no time.
type unsynced struct{ journalFile }

func (unsynced) Sync() error { return nil }

// storedBy says everything that is stored.
func storedBy(t *testing.T, s *Store) [32]byte {
	t.Helper()
	got, err := tryState(s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func tryState(s *Store) (sum [32]byte, err error) {
	hash := sha256.New()
	err = s.db.view("", func(tx *bbolt.Tx) error {
		for _, name := range append(journalBuckets[1:], profilesBucket, configsBucket, waitingBucket) {
			bucket := tx.Bucket(name)
			if bucket == nil { // none of those that the first write makes was written yet
				continue
			}
			_ = bucket.ForEach(func(key, value []byte) error {
				for _, text := range [][]byte{name, key, value} {
					hash.Write(binary.AppendUvarint(nil, uint64(len(text))))
					hash.Write(text)
				}
				return nil
			})
		}
		return nil
	})
	return [32]byte(hash.Sum(nil)), err
}

func (w *world) may(got [32]byte) bool {
	for _, state := range w.states {
		if got == state {
			return true
		}
	}
	return false
}

// cut opens what the power may leave behind, twice.
func (w *world) cut() {
	w.syncs++
	if w.stop {
		return
	}
	for i, image := range w.disk.crashes(4) {
		w.crashes++
		path := filepath.Join(filepath.Dir(w.path), "cut.db")
		if err := os.WriteFile(path, image, 0o600); err != nil {
			w.t.Fatal(err)
		}
		for opened := range 1 + (i+1)%2 {
			if err := w.look(path); err != nil {
				w.stop = true
				w.t.Errorf("sync %d, crash %d, opened %d times before: %v", w.syncs, i, opened, err)
				return
			}
		}
	}
}

func (w *world) look(path string) error {
	s, err := w.tryOpen(path, nil)
	if err != nil {
		return err
	}
	defer s.Close()
	got, err := tryState(s)
	if err != nil {
		return err
	}
	if !w.may(got) {
		return fmt.Errorf("the file is in none of the %d states that it may be in", len(w.states))
	}
	return invariants(s)
}

// invariants looks whether each log goes as far as its head says.
func invariants(s *Store) error {
	for n := range 5 {
		key := worldKey(n)
		head, err := s.Head(context.Background(), key)
		if err != nil {
			return err
		}
		seen := uint64(0)
		for record, err := range s.Log(context.Background(), key, 1, thread.MaxSeq) {
			if seen++; err != nil || record.Name != store.LogName(seen) {
				return fmt.Errorf("the log of %s has %s, %w where %d belongs", key, record.Name, err, seen)
			}
		}
		if seen != head.Seq {
			return fmt.Errorf("the log of %s ends at %d, the head says %d", key, seen, head.Seq)
		}
	}
	return nil
}

func worldKey(n int) core.ThreadKey {
	return core.ThreadKey{Tenant: "acme", Thread: fmt.Sprintf("t%d", n)}
}

// write is one write of a history, which a store may be given again.
type write func(s *Store) error

// together makes a write of commits that share a transaction.
func (w *world) together(sizes ...int) write {
	keys, randoms := make([]core.ThreadKey, len(sizes)), make([]uint64, len(sizes))
	for i := range sizes {
		keys[i], randoms[i] = worldKey(w.random.IntN(5)), w.random.Uint64()
	}
	return func(s *Store) error {
		var requests []*request
		for i, size := range sizes {
			head, err := s.Head(context.Background(), keys[i])
			if err != nil {
				return err
			}
			c, err := s.prepareCommit(keys[i], w.content(head, randoms[i], size))
			if err != nil {
				return err
			}
			requests = append(requests, &request{thread: string(threadKey(keys[i])), change: func(tx *writeTx) (bool, error) {
				_, wrote, err := c.apply(tx)
				return wrote, err
			}})
		}
		_, err := s.commits.transact(requests)
		s.db.tidy()
		return err
	}
}

func (w *world) content(head thread.Head, random uint64, size int) store.Commit {
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(random >> (i % 56))
	}
	next := thread.Head{Version: head.Version + 1, Seq: head.Seq + 1, DueAt: int64(random % 1000)}
	if random%8 == 0 {
		next = waitsFor(w.t, next, 1+int64(random%1000))
	}
	return store.Commit{
		Pointers: []store.Pointer{{Name: fmt.Sprintf("p%d", random%5000), Value: fmt.Append(nil, random), TTL: time.Duration(random%100) * time.Second}},
		Records: []store.Record{
			{Name: store.LogName(head.Seq + 1), Fence: 1, Payload: payload},
			{Name: fmt.Sprintf("Q#%d", random%1000), Fence: random, Payload: payload[:size/4], Expires: w.now.Unix() + int64(random%100)},
		},
		Head: next,
	}
}

// waitsFor is a head whose run waits for a person since a time.
func waitsFor(t *testing.T, h thread.Head, since int64) thread.Head {
	t.Helper()
	h.Run = thread.Run{ID: core.ID{0xaa}, Cursor: thread.CursorTools, Base: 1, Calls: []thread.CallStatus{thread.CallNew}}
	h.Claim = thread.Claim{Fence: 1, Lease: since + 1}
	next, _, err := thread.Apply(h, thread.Transition{Now: since, Change: thread.Suspend{Fence: 1, Tickets: []thread.Ticket{{ID: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	next.Version, next.DueAt = h.Version, h.DueAt
	return next
}

// next draws a write.
func (w *world) next() write {
	switch n := w.random.IntN(23); {
	case n < 12:
		return w.together(w.random.IntN(1500))
	case n < 14:
		return w.together(powerlossJournal + w.random.IntN(4000)) // does not fit
	case n < 16:
		w.now = w.now.Add(time.Duration(w.random.IntN(60)) * time.Second)
		return func(s *Store) error { _, err := s.Purge(context.Background(), 20); return err }
	case n < 17:
		return func(s *Store) error { return s.Probe(context.Background()) }
	case n < 18:
		return w.together(100, 300, 200)
	case n < 19: // a change that fails in the middle, which the store undoes
		panics := w.random.IntN(2) == 0
		return func(s *Store) error {
			_, err := s.commits.transact([]*request{{change: func(tx *writeTx) (bool, error) {
				err := tx.put(recordsBucket, []byte("half"), []byte("half"))
				if panics {
					panic("half")
				}
				return true, errors.Join(err, errBroken)
			}}})
			return err
		}
	case n < 22:
		return w.beside(w.random.IntN(4), w.random.IntN(2000))
	default:
		key, at := worldKey(w.random.IntN(5)), w.random.IntN(20)
		return func(s *Store) error {
			return s.Put(context.Background(), key, store.Record{Name: fmt.Sprintf("R#%d", at), Fence: uint64(w.now.Unix()), Payload: make([]byte, 200)})
		}
	}
}

// shadow returns what the file says when nothing goes wrong with a write.
func (w *world) shadow(write write) [32]byte {
	w.t.Helper()
	path := filepath.Join(filepath.Dir(w.path), "shadow.db")
	if err := os.WriteFile(path, w.disk.content(), 0o600); err != nil {
		w.t.Fatal(err)
	}
	s := w.open(path, nil)
	defer s.Close()
	_ = write(s) // a refusal is one of the store itself, too
	return storedBy(w.t, s)
}

// step makes one write, with a fault perhaps, and finds out what came of it.
func (w *world) step() {
	w.t.Helper()
	next := w.next()
	before := storedBy(w.t, w.s)
	w.disk.settleDebt()
	after := w.shadow(next)
	w.states, w.writing = [][32]byte{before, after}, true
	w.fault()
	err := next(w.s)
	w.disk.settleDebt()
	w.writing = false
	w.noFault()
	if !w.disk.killed && core.CodeOf(err) != core.CodeUnavailable {
		w.states = [][32]byte{after}
		if got := storedBy(w.t, w.s); got != after {
			w.t.Errorf("the write returns %v, and the file says something else", err)
		}
		return
	}
	w.states = [][32]byte{before, after}
	switch {
	case w.disk.killed || w.random.IntN(3) == 0:
		w.reopen()
	case w.random.IntN(2) == 0: // the disk fails once more
		w.disk.failSync = 1
		if _, err := tryState(w.s); err != nil && core.CodeOf(err) != core.CodeUnavailable {
			w.t.Errorf("a read after a failure returns %v, want code unavailable", err)
		}
		w.noFault()
	}
	got := storedBy(w.t, w.s)
	if !w.may(got) {
		w.t.Errorf("after a write that returned %v the file is neither as before nor as after it", err)
	}
	w.states = [][32]byte{got}
}

// fault lets one of the next writes or syncs fail, or the process end there.
func (w *world) fault() {
	d, soon := w.disk, 1+w.random.IntN(4)
	switch w.random.IntN(14) {
	case 0:
		d.failWrite = soon
	case 1:
		d.failSync = 1
	case 2:
		d.failMeta = 1
	case 3:
		d.killWrite = soon
	case 4:
		d.killSync = 1
	case 5:
		d.killMeta = 1
	case 6:
		d.failPages = 1
	}
}

func (w *world) noFault() {
	d := w.disk
	d.failWrite, d.failSync, d.failPages, d.failMeta = 0, 0, 0, 0
	d.killWrite, d.killSync, d.killMeta = 0, 0, 0
}

// reopen closes the file, or ends its process and what comes after it a few times.
func (w *world) reopen() {
	w.t.Helper()
	w.disk.killed = w.disk.killed || w.random.IntN(2) == 0
	w.fault()
	_ = w.s.Close()
	w.disk.settleDebt()
	for range 3 {
		w.fault()
		s, err := w.tryOpen(w.path, w.disk.attach)
		w.disk.settleDebt()
		w.noFault()
		if err == nil && !w.disk.killed {
			w.s = s
			return
		}
		if err == nil {
			_ = s.Close()
		} else if !errors.Is(err, errDisk) {
			w.t.Errorf("Open returns %v", err)
		}
	}
	w.s = w.open(w.path, w.disk.attach)
	w.disk.settleDebt()
}

// Whatever part of what was not synced yet the disk has when the power fails, in a
// history of writes, failures of the disk, kills and starts: each write that
// returned is there, none is there by half, and the file opens.
func TestPowerLoss(t *testing.T) {
	crashes, syncs := 0, 0
	for seed := range uint64(*powerlossWorlds) {
		t.Run(fmt.Sprint(*powerlossSeed+seed), func(t *testing.T) {
			w := newWorld(t, *powerlossSeed+seed)
			w.s = w.open(w.path, w.disk.attach)
			defer func() { w.disk.killed = true; _ = w.s.Close() }()
			for range 30 {
				if w.step(); t.Failed() {
					return
				}
				if w.random.IntN(10) == 0 {
					w.reopen()
				}
			}
			crashes, syncs = crashes+w.crashes, syncs+w.syncs
		})
	}
	t.Logf("%d files, at %d syncs", crashes, syncs)
}

// A file whose creation was cut short holds nothing, and is made anew.
func TestPowerLossWhileAFileIsMade(t *testing.T) {
	withoutDisk(t)
	whole := firstPages(os.Getpagesize())
	path := filepath.Join(t.TempDir(), "made.db")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, random: rand.New(rand.NewPCG(1, 1)), path: path, now: time.Unix(1000, 0)}
	w.s = w.open(filepath.Join(t.TempDir(), "empty.db"), nil)
	defer w.s.Close()
	w.states = [][32]byte{storedBy(t, w.s)}
	l := &lossyDisk{random: w.random, file: file, dirty: map[int64][][]byte{}}
	if _, err := l.write(whole, 0); err != nil {
		t.Fatal(err)
	}
	images := l.crashes(100)
	for size := 0; size <= len(whole); size += os.Getpagesize() {
		images = append(images, whole[:size])
	}
	for i, image := range images {
		if err := os.WriteFile(path, image, 0o600); err != nil {
			t.Fatal(err)
		}
		for opened := range 2 {
			if err := w.look(path); err != nil {
				t.Fatalf("crash %d, opened %d times before: %v", i, opened, err)
			}
		}
	}
}

// Of the pages with which bbolt makes a file depends what is taken for one that
// was not finished.
func TestFirstPagesAreThoseOfBbolt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "bbolt.db")
	db, err := bbolt.Open(path, 0o600, nil)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	made, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, firstPages(os.Getpagesize())) {
		t.Error("bbolt makes a file with other pages")
	}
}

// What is upgraded is the old file or the new one.
func TestPowerLossWhileAFileOfTheSchemaBeforeIsTaken(t *testing.T) {
	w := newWorld(t, 1)
	s := w.open(w.path, nil)
	for range 20 {
		if err := w.together(500)(s); err != nil {
			t.Fatal(err)
		}
	}
	w.states = [][32]byte{storedBy(t, s)}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	makeSchemaBefore(t, w.path)
	w.s = w.open(w.path, w.disk.attach)
	w.disk.settleDebt()
	if err := w.s.Close(); err != nil {
		t.Fatal(err)
	}
	if w.syncs < 2 {
		t.Errorf("the power was cut at %d syncs, want those of the pages and of the meta page", w.syncs)
	}
}
