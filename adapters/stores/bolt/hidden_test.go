package bolt_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// hiddenVariable says that a process is the child of this test.
const hiddenVariable = "BOLT_DAMAGE_CHILD"

// TestNoDamageHidesWhatIsStored damages a file in many places, one after the other, and
// opens it, in a child process: bbolt may end that. Either the file is refused, or each
// thread has everything that was written or returns ErrCorrupt; nothing is just not there.
func TestNoDamageHidesWhatIsStored(t *testing.T) {
	if os.Getenv(hiddenVariable) != "" {
		damageEverywhere(t)
		return
	}
	bolt.WithoutDisk(t)
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), binary, "-test.run=^"+t.Name()+"$", "-test.timeout=5m")
	command.Env = append(os.Environ(), hiddenVariable+"=1")
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("the process that uses damaged files ended with %v:\n%s", err, output[max(0, len(output)-5000):])
	}
}

// damage is one way to change a file.
type damage struct {
	name   string
	change func(content []byte) []byte
}

const (
	page   = 4096
	sector = 512
)

// damages lists changes of a file by their kind. earlier are contents that it had before.
func damages(whole []byte, earlier [][]byte) map[string][]damage {
	list := map[string][]damage{}
	add := func(kind string, change func(b []byte) []byte, place ...any) {
		list[kind] = append(list[kind], damage{fmt.Sprint(place...), change})
	}
	for at := range whole {
		if within := at % page; within < 96 || within%41 == 0 { // the structure of a page is in its first bytes
			add("bit", func(b []byte) []byte { b[at] ^= 1 << ((at + at/page) % 8); return b }, "byte ", at)
		}
	}
	for at := 0; at < len(whole); at += sector {
		add("sector", func(b []byte) []byte { copy(b[at:], make([]byte, sector)); return b }, "zeros at ", at)
		add("sector", func(b []byte) []byte { copy(b[at:], bytes.Repeat([]byte{0xA5}, sector)); return b }, "165 at ", at)
	}
	for at := 2 * page; at < len(whole); at += page { // an older meta page is an older file
		add("page", func(b []byte) []byte { copy(b[at:at+page], b[(at+3*page)%len(b):]); return b }, "another at ", at)
		for i, old := range earlier {
			if at+page <= len(old) && !bytes.Equal(old[at:at+page], whole[at:at+page]) {
				add("page", func(b []byte) []byte { copy(b[at:], old[at:at+page]); return b }, "that of commit ", i, " at ", at)
			}
		}
	}
	for size := 0; size < len(whole); size += page / 2 {
		add("cut", func(b []byte) []byte { return b[:size+1] }, size+1, " bytes")
	}
	return list
}

// lastHead is what each thread's is in the end.
var lastHead = store.Head{Layout: 1, Version: 3, Seq: 2, DueAt: 3}

var hiddenProfile = state.ProfileName{Namespace: "locale", Key: "alice"}

// fillInSteps makes a file with twenty threads of three commits each, the last of a head
// alone, and returns what it was at its end, without the room behind its pages, and
// sometimes before.
func fillInSteps(t *testing.T, path string) (whole []byte, earlier [][]byte) {
	s := open(t, path, bolt.Options{Now: func() time.Time { return unix(1000) }})
	for version := range uint64(2) {
		for i, key := range filledKeys() {
			commit(t, s, key, filledCommit(key, version+1))
			if i%4 == 0 {
				earlier = append(earlier, read(t, path))
			}
		}
	}
	for _, key := range filledKeys() {
		earlier = append(earlier, read(t, path))
		commit(t, s, key, store.Commit{Head: lastHead})
	}
	_, err := s.WriteProfile(t.Context(), "acme", hiddenProfile, []byte(`"en"`), state.AnyRevision)
	if err := errors.Join(err, s.PutSnapshot(t.Context(), "hash", []byte("agents")), s.Close()); err != nil {
		t.Fatal(err)
	}
	whole = bytes.TrimRight(read(t, path), "\x00")
	return append(whole, make([]byte, page-len(whole)%page)...), earlier
}

func damageEverywhere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "damaged.db")
	whole, earlier := fillInSteps(t, path)
	for kind, list := range damages(whole, earlier) {
		t.Run(kind, func(t *testing.T) {
			opened, failed := 0, 0
			for i, d := range list {
				if err := os.WriteFile(path, d.change(bytes.Clone(whole)), 0o600); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintln(os.Stderr, kind, d.name) // the last one ended the process, if it did not end by itself
				s, err := bolt.Open(path, bolt.Options{Now: func() time.Time { return unix(1000) }})
				if err != nil {
					if !strings.Contains(err.Error(), path) || errors.Is(err, bolt.ErrLocked) {
						t.Errorf("%s: Open returns the error %v, want one that names the file, which no process has open", d.name, err)
					}
					continue
				}
				opened++
				u := use{t: t, s: s, what: d.name}
				u.all(i%8 == 0)
				failed += u.failed
				_ = s.Close()
			}
			t.Logf("%d of %d files were opened, %d calls returned an error", opened, len(list), failed)
			if kind == "bit" && (opened < len(list)/4 || failed < 100) {
				t.Error("too few for this test to say anything")
			}
		})
	}
}

// use reads and writes what fillInSteps has written.
type use struct {
	t      *testing.T
	s      *bolt.Store
	what   string // is damaged
	failed int
}

// check compares what a call has returned; an error must be ErrCorrupt.
func (u *use) check(call string, err error, want, got any) {
	u.t.Helper()
	if err != nil {
		if u.failed++; !errors.Is(err, store.ErrCorrupt) || !strings.Contains(err.Error(), "is damaged: restore it from a copy") {
			u.t.Errorf("%s: %s returns the error %v, want ErrCorrupt with the remedy", u.what, call, err)
		}
		return
	}
	if !reflect.DeepEqual(want, got) {
		u.t.Errorf("%s: %s returns %+v, want %+v", u.what, call, got, want)
	}
}

func (u *use) all(writes bool) {
	ctx, keys := u.t.Context(), filledKeys()
	for _, key := range keys {
		first, last := filledCommit(key, 1), filledCommit(key, 2)
		head, err := u.s.Head(ctx, key)
		u.check("Head", err, string(lastHead.AppendBinary(nil)), string(head.AppendBinary(nil)))
		for _, record := range append(first.Records[:1:1], last.Records...) {
			got, ok, err := u.s.Get(ctx, key, record.Name)
			u.check("Get", err, true, ok)
			u.check("Get", err, record, got)
		}
		var log, back []string
		err = nil
		for record, logErr := range u.s.Log(ctx, key, 1, 10) {
			log, err = append(log, record.Name), logErr
		}
		u.check("Log", err, []string{store.LogName(1), store.LogName(2)}, log)
		err = nil
		for record, logErr := range u.s.LogBackwards(ctx, key, 1, 10) {
			back, err = append(back, record.Name), logErr
		}
		u.check("LogBackwards", err, []string{store.LogName(2), store.LogName(1)}, back)
		for _, p := range append(first.Pointers, last.Pointers...) {
			value, ok, err := u.s.Pointer(ctx, "acme", p.Name)
			u.check("Pointer", err, true, ok)
			u.check("Pointer", err, p.Value, value)
		}
	}
	threads, err := u.s.Threads(ctx, "acme")
	u.check("Threads", err, len(keys), len(threads))
	profile, err := u.s.ReadProfile(ctx, "acme", hiddenProfile)
	u.check("ReadProfile", err, `"en"`, string(profile.Value))
	snapshot, _, err := u.s.Snapshot(ctx, "hash")
	u.check("Snapshot", err, "agents", string(snapshot))
	if writes {
		u.writes()
	}
}

func (u *use) writes() {
	ctx := u.t.Context()
	for _, key := range filledKeys()[:4] {
		out, err := u.s.Commit(ctx, key, filledCommit(key, 4))
		u.check("Commit", err, true, out.Written)
	}
	_, err := u.s.Overdue(ctx, 7, 10, nil, 10)
	u.check("Overdue", err, nil, nil)
	_, err = u.s.Claimed(ctx)
	u.check("Claimed", err, nil, nil)
	_, err = u.s.Purge(ctx, 100)
	u.check("Purge", err, nil, nil)
}
