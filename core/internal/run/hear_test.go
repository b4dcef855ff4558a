package run

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// Of several steps of a thread the one is heard that has the fence, and nobody holds the
// lock behind a call.
func TestWhichStepIsHeard(t *testing.T) {
	s := &Stepper{env: env.System()}
	works := core.ThreadKey{Thread: "works"}
	free := func(call string) {
		t.Helper()
		if !s.under.mu.TryLock() {
			t.Fatalf("%s keeps the lock", call)
		}
		s.under.mu.Unlock()
	}
	s.Attend(works)
	free("Attend")
	var steps []*machine
	for _, fence := range []uint64{5, 6, 7} {
		m := s.newMachine(Work{Key: works, Head: thread.Head{Claim: thread.Claim{Fence: fence}}}, nil)
		s.under.enter(works, &m.holder.shared)
		free("enter")
		steps = append(steps, m)
	}
	s.Moved(works, thread.Head{})
	s.Moved(core.ThreadKey{Thread: "idle"}, thread.Head{})
	free("Moved")
	heard := map[string][]uint64{}
	for _, name := range []string{"idle", "works"} {
		for fence := uint64(4); fence <= 8; fence++ {
			events, here := s.Hear(core.ThreadKey{Thread: name}, &live.Hearing{Attempt: live.Attempt{Step: 1, Fence: fence}})
			if here {
				heard[name] = append(heard[name], fence)
			}
			if events != nil {
				t.Errorf("fence %d says %v", fence, events)
			}
			free("Hear")
		}
	}
	if diff := cmp.Diff(map[string][]uint64{"works": {5, 6, 7}}, heard); diff != "" {
		t.Errorf("fences that are heard (-want +got):\n%s", diff)
	}
	for _, m := range steps {
		s.under.exit(works, &m.holder.shared)
		free("exit")
	}
	s.Forget(works)
	free("Forget")
	s.Forget(works) // once too often
	if len(s.under.threads) > 0 {
		t.Errorf("%d threads are kept", len(s.under.threads))
	}
}
