package run

import (
	"context"
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// under5 is a head under the claim of fence 5, which the step has at version 10.
func under5(version uint64, change func(*thread.Head)) thread.Head {
	h := thread.Head{Version: version, CommitID: core.ID{byte(version)}, Claim: thread.Claim{Fence: 5}}
	if change != nil {
		change(&h)
	}
	return h
}

func closing(h *thread.Head)     { h.Run.Status = thread.Closing }
func interrupted(h *thread.Head) { h.Epoch++ }
func unclaimed(h *thread.Head)   { h.Claim = thread.Claim{} }
func takenOver(h *thread.Head)   { h.Claim.Fence = 7 }
func byHolder(h *thread.Head)    { h.HolderCommitID = h.CommitID }

func TestWhatAStepIsToldByItsOwnProcess(t *testing.T) {
	both := func(all ...func(*thread.Head)) func(*thread.Head) {
		return func(h *thread.Head) {
			for _, f := range all {
				f(h)
			}
		}
	}
	tests := []struct {
		name  string
		heads []thread.Head
		hold  func(*hold)
		stops error  // nil: it goes on
		news  uint64 // version that the step goes on from; 0: none
	}{
		{"a cancel", []thread.Head{under5(11, closing)}, nil, thread.ErrClosing, 11},
		{"an interrupt", []thread.Head{under5(11, interrupted)}, nil, thread.ErrSuperseded, 11},
		{"another claim", []thread.Head{under5(11, takenOver)}, nil, thread.ErrFenced, 0},
		{"a delete", []thread.Head{under5(11, unclaimed)}, nil, thread.ErrFenced, 0},
		{"input", []thread.Head{under5(11, nil)}, nil, nil, 11},
		{"of two, the older one last", []thread.Head{under5(12, nil), under5(11, nil)}, nil, nil, 12},
		{"a write before its claim, late", []thread.Head{under5(9, unclaimed)}, nil, nil, 0},
		{"its claim itself, late", []thread.Head{under5(10, nil)}, nil, nil, 0},
		{"its own commit", []thread.Head{under5(11, byHolder)}, nil, nil, 0},
		{"its own end", []thread.Head{under5(11, both(byHolder, unclaimed))}, nil, nil, 0},
		{"what comes behind its own end", []thread.Head{under5(11, both(byHolder, unclaimed)), under5(12, takenOver)}, nil, nil, 0},
		{"what comes behind its own commit", []thread.Head{under5(11, byHolder), under5(12, closing)}, nil, thread.ErrClosing, 12},
		{"a cancel of a run that it ends", []thread.Head{under5(11, closing)}, func(h *hold) { h.ending.Store(true) }, nil, 11},
		{"an interrupt of a run that it ends", []thread.Head{under5(11, interrupted)}, func(h *hold) { h.ending.Store(true) }, nil, 11},
		{"a write between its fences", []thread.Head{under5(11, nil)}, func(h *hold) { h.fence.Store(6) }, nil, 11},
		{"a cancel between its fences", []thread.Head{under5(11, closing)}, func(h *hold) { h.fence.Store(6) }, thread.ErrClosing, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &Stepper{env: env.System()}
			m := s.newMachine(Work{Head: under5(10, nil)}, nil)
			s.under.enter(m.holder.Key, &m.holder.shared)
			defer s.under.exit(core.ThreadKey{}, &m.holder.shared)
			if tt.hold != nil {
				tt.hold(&m.holder.shared.hold)
			}
			group, shared := s.env.Group(t.Context())
			m.holder.shared.told.watches(&m.holder.shared.hold, group)
			for _, head := range tt.heads {
				s.Moved(core.ThreadKey{}, head)
			}
			if tt.stops == nil && shared.Err() != nil || tt.stops != nil && !errors.Is(context.Cause(shared), tt.stops) {
				t.Errorf("the work ends with %v, want %v", context.Cause(shared), tt.stops)
			}
			version := uint64(0)
			if head := m.holder.shared.news.newest(); head != nil {
				version = head.Version
			}
			if version != tt.news {
				t.Errorf("the step goes on from version %d, want %d", version, tt.news)
			}
			m.holder.shared.told.watches(&m.holder.shared.hold, nil)
			_ = group.Wait()
		})
	}
}

func TestEachStepOfAThreadIsToldWhileItWorks(t *testing.T) {
	s := &Stepper{env: env.System()}
	work := func(thread string) *machine {
		m := s.newMachine(Work{Key: core.ThreadKey{Thread: thread}, Head: under5(10, nil)}, nil)
		s.under.enter(m.holder.Key, &m.holder.shared)
		return m
	}
	a, b, c, other := work("t"), work("t"), work("t"), work("u")
	tell := func(version uint64) { s.Moved(core.ThreadKey{Thread: "t"}, under5(version, nil)) }
	heard := func(m *machine) uint64 {
		if head := m.holder.shared.news.newest(); head != nil {
			return head.Version
		}
		return 0
	}
	check := func(want ...uint64) {
		t.Helper()
		for i, m := range []*machine{a, b, c, other} {
			if got := heard(m); got != want[i] {
				t.Errorf("step %d has heard of version %d, want %d", i, got, want[i])
			}
		}
	}
	tell(11)
	check(11, 11, 11, 0)
	s.under.exit(core.ThreadKey{Thread: "t"}, &b.holder.shared)
	tell(12)
	check(12, 11, 12, 0)
	s.under.exit(core.ThreadKey{Thread: "t"}, &c.holder.shared)
	tell(13)
	check(13, 11, 12, 0)
	s.under.exit(core.ThreadKey{Thread: "t"}, &a.holder.shared)
	tell(14)
	check(13, 11, 12, 0)
	s.under.exit(core.ThreadKey{Thread: "u"}, &other.holder.shared)
	if len(s.under.threads) > 0 {
		t.Errorf("%d threads are still kept", len(s.under.threads))
	}
}

// What is written between the claim and its step, or between two pieces of a step's work,
// stops the work that comes next, unless that ends the run itself.
func TestWhatIsToldBesideTheWorkStopsTheNext(t *testing.T) {
	key := core.ThreadKey{Thread: "t"}
	tests := []struct {
		name   string
		attend bool
		before []thread.Head // the step
		within []thread.Head // before its work
		ending bool
		want   error
	}{
		{"a cancel before the step", true, []thread.Head{under5(11, closing)}, nil, false, thread.ErrClosing},
		{"a cancel before the step, and its holder's write behind it", true, []thread.Head{under5(11, closing), under5(12, byHolder)}, nil, false, thread.ErrClosing},
		{"that nobody attends to", false, []thread.Head{under5(11, closing)}, nil, false, nil},
		{"what was there before the claim", true, []thread.Head{under5(9, unclaimed)}, nil, false, nil},
		{"a late write from before the claim", true, []thread.Head{under5(11, closing), under5(9, unclaimed)}, nil, false, thread.ErrClosing},
		{"the commit of another step, which gives up its claim", true, []thread.Head{under5(11, func(h *thread.Head) { byHolder(h); unclaimed(h) })}, nil, false, nil},
		{"a cancel before the work", false, nil, []thread.Head{under5(11, closing)}, false, thread.ErrClosing},
		{"of two, the newer one, which comes last", false, nil, []thread.Head{under5(11, closing), under5(12, takenOver)}, false, thread.ErrFenced},
		{"of two, the newer one", false, nil, []thread.Head{under5(12, takenOver), under5(11, closing)}, false, thread.ErrFenced},
		{"a cancel before the work that ends the run", false, nil, []thread.Head{under5(11, closing)}, true, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &Stepper{env: env.System()}
			if tt.attend {
				s.Attend(key)
			}
			for _, head := range tt.before {
				s.Moved(key, head)
			}
			m := s.newMachine(Work{Key: key, Head: under5(10, nil)}, nil)
			s.under.enter(m.holder.Key, &m.holder.shared)
			for _, head := range tt.within {
				s.Moved(key, head)
			}
			m.holder.shared.hold.ending.Store(tt.ending)
			for i, want := range []error{tt.want, nil} { // the one behind it is another matter
				group, shared := s.env.Group(t.Context())
				m.holder.shared.told.watches(&m.holder.shared.hold, group)
				if cause := context.Cause(shared); !errors.Is(cause, want) {
					t.Errorf("work %d ends with %v, want %v", i, cause, want)
				}
				m.holder.shared.told.watches(&m.holder.shared.hold, nil)
				_ = group.Wait()
			}
			s.under.exit(key, &m.holder.shared)
			if tt.attend {
				s.Forget(key)
			}
			if len(s.under.threads) > 0 {
				t.Errorf("%d threads are still kept", len(s.under.threads))
			}
		})
	}
}
