package bolt

import (
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

func newWorld(t *testing.T, seed uint64) *world {
	WithoutDisk(t)
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
func (w *world) open(path string, disk func(*bbolt.DB, *os.File) rawFile) *Store {
	w.t.Helper()
	s, err := w.tryOpen(path, disk)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func (w *world) tryOpen(path string, disk func(*bbolt.DB, *os.File) rawFile) (*Store, error) {
	if disk == nil {
		disk = func(db *bbolt.DB, file *os.File) rawFile {
			db.NoSync, db.NoGrowSync = true, true
			return unsynced{file}
		}
	}
	db, err := openDatabase(path, time.Second, disk)
	if err != nil {
		return nil, err
	}
	return storeOn(db, Options{Now: func() time.Time { return w.now }, MaxPayload: defaultMaxPayload}), nil
}

// unsynced is a file that takes no time.
type unsynced struct{ rawFile }

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
	err = s.db.view(func(tx *bbolt.Tx) error {
		for _, name := range buckets {
			_ = tx.Bucket(name).ForEach(func(key, value []byte) error {
				if string(key) == string(probeKey) || string(key) == string(sumKey) { // Probe is two transactions
					return nil
				}
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

// invariants looks whether each log goes as far as its head says, and the agenda says what
// the heads do.
func invariants(s *Store) error {
	for n := range 5 {
		key := worldKey(n)
		head, err := s.Head(context.Background(), key)
		if err != nil {
			return err
		}
		seen := uint64(0)
		for record, err := range s.Log(context.Background(), key, 1, 999_999_999_999) {
			if seen++; err != nil || record.Name != store.LogName(seen) {
				return fmt.Errorf("the log of %s has %s, %w where %d belongs", key, record.Name, err, seen)
			}
		}
		if seen != head.Seq {
			return fmt.Errorf("the log of %s ends at %d, the head says %d", key, seen, head.Seq)
		}
		err = s.readAgenda(context.Background(), func(a *agenda) {
			if at := a.due[(store.Overdue{Key: key}).Shard()][key]; at != max(head.DueAt, 0) {
				err = fmt.Errorf("%s is due at %d, the head says %d", key, at, head.DueAt)
			}
			if since := a.waiting[key.Tenant][key.Thread]; since != max(head.Run.WaitsSince, 0) {
				err = fmt.Errorf("%s waits since %d, the head says %d", key, since, head.Run.WaitsSince)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
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
	if err := invariants(w.s); err != nil {
		w.t.Error(err)
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
