package doctor_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/doctor"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// now is the time of every examination.
var now = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) int64 { return now.Add(-d).UnixMilli() }

// stored is a store in which problems are planted.
type stored struct {
	t *testing.T
	*storetest.Faulty
	threads []core.ThreadKey
	options doctor.Options
}

func newStored(t *testing.T) *stored {
	s := &stored{t: t, Faulty: &storetest.Faulty{Backend: memory.New()}}
	e := env.System()
	e.Now = func() time.Time { return now }
	s.options = doctor.Options{Env: e, Store: s.Faulty, Threads: func(context.Context, int64) iter.Seq2[core.ThreadKey, error] {
		return func(yield func(core.ThreadKey, error) bool) {
			for _, key := range s.threads {
				if !yield(key, nil) {
					return
				}
			}
		}
	}}
	return s
}

// plant stores a thread that was written a minute ago, unless its commit id says otherwise.
func (s *stored) plant(name string, h store.Head, records ...store.Record) core.ThreadKey {
	s.t.Helper()
	key := core.ThreadKey{Tenant: "acme", Thread: name}
	if tenant, id, ok := strings.Cut(name, "/"); ok {
		key = core.ThreadKey{Tenant: tenant, Thread: id}
	}
	h.Version = 1
	if h.CommitID.IsZero() {
		h.CommitID = writtenAt(ago(time.Minute))
	}
	out, err := s.Commit(s.t.Context(), key, store.Commit{Records: records, Head: h})
	if err != nil || !out.Written {
		s.t.Fatalf("%+v, %v", out, err)
	}
	s.threads = append(s.threads, key)
	return key
}

// writtenAt is the id of a commit at a time.
func writtenAt(ms int64) (id core.ID) {
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[15] = 1
	return id
}

// last lists a thread whose last run ended an hour ago.
func (s *stored) last(t *core.Termination) store.Record {
	s.t.Helper()
	payload, err := thread.Records{}.EncodeListing(&thread.Listing{
		List: "threads:", At: ago(time.Hour), Last: &core.LastRun{ID: core.ID{7}, Status: core.RunDone, Termination: t},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return store.Record{Name: recordname.Activity, Version: 1, Payload: payload}
}

func (s *stored) run(r core.Run) store.Record {
	s.t.Helper()
	payload, err := thread.Records{}.EncodeRun(&thread.RunRecord{Run: r})
	if err != nil {
		s.t.Fatal(err)
	}
	return store.Record{Name: recordname.Run(r.ID), Version: 1, Payload: payload}
}

// open is an open run.
var open = thread.Run{ID: core.ID{7}}

// corrupt makes reads of a thread's head find damage of a code.
func (s *stored) corrupt(key core.ThreadKey, err error) {
	s.OnHead = func(ctx context.Context, k core.ThreadKey) (thread.Head, error) {
		if k == key {
			return thread.Head{}, err
		}
		return s.Backend.Head(ctx, k)
	}
}

// lines are the lines that are not ok.
func lines(t *testing.T, o doctor.Options) (bad []string) {
	t.Helper()
	all, err := doctor.Examine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range all {
		if l.Status != doctor.OK {
			bad = append(bad, l.String())
		} else if l.Count != 0 || l.Remedy != "" || l.Examples != nil {
			t.Errorf("%+v is ok", l)
		}
	}
	return bad
}

// Each problem is found by its check, and by no other.
func TestEachProblemHasItsLine(t *testing.T) {
	const seven = "07000000-0000-0000-0000-000000000000"
	dead := &core.Termination{Type: core.TerminationError, Code: "dead_letter"}
	failed := &core.Termination{Type: core.TerminationError, Code: "model"}
	tests := []struct {
		name  string
		plant func(s *stored)
		want  []string
	}{
		{"nothing", func(*stored) {}, nil},
		{"a thread in good order", func(s *stored) {
			s.plant("t1", store.Head{Seq: 3, DueAt: ago(4 * time.Minute), Run: open, Pending: make([]thread.Dispatch, 6)},
				s.last(&core.Termination{Type: core.TerminationNatural}), s.run(core.Run{ID: core.ID{7}}))
		}, nil},
		{"a late thread", func(s *stored) {
			s.plant("t1", store.Head{DueAt: ago(12 * time.Minute)})
			s.plant("t2", store.Head{DueAt: ago(7 * time.Minute)})
			s.plant("t3", store.Head{DueAt: ago(5 * time.Minute)})
		}, []string{"problem overdue          2  threads are late by more than 5m0s, the first by 12m0s: acme/t1 (12m0s), acme/t2 (7m0s). Remedy: check that Sweep runs each minute and that Step is not throttled, then see the check wake-ups"}},
		{"a late thread of a stopped host", func(s *stored) {
			s.options.Stopped = true
			s.plant("t1", store.Head{DueAt: ago(12 * time.Minute)})
		}, []string{"warn    overdue          1  threads are late by more than 5m0s, the first by 12m0s: acme/t1 (12m0s). Remedy: start the host, which continues them"}},
		{"a deleted thread that is being erased", func(s *stored) {
			s.plant("t1", store.Head{Deleted: true, DueAt: ago(30 * time.Minute)})
		}, nil},
		{"a deleted thread that is never erased", func(s *stored) {
			s.plant("t1", store.Head{Deleted: true, DueAt: ago(90 * time.Minute)})
		}, []string{"problem overdue          1  threads are late by more than 5m0s, the first by 1h30m0s: acme/t1 (1h30m0s). Remedy: check that Sweep runs each minute and that Step is not throttled, then see the check wake-ups"}},
		{"a damaged head", func(s *stored) {
			s.corrupt(s.plant("t1", store.Head{DueAt: ago(time.Hour)}), store.ErrCorrupt)
		}, []string{"problem damaged          1  threads have a head that cannot be read: acme/t1. Remedy: restore the item from a backup, or run doctor quarantine THREAD or doctor delete THREAD"}},
		{"a quarantined thread", func(s *stored) {
			head := store.Head{DueAt: ago(time.Hour), Delayed: make([]thread.Dispatch, 1)}
			key := s.plant("t1", head)
			s.plant("t2", head)
			was, err := s.StoredHead(s.t.Context(), key)
			if err != nil {
				s.t.Fatal(err)
			}
			if done, err := s.QuarantineHead(s.t.Context(), key, was, ago(time.Hour)); !done || err != nil {
				s.t.Fatal(done, err)
			}
		}, []string{
			"problem damaged          1  threads have a head that cannot be read: acme/t2. Remedy: restore the item from a backup, or run doctor quarantine THREAD or doctor delete THREAD",
			"problem quarantined      1  threads are quarantined, no worker continues them: acme/t1 (since 2026-11-29T11:00:00Z). Remedy: restore the item from a backup and run doctor release THREAD, or run doctor delete THREAD",
		}},
		{"a damaged log", func(s *stored) {
			s.options.All = true
			s.plant("t1", store.Head{Seq: 2}, store.Record{Name: store.LogName(1), Fence: 1, Payload: []byte{8, 1, 0xf8, 0x7f, 1}})
		}, []string{`problem logs             1  threads have damaged records: acme/t1 (log of acme/t1 ends at 1, the head says 2: stored data is corrupt). Remedy: restore the records from a backup, or delete these threads; an open run there ends with code corrupt`}},
		{"a damaged log is not read by default", func(s *stored) {
			s.plant("t1", store.Head{Seq: 2})
		}, nil},
		{"a damaged record of an open run", func(s *stored) {
			s.plant("t1", store.Head{Run: open}, store.Record{Name: recordname.Run(core.ID{7}), Version: 1, Payload: []byte(`x`)})
		}, []string{`problem logs             1  threads have damaged records: acme/t1 (run ` + seven + `: decode run record: it does not begin with its schema number). Remedy: restore the records from a backup, or delete these threads; an open run there ends with code corrupt`}},
		{"a head of a newer program", func(s *stored) {
			s.corrupt(s.plant("t1", store.Head{DueAt: ago(time.Hour)}), thread.ErrSchema)
			s.plant("t2", store.Head{Schema: 99, DueAt: ago(time.Hour)})
			s.plant("t3", store.Head{Schema: 1})
		}, []string{"problem versions         2  this program reads schemas up to 2 and writes 1; threads: 1 of schema 1, 1 of schema 99; newer programs wrote threads: acme/t1, acme/t2. Remedy: deploy the newer release again, or finish its deployment: this program cannot continue them"}},
		{"dead letters", func(s *stored) {
			s.plant("t1", store.Head{}, s.last(dead))
			s.plant("t2", store.Head{Run: thread.Run{ID: core.ID{7}, Status: thread.Closing, Reason: thread.ReasonDeadLetter}})
		}, []string{"problem dead-runs        2  runs ended as dead letters in the last 24h: acme/t1 (run " + seven + "), acme/t2 (run " + seven + "). Remedy: look for the run in the log of Step, fix the cause, then send the message again"}},
		{"a dead letter of last week", func(s *stored) {
			s.options.Window = time.Hour - 1
			s.plant("t1", store.Head{}, s.last(dead))
		}, nil},
		{"a run that failed", func(s *stored) {
			s.plant("t1", store.Head{}, s.last(failed))
			s.plant("t2", store.Head{}, s.last(nil))
		}, []string{"warn    failed-runs      1  of 2 threads whose last run ended in the last 24h, ended with an error (1 model): acme/t1 (run " + seven + ", model). Remedy: see the page of the alarm for the code in infra/README.md, then retry the runs"}},
		{"many runs that failed", func(s *stored) {
			for i := range 29 {
				reason := failed
				if i >= 3 {
					reason = nil
				}
				s.plant(fmt.Sprintf("t%02d", i), store.Head{}, s.last(reason))
			}
		}, []string{"problem failed-runs      3  of 29 threads whose last run ended in the last 24h, ended with an error (3 model): acme/t00 (run " + seven + ", model), acme/t01 (run " + seven + ", model), acme/t02 (run " + seven + ", model). Remedy: see the page of the alarm for the code in infra/README.md, then retry the runs"}},
		{"a suspect", func(s *stored) {
			s.plant("t1", store.Head{Run: thread.Run{ID: core.ID{7}, Attempts: 2}})
		}, []string{"warn    suspects         1  runs made no progress in two claims or more, they run alone: acme/t1 (2 attempts). Remedy: look for the thread in the log of Step: a process may have crashed or run out of memory or time"}},
		{"a model that fails", func(s *stored) {
			s.plant("t1", store.Head{Run: thread.Run{ID: core.ID{7}, ModelFailed: 3}})
		}, []string{`warn    models           1  runs repeat calls of a model that failed: acme/t1 (3 failed calls). Remedy: look for "model call failed" in the log of Step, and check key, quota and status of the provider`}},
		{"an agent that is not stored", func(s *stored) {
			s.plant("t1", store.Head{Run: open}, s.run(core.Run{ID: core.ID{7}, Resolution: "abc"}))
		}, []string{"problem snapshots        1  runs need a stored agent that is missing: acme/t1 (abc). Remedy: restore the config table from a backup, or cancel these runs"}},
		{"threads near their limits", func(s *stored) {
			s.plant("t1", store.Head{Pending: make([]thread.Dispatch, 7)})
			later := thread.Dispatch{ID: core.ID{1}, Run: core.ID{2}, AvailableAt: 1}
			s.plant("t2", store.Head{Delayed: slices.Repeat([]thread.Dispatch{later}, 8)})
			s.plant("t3", store.Head{Run: thread.Run{ID: core.ID{7}, Children: slices.Repeat([]core.ID{{1}}, 15)}})
		}, []string{"warn    limits           3  limits of threads have one free place or none: acme/t1 (7 of 8 queued), acme/t2 (8 of 8 delayed), acme/t3 (15 of 16 children). Remedy: wait for the runs, or cancel queued ones: more input is refused with code full"}},
		{"a tenant at its limit", func(s *stored) {
			s.options.Limits = account.Tenants{Default: account.Limits{ConcurrentRuns: 1, SpendADay: 5_000_000_000}}
			day := now.UnixMilli() / 86_400_000
			if _, ok, err := s.Admit(s.t.Context(), "acme", store.Admitting{Day: day, Run: core.ID{7}, Slot: store.Slot{Thread: "t1", Since: 1}}); !ok || err != nil {
				s.t.Fatal(ok, err)
			}
			if _, _, err := s.Charge(s.t.Context(), "acme", store.Use{Day: day, Spend: 5_250_000_000}); err != nil {
				s.t.Fatal(err)
			}
		}, []string{"warn    tenants          2  tenants are at a limit or have most of the work: acme (1 of 1 concurrent runs), acme (5.25 of 5 USD today). Remedy: set or raise limits of these tenants (parameter Limits)"}},
		{"a tenant with most of the work", func(s *stored) {
			for i := range 20 {
				name := fmt.Sprintf("hot/t%d", i)
				if i >= 16 {
					name = fmt.Sprintf("t%d", i)
				}
				s.plant(name, store.Head{Pending: make([]thread.Dispatch, 1)})
			}
		}, []string{"warn    tenants          1  tenants are at a limit or have most of the work: hot (16 of 20 threads with work). Remedy: set or raise limits of these tenants (parameter Limits)"}},
		{"a write in the future", func(s *stored) {
			s.plant("t1", store.Head{CommitID: writtenAt(now.Add(11 * time.Second).UnixMilli())})
		}, []string{"problem times            1  the newest write of a thread is 11s in the future. Remedy: set the clock of this machine, or find the worker whose clock is ahead: what it delays comes late"}},
		{"a store that throttles", func(s *stored) {
			s.corrupt(s.plant("t1", store.Head{}), fmt.Errorf("read head of acme/t1: %w", store.ErrThrottled))
			s.plant("t2", store.Head{})
		}, []string{`problem store            1  reads failed, 1 threads were read, the first error is "read head of acme/t1: store is throttling". Remedy: check the table's throttle metrics; raise its on-demand limits or wait`}},
		{"a store that fails", func(s *stored) {
			s.OnOverdue = func(context.Context, int, int64, *store.Overdue, int) ([]store.Overdue, error) {
				return nil, core.Errorf(core.CodeUnavailable, "no route")
			}
			s.plant("t2", store.Head{DueAt: 1})
		}, []string{`problem store            1  reads failed, 1 threads were read, the first error is "no route". Remedy: check network, credentials and the table's status, and run the doctor again`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newStored(t)
			tt.plant(s)
			if diff := cmp.Diff(tt.want, lines(t, s.options)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// More than a page, with a thread that is in both lists, and more examples than are shown.
func TestEveryThreadIsExaminedOnce(t *testing.T) {
	s := newStored(t)
	for i := range 70 {
		s.plant(fmt.Sprintf("t%02d", i), store.Head{DueAt: ago(time.Hour)})
	}
	got := lines(t, s.options)
	if len(got) != 1 || !strings.HasPrefix(got[0], "problem overdue         70  ") || strings.Count(got[0], "acme/t") != 5 || !strings.Contains(got[0], ", and 65 more. Remedy") {
		t.Errorf("the lines are %q", got)
	}
	s.options.Threads = nil
	if without := lines(t, s.options); !slices.Equal(got, without) {
		t.Errorf("without a list of threads the lines are %q", without)
	}
}

func TestExamineNeedsAStore(t *testing.T) {
	if _, err := doctor.Examine(t.Context(), doctor.Options{}); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("without a store it returns %v, want code invalid", err)
	}
	s := newStored(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := doctor.Examine(ctx, s.options); err == nil {
		t.Error("with a cancelled context it returns no error")
	}
}
