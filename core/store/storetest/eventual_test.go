package storetest_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// lagging is a store whose eventual reads lack the newest record of a log, and have the first
// version of those that were overwritten. It notes how logs are read.
type lagging struct {
	store.Backend
	mu    sync.Mutex
	first map[string]store.Record // of overwritten records, by thread and name
	last  map[core.ThreadKey]string
	lags  int // so many eventual reads, then they are up to date; negative: all
	reads []string
	found func(store.Record) store.Record // what eventual reads return in place of a record; nil: the record
}

func lag(reads int) *lagging {
	return &lagging{Backend: memory.New(), first: map[string]store.Record{}, last: map[core.ThreadKey]string{}, lags: reads}
}

func (l *lagging) Put(ctx context.Context, key core.ThreadKey, r store.Record) error {
	was, there, err := l.Backend.Get(ctx, key, r.Name)
	if err == nil {
		err = l.Backend.Put(ctx, key, r)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, before := l.first[key.String()+r.Name]; err == nil && there && !before {
		l.first[key.String()+r.Name] = was
	}
	if _, log := r.LogSeq(); err == nil && log {
		l.last[key] = max(l.last[key], r.Name)
	}
	return err
}

func (l *lagging) LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reads = append(l.reads, fmt.Sprintf("strong %d-%d", from, to))
	return l.Backend.LogBackwards(ctx, key, from, to)
}

// LogBackwardsEventually implements store.EventualLog.
func (l *lagging) LogBackwardsEventually(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		l.mu.Lock()
		l.reads = append(l.reads, fmt.Sprintf("%d-%d", from, to))
		lags := l.lags != 0
		l.lags = max(l.lags-1, min(l.lags, 0))
		l.mu.Unlock()
		for r, err := range l.Backend.LogBackwards(ctx, key, from, to) {
			l.mu.Lock()
			first, overwritten := l.first[key.String()+r.Name]
			newest := l.last[key] == r.Name
			l.mu.Unlock()
			switch {
			case err != nil || !lags:
			case newest:
				continue
			case overwritten:
				r = first
			}
			if l.found != nil && err == nil {
				r = l.found(r)
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

// polled repeats a check some times.
func polled(check func() error) (err error) {
	for range 5 {
		if err = check(); err == nil {
			return nil
		}
	}
	return err
}

func TestContractWithAnEventualLog(t *testing.T) {
	storetest.Options{Eventually: polled}.Run(t, func(*testing.T) store.Backend { return lag(2) })
}

// eventualFaults are of stores whose eventual log is wrong.
var eventualFaults = []fault{
	{name: "the eventual log never catches up", clause: "EventualLogIsTheLogInTheEnd", text: "has other records than LogBackwards", backend: func(store.Backend) store.Backend { return lag(-1) }},
	{name: "the eventual log mixes two versions", clause: "EventualLogHasOnlyWhatWasPut", text: "which was never put", backend: func(store.Backend) store.Backend {
		l := lag(0)
		l.found = func(r store.Record) store.Record { r.Fence = 1; return r }
		return l
	}},
	{name: "the eventual log is not reversed", clause: "EventualLogHasOnlyWhatWasPut", text: "before M#", backend: func(m store.Backend) store.Backend {
		return forwards{m}
	}},
	{name: "the eventual log takes any key", clause: "EventualLogRefusesWhatTheLogRefuses", text: "LogBackwardsEventually", backend: func(m store.Backend) store.Backend { return silent{m} }},
	{name: "a cancelled eventual log just ends", clause: "ACancelledEventualLogIsNeverShort", text: "ends after 3 with the error <nil>", backend: func(m store.Backend) store.Backend { return silent{m} }},
}

// forwards reads its eventual log in the wrong order.
type forwards struct{ store.Backend }

func (f forwards) LogBackwardsEventually(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return f.Backend.Log(ctx, key, from, to)
}

// silent withholds the errors of its eventual log.
type silent struct{ store.Backend }

func (s silent) LogBackwardsEventually(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for r, err := range s.Backend.LogBackwards(context.WithoutCancel(ctx), key, from, to) {
			if err != nil || ctx.Err() != nil || !yield(r, nil) {
				return
			}
		}
	}
}

// Of a store that lags a reader gets the log as it is: what its eventual reads lack or have in an
// old version is read again strongly, and nothing else.
func TestTheReaderOfALogThatLags(t *testing.T) {
	l, sum := laggingLog(t)
	got, err := backwards(t, l, sum)
	if want := " 8 7 6 5 4 3 2 1"; err != nil || got != want {
		t.Errorf("%v: steps%s, want%s", err, got, want)
	}
	if got, want := strings.Join(l.reads, ", "), "1-8, strong 8-8, 1-7, strong 5-6, 1-4"; got != want {
		t.Errorf("reads %s, want %s", got, want)
	}
}

// A record that is damaged in the store is damaged, after one strong read of its segment.
func TestTheReaderOfALogThatLagsAndIsDamaged(t *testing.T) {
	for seq, reads := range map[uint64]string{
		6: "1-8, strong 8-8, 1-7, strong 5-6",                  // overwritten: its eventual version is none of both
		3: "1-8, strong 8-8, 1-7, strong 5-6, 1-4, strong 2-4", // as it is in both reads
		8: "1-8, strong 8-8, 1-7, strong 7-7",                  // it is no turn any more, so that its segment is longer
	} {
		l, sum := laggingLog(t)
		damaged := store.Record{Name: store.LogName(seq), Fence: 9, Payload: encodedEntry(t, thread.Entry{Step: 99})}
		if err := l.Backend.Put(t.Context(), lagKey, damaged); err != nil {
			t.Fatal(err)
		}
		if got, err := backwards(t, l, sum); !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("damage at %d: %v after%s, want corrupt", seq, err, got)
		}
		if got := strings.Join(l.reads, ", "); got != reads {
			t.Errorf("damage at %d: reads %s, want %s", seq, got, reads)
		}
	}
}

var lagKey = core.ThreadKey{Tenant: "acme", Thread: "t1"}

func encodedEntry(t *testing.T, e thread.Entry) []byte {
	t.Helper()
	payload, err := thread.Records{}.EncodeEntry(&e)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

// laggingLog is a log of eight records, of which those at 2, 5, 7 and 8 are turns. The result at 6
// was written again under a higher fence. sum is the checksum of its end.
func laggingLog(t *testing.T) (l *lagging, sum uint32) {
	t.Helper()
	l = lag(-1)
	for seq := uint64(1); seq <= 8; seq++ {
		e := thread.Entry{Step: int(seq)}
		if seq == 2 || seq == 5 || seq > 6 {
			e.Message, e.Sum = &core.Message{Role: core.RoleAssistant}, sum
		}
		r := store.Record{Name: store.LogName(seq), Fence: 1, Payload: encodedEntry(t, e)}
		if seq == 6 {
			if err := l.Put(t.Context(), lagKey, store.Record{Name: r.Name, Fence: 1, Payload: encodedEntry(t, thread.Entry{Step: 66})}); err != nil {
				t.Fatal(err)
			}
			r.Fence = 2
		}
		if err := l.Put(t.Context(), lagKey, r); err != nil {
			t.Fatal(err)
		}
		sum = thread.NextSum(sum, seq, &e, r.Payload)
	}
	return l, sum
}

// backwards reads the log from its end, and returns the steps of its entries.
func backwards(t *testing.T, l *lagging, sum uint32) (entries string, err error) {
	t.Helper()
	for e, err := range threadlog.NewBackwards(l, thread.Records{}, lagKey, 8, sum).Older(t.Context(), 8) {
		if err != nil {
			return entries, err
		}
		entries += fmt.Sprint(" ", e.Step)
	}
	return entries, nil
}
