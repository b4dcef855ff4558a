package mailbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// forkable is a world whose thread has a log of four runs, of which the third has withdrawn
// the second, and the fourth waits for a result; and three summaries, of which the newest is
// in force.
func forkable(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	one, two, three, four := core.ID{1}, core.ID{2}, core.ID{3}, core.ID{4}
	w.submit(t, input("begin", ""))
	head := w.writes(t, w.claim(t), goOn,
		said(one, core.ID{11}, "m1"), // 1
		by(one, core.RoleAssistant, "a1", core.ToolCall{ID: "c1"}, core.ToolCall{ID: "c2"}), // 2
		by(one, core.RoleTool, "r1"), by(one, core.RoleTool, "r2"), thread.Entry{Run: one, Step: 1}, // 3, 4, 5
		thread.Entry{Run: one, Step: 2, Message: &core.Message{ID: "a2", Role: core.RoleAssistant}}, // 6
		thread.Entry{Run: one, Step: 3, Closing: true},                                              // 7
		said(two, core.ID{12}, "m2"),                                                                // 8
	)
	w.summarized(t, 1, 0)
	w.summarized(t, 5, 1)
	w.summarized(t, 7, 5)
	withdraws := goOn
	withdraws.Cut, withdraws.Summary = 8, 7
	head = w.writes(t, head, withdraws, thread.Entry{Run: three, Superseded: &thread.Range{From: 8, To: 8}}, said(three, core.ID{13}, "m3")) // 9, 10
	w.writes(t, head, over,
		by(three, core.RoleAssistant, "a3"), thread.Entry{Run: four, Step: 1}, // 11, 12: the record after it is another run's
		said(four, core.ID{14}, "m4"), by(four, core.RoleAssistant, "a4", core.ToolCall{ID: "c3"}), // 13, 14
	)
	return w
}

var forkKey = core.ThreadKey{Tenant: "t", Thread: "t2"}

func forking(at string) mailbox.Forking {
	return mailbox.Forking{Thread: key, User: "ann", At: at, To: "t2"}
}

func TestAForkHasWhatBelongsToItsMessage(t *testing.T) {
	tests := []struct {
		at                       string
		seq, supersedes, summary uint64
		summaries                string
	}{
		{"m1", 1, 0, 1, "Z#1"},
		{"a1", 5, 0, 5, "Z#1 Z#5"},
		{"r1", 5, 0, 5, "Z#1 Z#5"},
		{"r2", 5, 0, 5, "Z#1 Z#5"},
		{"a2", 7, 0, 7, "Z#1 Z#5 Z#7"},
		{"m3", 10, 9, 7, "Z#1 Z#5 Z#7"},
		{"a3", 11, 9, 7, "Z#1 Z#5 Z#7"},
		{"m4", 13, 9, 7, "Z#1 Z#5 Z#7"},
	}
	for _, tt := range tests {
		t.Run(tt.at, func(t *testing.T) {
			w := forkable(t)
			before := w.head(t)
			made, err := w.Fork(t.Context(), forking(tt.at))
			if want := (mailbox.Forked{ThreadID: "t2", Messages: tt.seq}); err != nil || made != want {
				t.Fatalf("fork: %+v, %v; want %+v", made, err, want)
			}
			h := w.at(t, "t2")
			if h.Owner != "ann" || h.Version != 1 || h.Fence != 1 || h.Seq != tt.seq || h.Supersedes != tt.supersedes || h.Summary != tt.summary || h.Open() || h.DueAt != 0 {
				t.Errorf("the fork's head: %+v; want ann's with %d records, of which %d supersedes and %d are summarized", h, tt.seq, tt.supersedes, tt.summary)
			}
			w.wantForked(t, tt.seq, tt.summaries)
			if after := w.head(t); after.Version != before.Version {
				t.Errorf("the other thread's head has moved from version %d to %d", before.Version, after.Version)
			}
			if diff := cmp.Diff([]string{"t2", "t1"}, w.listed(t, recordname.ThreadsList("ann"))); diff != "" {
				t.Errorf("ann's threads (-want +got):\n%s", diff)
			}
		})
	}
}

// wantForked compares the fork's records with those of the other thread: its log up to a
// sequence, the summaries, what lists the thread, and nothing else.
func (w *world) wantForked(t *testing.T, seq uint64, summaries string) {
	t.Helper()
	list, err := w.store.Backend.Records(t.Context(), forkKey, "", "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	var log uint64
	var others []string
	for _, r := range list {
		source, ok, err := w.store.Backend.Get(t.Context(), key, r.Name)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := r.LogSeq(); !ok {
			others = append(others, r.Name)
		} else if log++; r.Fence != 1 || r.Name != store.LogName(log) {
			t.Errorf("record %s has fence %d, want 1 and no gap before it", r.Name, r.Fence)
		}
		if l, err := (thread.Records{}).DecodeListing(r.Payload); r.Name == recordname.Activity && (err != nil || l.Asked != "m1" && l.Asked != "m0") {
			t.Errorf("the fork is listed as %+v, %v, want it with the first message", l, err)
		}
		if r.Name != recordname.Activity && (!ok || !bytes.Equal(r.Payload, source.Payload)) {
			t.Errorf("record %s is %s, want %s", r.Name, r.Payload, source.Payload)
		}
	}
	if want := strings.TrimSpace(recordname.Activity + " " + summaries); log != seq || strings.Join(others, " ") != want {
		t.Errorf("%d log records and %v, want %d and %s", log, others, seq, want)
	}
}

func TestAForkIsRefused(t *testing.T) {
	change := func(at string, f func(*mailbox.Forking)) mailbox.Forking {
		forking := forking(at)
		f(&forking)
		return forking
	}
	exists := func(t *testing.T, w *world) {
		if _, err := w.Create(t.Context(), mailbox.Creating{Thread: forkKey, User: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	nothing := func(*testing.T, *world) {}
	tests := []struct {
		name   string
		before func(t *testing.T, w *world)
		fork   mailbox.Forking
		code   core.Code
		want   string
	}{
		{"no message of the thread", nothing, forking("m9"), core.CodeNotFound, `thread t1: message "m9": not found`},
		{"a withdrawn message", nothing, forking("m2"), core.CodeSuperseded, `thread t1: message "m2": it was withdrawn before`},
		{"a call without a result", nothing, forking("a4"), core.CodeConflict, `thread t1: message "a4": tool calls of its turn have no results yet`},
		{"no message", nothing, forking(""), core.CodeInvalid, "message to fork at is empty"},
		{"no name", nothing, change("m1", func(f *mailbox.Forking) { f.To = "" }), core.CodeInvalid, "thread id of the fork is empty"},
		{"no thread", nothing, change("m1", func(f *mailbox.Forking) { f.Thread.Thread = "" }), core.CodeInvalid, "thread id is empty"},
		{"an unknown thread", nothing, change("m1", func(f *mailbox.Forking) { f.Thread.Thread = "t9" }), core.CodeNotFound, `thread t9: message "m1": not found`},
		{"another user's thread", nothing, change("m1", func(f *mailbox.Forking) { f.User = "bob" }), core.CodeForbidden, "thread t1: it belongs to another user"},
		{"a name that is used", exists, forking("m1"), core.CodeConflict, "thread t2: it exists already"},
		{"another user's name", exists, change("m1", func(f *mailbox.Forking) { f.User = "bob" }), core.CodeForbidden, "thread t2: it belongs to another user"},
		{"a deleted thread", func(t *testing.T, w *world) { w.delete(t) }, forking("m1"), core.CodeDeleted, "thread t1: it was deleted"},
		{"a name under which a fork of another thread has begun", func(t *testing.T, w *world) {
			if err := w.store.Put(t.Context(), forkKey, store.Record{Name: store.LogName(1), Fence: thread.ForkFence, Payload: []byte("another thread's")}); err != nil {
				t.Fatal(err)
			}
		}, forking("m1"), core.CodeConflict, "thread t2: an attempt to make another fork has left records under this name: choose another name"},
		{"a name with the summary of another thread", func(t *testing.T, w *world) {
			if err := w.store.Put(t.Context(), forkKey, store.Record{Name: recordname.Summary(5), Payload: []byte("another thread's")}); err != nil {
				t.Fatal(err)
			}
		}, forking("a1"), core.CodeConflict, "thread t2: an attempt to make another fork has left records under this name: choose another name"},
		{"a deleted name", func(t *testing.T, w *world) {
			exists(t, w)
			if err := w.Delete(t.Context(), forkKey, "ann"); err != nil {
				t.Fatal(err)
			}
		}, forking("m1"), core.CodeDeleted, "thread t2: it was deleted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := forkable(t)
			tt.before(t, w)
			before := w.at(t, "t2").Version
			made, err := w.Fork(t.Context(), tt.fork)
			if made != (mailbox.Forked{}) || core.CodeOf(err) != tt.code || err.Error() != tt.want {
				t.Errorf("fork: %+v, %v; want %s: %s", made, err, tt.code, tt.want)
			}
			if after := w.at(t, "t2").Version; after != before {
				t.Errorf("the name's head is at version %d, want %d", after, before)
			}
		})
	}
}

// The same call again finds the fork, also when others have written to it since; another
// message or another thread is another fork.
func TestTheSameForkAgainIsADuplicate(t *testing.T) {
	w := forkable(t)
	first, err := w.Fork(t.Context(), forking("a1"))
	if err != nil || first.Duplicate {
		t.Fatalf("fork: %+v, %v", first, err)
	}
	s := input("on", "")
	s.Thread = forkKey
	w.submit(t, s)
	again, err := w.Fork(t.Context(), forking("a1"))
	if want := (mailbox.Forked{ThreadID: "t2", Messages: 5, Duplicate: true}); err != nil || again != want {
		t.Errorf("again: %+v, %v; want %+v", again, err, want)
	}
	if made, err := w.Fork(t.Context(), forking("a2")); !errors.Is(err, thread.ErrExists) || made != (mailbox.Forked{}) {
		t.Errorf("another message: %+v, %v; want %v", made, err, thread.ErrExists)
	}
	s.Thread.Thread = "t3"
	w.submit(t, s)
	other := forking("a1")
	other.Thread.Thread = "t3"
	if made, err := w.Fork(t.Context(), other); !errors.Is(err, thread.ErrExists) || made != (mailbox.Forked{}) {
		t.Errorf("another thread: %+v, %v; want %v", made, err, thread.ErrExists)
	}
}

// The head of a fork is written, and its response is lost.
func TestAForkWhoseResponseIsLostIsMadeOnce(t *testing.T) {
	tests := []struct {
		name    string
		happens func(t *testing.T, w *world)
		want    mailbox.Forked
	}{
		{"and nothing else happens", func(*testing.T, *world) {}, mailbox.Forked{ThreadID: "t2", Messages: 5}},
		{"and another write hides it", func(t *testing.T, w *world) {
			if _, _, err := w.Commit(t.Context(), forkKey, thread.Head{}, thread.Touch{}, nil); err != nil {
				t.Error(err)
			}
		}, mailbox.Forked{ThreadID: "t2", Messages: 5, Duplicate: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := forkable(t)
			w.lose(t, func(thread.Head) { tt.happens(t, w) })
			if made, err := w.Fork(t.Context(), forking("a1")); err != nil || made != tt.want {
				t.Errorf("fork: %+v, %v; want %+v", made, err, tt.want)
			}
			w.wantForked(t, 5, "Z#1 Z#5")
		})
	}
}

// Something happens between the look at the name and the write of the fork's head.
func TestAForkRaces(t *testing.T) {
	tests := []struct {
		name    string
		happens func(t *testing.T, w *world)
		want    mailbox.Forked
		err     error
	}{
		{"with itself", func(t *testing.T, w *world) {
			if made, err := w.Fork(t.Context(), forking("a1")); err != nil || made.Duplicate {
				t.Errorf("the first fork: %+v, %v", made, err)
			}
		}, mailbox.Forked{ThreadID: "t2", Messages: 5, Duplicate: true}, nil},
		{"with another fork", func(t *testing.T, w *world) {
			if made, err := w.Fork(t.Context(), forking("a2")); err != nil || made.Duplicate {
				t.Errorf("the other fork: %+v, %v", made, err)
			}
		}, mailbox.Forked{}, thread.ErrExists},
		{"with a thread of the name", func(t *testing.T, w *world) {
			if _, err := w.Create(t.Context(), mailbox.Creating{Thread: forkKey, User: "ann"}); err != nil {
				t.Error(err)
			}
		}, mailbox.Forked{}, thread.ErrExists},
		{"with another user's thread of the name", func(t *testing.T, w *world) {
			if _, err := w.Create(t.Context(), mailbox.Creating{Thread: forkKey, User: "bob"}); err != nil {
				t.Error(err)
			}
		}, mailbox.Forked{}, thread.ErrForbidden},
		{"with another fork that has left its pointer alone", func(t *testing.T, w *world) {
			next := w.store.OnCommit
			w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				w.store.OnCommit = next
				return store.Outcome{Taken: []store.Pointer{{Name: "fork:t2", Value: []byte(`{}`)}}}, nil
			}
		}, mailbox.Forked{}, thread.ErrExists},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := forkable(t)
			w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
				w.store.OnCommit = nil
				tt.happens(t, w)
				if w.store.OnCommit != nil {
					return w.store.OnCommit(ctx, key, c)
				}
				return w.store.Backend.Commit(ctx, key, c)
			}
			if made, err := w.Fork(t.Context(), forking("a1")); !errors.Is(err, tt.err) || made != tt.want {
				t.Errorf("fork: %+v, %v; want %+v, %v", made, err, tt.want, tt.err)
			}
		})
	}
}

// Two make the same fork at once. Who comes second, and cannot read that it is the same,
// is not told that it is another.
func TestAForkThatCannotBeToldFromAnotherIsNoConflict(t *testing.T) {
	w := newWorld(t)
	one := w.submit(t, input("one", ""))
	w.readText(t, w.claim(t), one, "one")
	f := mailbox.Forking{Thread: key, User: "ann", At: "m", To: "t2"}
	lost := errors.New("connection reset by peer")
	failing := false
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		w.store.OnCommit = nil
		if made, err := w.Fork(ctx, f); err != nil || made.Duplicate {
			t.Errorf("the first fork: %+v, %v", made, err)
		}
		failing = true
		return w.store.Backend.Commit(ctx, key, c)
	}
	w.store.OnPointer = func(ctx context.Context, tenant, name string) ([]byte, bool, error) {
		if failing {
			return nil, false, lost
		}
		return w.store.Backend.Pointer(ctx, tenant, name)
	}
	if made, err := w.Fork(t.Context(), f); !errors.Is(err, lost) {
		t.Errorf("the second fork: %+v, %v; want %v", made, err, lost)
	}
	failing = false
	if made, err := w.Fork(t.Context(), f); err != nil || !made.Duplicate || made.ThreadID != "t2" {
		t.Errorf("the second fork, made again: %+v, %v", made, err)
	}
	f.At = one.DispatchID.String()
	if made, err := w.Fork(t.Context(), f); !errors.Is(err, thread.ErrExists) {
		t.Errorf("another fork: %+v, %v; want %v", made, err, thread.ErrExists)
	}
}

// Whichever read or write of a fork fails, it fails and is not there; made again, it is
// whole. Only the look at the head before its write is repeated by itself.
func TestAForkThatFailsIsNotThere(t *testing.T) {
	forkFails(t, "m1", 1, "Z#1")
	forkFails(t, "a1", 5, "Z#1 Z#5")
}

func forkFails(t *testing.T, at string, seq uint64, summaries string) {
	t.Helper()
	down := errors.New("no connection")
	repeated := 0
	for fails := 1; ; fails++ {
		w := forkable(t)
		calls := 0
		var mu sync.Mutex
		w.reading(func() error {
			mu.Lock()
			defer mu.Unlock()
			if calls++; calls == fails {
				return down
			}
			return nil
		})
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			mu.Lock()
			calls++
			failed := calls == fails
			mu.Unlock()
			if failed {
				return down
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		made, err := w.Fork(t.Context(), forking(at))
		if calls < fails {
			if err != nil || fails < 8 || repeated != 1 {
				t.Errorf("after %d calls of the store, of which %d were repeated: %v; want 1", fails, repeated, err)
			}
			break
		}
		if err == nil {
			repeated++
			continue
		}
		if h := w.at(t, "t2"); !errors.Is(err, down) || made != (mailbox.Forked{}) || h.Exists() {
			t.Errorf("call %d fails: %+v, %v; the fork exists: %v", fails, made, err, h.Exists())
		}
		if made, err := w.Fork(t.Context(), forking(at)); err != nil || made.Duplicate {
			t.Errorf("call %d failed, made again: %+v, %v", fails, made, err)
		}
		w.wantForked(t, seq, summaries)
	}
}

// A thread whose stored records do not hold together is not forked.
func TestADamagedThreadIsNotForked(t *testing.T) {
	tests := []struct {
		name, at string
		damage   func(w *world)
		want     string
	}{
		{"the log ends too early", "a1", func(w *world) {
			w.store.OnLog = func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
				if from == 1 {
					to = 4
				}
				return w.store.Backend.Log(ctx, key, from, to)
			}
		}, "log of t/t1 ends before 5"},
		{"the log has a gap", "a1", func(w *world) {
			w.store.OnLog = func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
				if from != 1 {
					return w.store.Backend.Log(ctx, key, from, to)
				}
				return func(yield func(store.Record, error) bool) {
					for r, err := range w.store.Backend.Log(ctx, key, from, to) {
						if r.Name != store.LogName(3) && !yield(r, err) {
							return
						}
					}
				}
			}
		}, "log of t/t1 ends before 3"},
		{"a summary is damaged", "m1", func(w *world) {
			w.store.OnRecord = func(_ storetest.Operation, found store.Record) store.Record {
				if found.Name == recordname.Summary(5) {
					found.Payload = []byte("{")
				}
				return found
			}
		}, ""},
		{"a summary is missing", "m1", func(w *world) { w.loses(recordname.Summary(5)) }, "summary Z#5 of t/t1 is missing"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := forkable(t)
			tt.damage(w)
			_, err := w.Fork(t.Context(), forking(tt.at))
			h := w.at(t, "t2")
			if want := fmt.Sprint(tt.want, ": ", store.ErrCorrupt); core.CodeOf(err) != core.CodeCorrupt || tt.want != "" && err.Error() != want || h.Exists() {
				t.Errorf("fork: %v; want %s", err, want)
			}
		})
	}
}

// A log of more records than are copied at a time is copied whole.
func TestALongLogIsForkedWhole(t *testing.T) {
	for _, n := range []int{31, 32, 33, 65} {
		w := newWorld(t)
		r := w.submit(t, input("begin", ""))
		var entries []thread.Entry
		for i := range n {
			entries = append(entries, said(r.RunID, r.DispatchID, fmt.Sprint("m", i)))
		}
		w.writes(t, w.claim(t), over, entries...)
		var puts atomic.Int64
		w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
			if puts.Add(1); r.Name == store.LogName(3) && n == 33 && puts.Load() <= 32 {
				return store.ErrThrottled
			}
			return w.store.Backend.Put(ctx, key, r)
		}
		if n == 33 {
			if made, err := w.Fork(t.Context(), forking("m32")); !errors.Is(err, store.ErrThrottled) {
				t.Errorf("where a record of the first page cannot be copied: %+v, %v", made, err)
			}
			puts.Store(100)
		}
		made, err := w.Fork(t.Context(), forking(fmt.Sprint("m", n-1)))
		if got := puts.Load() % 100; got != int64(n) {
			t.Errorf("%d records are copied, want %d", got, n)
		}
		if want := (mailbox.Forked{ThreadID: "t2", Messages: uint64(n)}); err != nil || made != want {
			t.Fatalf("fork of %d records: %+v, %v", n, made, err)
		}
		w.wantForked(t, uint64(n), "")
	}
}

// Each record that supersedes leads to the ranges before its own, so that a fork needs the
// newest of them.
func TestAForkHasTheNewestRecordThatSupersedes(t *testing.T) {
	w := newWorld(t)
	one, two, three := core.ID{1}, core.ID{2}, core.ID{3}
	w.submit(t, input("begin", ""))
	head := w.writes(t, w.claim(t), goOn, said(one, core.ID{11}, "m1"), by(one, core.RoleAssistant, "a1"), said(one, core.ID{12}, "m2")) // 1, 2, 3
	cut := goOn
	cut.Cut = 3
	first := thread.Range{From: 3, To: 3}
	head = w.writes(t, head, cut, thread.Entry{Run: two, Superseded: &first}, said(two, core.ID{13}, "m3"), by(two, core.RoleAssistant, "a3"), said(two, core.ID{14}, "m4")) // 4 to 7
	cut.Cut = 7
	head = w.writes(t, head, cut, thread.Entry{Run: three, Superseded: &thread.Range{From: 7, To: 7}, Earlier: []thread.Range{first}}, said(three, core.ID{15}, "m5")) // 8, 9
	w.writes(t, head, over, by(three, core.RoleAssistant, "a5"))
	for at, want := range map[string]uint64{"a1": 0, "m3": 4, "a3": 4, "a5": 8} {
		f := forking(at)
		f.To = "fork-" + at
		if _, err := w.Fork(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		if got := w.at(t, f.To).Supersedes; got != want {
			t.Errorf("the fork at %s has the superseding record %d, want %d", at, got, want)
		}
	}
}
