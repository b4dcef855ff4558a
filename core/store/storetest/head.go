package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

var headClauses = []clause{
	{"AbsentHeadIsZero", absentHeadIsZero},
	{"FirstWriteCreatesTheHead", firstWriteCreatesTheHead},
	{"WrongVersionAnswersTheStoredHead", wrongVersionAnswersTheStoredHead},
	{"VersionZeroIsNeverWritten", versionZeroIsNeverWritten},
	{"ARepeatedWriteMeetsItself", aRepeatedWriteMeetsItself},
	{"OneOfRacingWritersWins", oneOfRacingWritersWins},
	{"HeadIsReadBackAtOnce", headIsReadBackAtOnce},
	{"FullHeadRoundTrips", fullHeadRoundTrips},
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

func wrongVersionAnswersTheStoredHead(p *probe) {
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
		got, ok, err := p.b.CompareAndSet(p.ctx, key, head(tt.next, 0xff))
		if err != nil {
			p.t.Fatalf("%s: CompareAndSet(version %d over %d): %v; a lost race is ok=false and no error", tt.name, tt.next, tt.stored, err)
		}
		if ok {
			p.t.Errorf("%s: CompareAndSet(version %d over %d) answers ok=true; it must write only one version above the stored one", tt.name, tt.next, tt.stored)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			p.t.Errorf("%s: CompareAndSet with ok=false must answer the stored head (-want +got):\n%s", tt.name, diff)
		}
		p.wantHead(key, want)
	}
}

// versionZeroIsNeverWritten guards against next.Version-1 wrapping around.
func versionZeroIsNeverWritten(p *probe) {
	key := p.key("t")
	if _, ok, _ := p.b.CompareAndSet(p.ctx, key, head(0, 1)); ok {
		p.t.Error("CompareAndSet(version 0) answers ok=true; the first version is 1")
	}
	p.wantHead(key, thread.Head{})
}

// aRepeatedWriteMeetsItself is how a caller learns that a write whose answer
// was lost has happened.
func aRepeatedWriteMeetsItself(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 7))
	stored, ok, err := p.b.CompareAndSet(p.ctx, key, head(1, 7))
	if err != nil {
		p.t.Fatalf("CompareAndSet of the stored head again: %v", err)
	}
	if ok || stored.CommitID != head(1, 7).CommitID {
		p.t.Errorf("CompareAndSet of the stored head again answers ok=%v and commit %s, want ok=false and our own commit %s", ok, stored.CommitID, head(1, 7).CommitID)
	}
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
			stored, ok, err := p.b.CompareAndSet(ctx, key, next)
			if err != nil {
				return fmt.Errorf("losing a race of %d for version %d is ok=false and no error, CompareAndSet answers: %w", writers, version, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if ok {
				won = append(won, next.CommitID)
			} else {
				met[stored.CommitID]++
			}
			return nil
		})
		if len(won) != 1 {
			p.t.Fatalf("version %d: %d of %d racing writers got ok=true, want exactly 1: the comparison and the write must be one atomic step", version, len(won), writers)
		}
		if met[won[0]] != writers-1 {
			p.t.Fatalf("version %d: losers were answered the heads %v, want the winner's %s for all of them", version, met, won[0])
		}
		if got := p.head(key); got.CommitID != won[0] {
			p.t.Fatalf("version %d: %s won but Head answers %s", version, won[0], got.CommitID)
		}
	}
}

func headIsReadBackAtOnce(p *probe) {
	key := p.key("t")
	for version := uint64(1); version <= 50; version++ {
		p.set(key, head(version, 0))
		if got := p.head(key).Version; got != version {
			p.t.Fatalf("Head answers version %d right after version %d was written; it must be strongly consistent", got, version)
		}
	}
}

func fullHeadRoundTrips(p *probe) {
	key := p.key("t")
	p.setDue(key, fullHead(1))
	p.wantHead(key, fullHead(1))
	stored, ok, err := p.b.CompareAndSet(p.ctx, key, head(1, 0xff))
	if ok || err != nil {
		p.t.Fatalf("CompareAndSet(version 1 over 1) answers ok=%v, %v", ok, err)
	}
	if diff := cmp.Diff(fullHead(1), stored); diff != "" {
		p.t.Errorf("the stored head that CompareAndSet answers (-want +got):\n%s", diff)
	}
}

// manyThreadsAtOnce writes as workers do: serial within a thread, all threads
// at the same time.
func manyThreadsAtOnce(p *probe) {
	const threads, steps = 8, 10
	p.race(threads, func(ctx context.Context, i int) error {
		key := p.key(fmt.Sprint("t", i))
		for step := uint64(1); step <= steps; step++ {
			if err := p.b.Put(ctx, key, logRecord(step, 1)); err != nil {
				return fmt.Errorf("beside writers of other threads, Put(%s): %w", key, err)
			}
			if _, ok, err := p.b.CompareAndSet(ctx, key, head(step, 0)); !ok || err != nil {
				return fmt.Errorf("beside writers of other threads, CompareAndSet(%s, version %d): ok=%v, %v", key, step, ok, err)
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
