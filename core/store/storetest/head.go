package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

var headClauses = []clause{
	{"AbsentHeadIsZero", absentHeadIsZero},
	{"FirstWriteCreatesTheHead", firstWriteCreatesTheHead},
	{"WrongVersionReturnsTheStoredHead", wrongVersionReturnsTheStoredHead},
	{"VersionZeroIsNeverWritten", versionZeroIsNeverWritten},
	{"OneOfRacingWritersWins", oneOfRacingWritersWins},
	{"HeadIsReadBackAtOnce", headIsReadBackAtOnce},
	{"FullHeadRoundTrips", fullHeadRoundTrips},
	{"TheLargestHeadRoundTrips", theLargestHeadRoundTrips},
	{"ManyThreadsAtOnce", manyThreadsAtOnce},
	{"CancelledContextIsAnError", cancelledContextIsAnError},
}

func absentHeadIsZero(p *probe) {
	p.wantHead(p.key("never-written"), thread.Head{})

	key := p.key("only-records")
	p.put(key, logRecord(1, 1)) // records are put before the head
	p.wantHead(key, thread.Head{})
}

func firstWriteCreatesTheHead(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	p.wantHead(key, head(1, 1))
	p.set(key, head(2, 2))
	p.wantHead(key, head(2, 2))
}

func wrongVersionReturnsTheStoredHead(p *probe) {
	tests := []struct {
		name         string
		stored, next uint64
	}{
		{"create over an existing head", 2, 1},
		{"the version that is stored", 2, 2},
		{"two ahead", 2, 4},
		{"second version of an absent head", 0, 2},
	}
	for i, tt := range tests {
		key := p.key(fmt.Sprint("t", i))
		var want thread.Head
		for v := range tt.stored {
			want = head(v+1, byte(v))
			p.set(key, want)
		}
		got, err := p.b.Commit(p.ctx, key, store.Commit{Head: head(tt.next, 0xff)})
		if err != nil {
			p.t.Fatalf("%s: Commit(version %d over %d): %v; a lost race is Written=false and no error", tt.name, tt.next, tt.stored, err)
		}
		if got.Written {
			p.t.Errorf("%s: Commit(version %d over %d) returns Written=true; it must write only one version above the stored one", tt.name, tt.next, tt.stored)
		}
		if diff := cmp.Diff(store.Outcome{Head: want}, got); diff != "" {
			p.t.Errorf("%s: Commit with Written=false must return the stored head (-want +got):\n%s", tt.name, diff)
		}
		p.wantHead(key, want)
	}
}

// versionZeroIsNeverWritten guards against next.Version-1 wrapping around.
func versionZeroIsNeverWritten(p *probe) {
	key := p.key("t")
	if got, err := p.b.Commit(p.ctx, key, store.Commit{Head: head(0, 1)}); got.Written || core.CodeOf(err) != core.CodeInvalid {
		p.t.Errorf("Commit(version 0) returns Written=%v, %v, want code %q; the first version is 1", got.Written, err, core.CodeInvalid)
	}
	p.wantHead(key, thread.Head{})
}

func oneOfRacingWritersWins(p *probe) {
	const writers, versions = 16, 8
	key := p.key("t")
	for version := uint64(1); version <= versions; version++ {
		var mu sync.Mutex
		won := []core.ID{}
		met := map[core.ID]int{}
		p.race(writers, func(ctx context.Context, i int) error {
			next := head(version, byte(i))
			got, err := p.b.Commit(ctx, key, store.Commit{Head: next})
			if err != nil {
				return fmt.Errorf("losing a race of %d for version %d is Written=false and no error, Commit returns: %w", writers, version, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if got.Written {
				won = append(won, next.CommitID)
			} else {
				met[got.Head.CommitID]++
			}
			return nil
		})
		if len(won) != 1 {
			p.t.Fatalf("version %d: %d of %d racing writers got Written=true, want exactly 1: the comparison and the write must be one atomic step", version, len(won), writers)
		}
		if met[won[0]] != writers-1 {
			p.t.Fatalf("version %d: the losers got the heads %v, want the winner's %s for all of them", version, met, won[0])
		}
		if got := p.head(key); got.CommitID != won[0] {
			p.t.Fatalf("version %d: %s won but Head returns %s", version, won[0], got.CommitID)
		}
	}
}

func headIsReadBackAtOnce(p *probe) {
	key := p.key("t")
	for version := uint64(1); version <= 50; version++ {
		p.set(key, head(version, 0))
		if got := p.head(key).Version; got != version {
			p.t.Fatalf("Head returns version %d right after version %d was written; it must be strongly consistent", got, version)
		}
	}
}

func fullHeadRoundTrips(p *probe) {
	key := p.key("t")
	p.setDue(key, fullHead(1))
	p.wantHead(key, fullHead(1))
	got, err := p.b.Commit(p.ctx, key, store.Commit{Head: head(1, 0xff)})
	if got.Written || err != nil {
		p.t.Fatalf("Commit(version 1 over 1) returns Written=%v, %v", got.Written, err)
	}
	if diff := cmp.Diff(fullHead(1), got.Head); diff != "" {
		p.t.Errorf("the stored head that Commit returns (-want +got):\n%s", diff)
	}
}

// theLargestHeadRoundTrips: a head may have thread.MaxSize bytes.
func theLargestHeadRoundTrips(p *probe) {
	key := p.key("t")
	h := fullHead(1)
	h.DueAt = 0
	for h.Size() < thread.MaxSize {
		h.Extensions[0].Value = append(h.Extensions[0].Value, 'x')
	}
	if h.Size() != thread.MaxSize {
		p.t.Fatalf("the head of this test has %d bytes, want %d", h.Size(), thread.MaxSize)
	}
	p.set(key, h)
	p.wantHead(key, h)
}

// manyThreadsAtOnce writes as workers do: serial within a thread, all threads
// at the same time.
func manyThreadsAtOnce(p *probe) {
	const threads, steps = 8, 10
	p.race(threads, func(ctx context.Context, i int) error {
		key := p.key(fmt.Sprint("t", i))
		for step := uint64(1); step <= steps; step++ {
			got, err := p.b.Commit(ctx, key, store.Commit{Records: []store.Record{logRecord(step, 1)}, Head: head(step, 0)})
			if !got.Written || err != nil {
				return fmt.Errorf("with concurrent writers of other threads, Commit(%s, version %d): Written=%v, %v", key, step, got.Written, err)
			}
		}
		return nil
	})
	for i := range threads {
		key := p.key(fmt.Sprint("t", i))
		p.wantHead(key, head(steps, 0))
		p.wantLog(key, 1, steps, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
	}
}

func (p *probe) wantHead(key core.ThreadKey, want thread.Head) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.head(key)); diff != "" {
		p.t.Errorf("Head(%s) (-want +got):\n%s", key, diff)
	}
}
