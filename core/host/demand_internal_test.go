package host

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// marking is a demand for theRun, in a process whose clock starts at a full second, and
// counts what it reads and writes.
type marking struct {
	demand
	looks, puts, commits int
	failed               error // of the next look or put
	t                    *testing.T
}

func newMarking(t *testing.T) *marking {
	m := &marking{t: t}
	over := &storetest.Faulty{Backend: memory.New()}
	over.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		switch op.Method {
		case "Records":
			m.looks++
		case "Put":
			m.puts++
		case "Commit":
			m.commits++
		default:
			return do(ctx)
		}
		if err := m.failed; err != nil {
			m.failed = nil
			return err
		}
		return do(ctx)
	}
	r, _ := program(t, func(c *Options) {
		c.Store = over
		quiet := agent.Spec{ID: "quiet", Model: "m", Events: agent.EventsCommits}
		c.Agents.Specs = append(c.Agents.Specs, quiet)
	})
	m.demand = demand{env: r.env, store: over, mailbox: r.mailbox, agents: r.agents, key: core.ThreadKey{Tenant: "acme", Thread: "t"}, run: theRun}
	return m
}

func (m *marking) stored() (mark live.Mark, found bool) {
	m.t.Helper()
	record, ok, err := m.store.Get(m.t.Context(), m.key, recordname.Follow)
	if err != nil {
		m.t.Fatal(err)
	}
	if ok {
		if err := m.records.Decode("follow mark", record.Payload, &mark); err != nil {
			m.t.Fatal(err)
		}
	}
	return mark, ok
}

// leaves stores the mark of somebody else, next to a head of that version.
func (m *marking) leaves(mark live.Mark, version uint64) {
	m.t.Helper()
	record, err := mark.Record(m.records, thread.Head{Fence: 1, Version: version})
	if err == nil {
		err = m.store.Put(m.t.Context(), m.key, record)
	}
	if err != nil {
		m.t.Fatal(err)
	}
	m.looks, m.puts = 0, 0
}

// A follower that finds no mark of its run leaves one for a minute, and looks again when
// less than 15 s of it are left.
func TestAMarkIsLeftAndRenewed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMarking(t)
		head := thread.Head{Fence: 1, Version: 5}
		began := m.env.Millis()
		m.ask(t.Context(), head, "demo")
		if mark, ok := m.stored(); !ok || mark.Run != theRun || mark.Until != began+60_000 || m.until != mark.Until || m.looks != 1 || m.puts != 1 {
			t.Fatalf("%+v, %t, until %d, %d looks, %d puts", mark, ok, m.until-began, m.looks, m.puts)
		}
		time.Sleep(45 * time.Second) // 15 s are left
		m.ask(t.Context(), head, "demo")
		if m.looks != 1 {
			t.Errorf("with 15 s left %d looks", m.looks)
		}
		time.Sleep(time.Millisecond)
		head.Version++
		m.ask(t.Context(), head, "demo")
		if mark, _ := m.stored(); m.looks != 2 || m.puts != 2 || mark.Until != began+105_001 || m.until != mark.Until {
			t.Errorf("with less %d looks, %d puts, until %d", m.looks, m.puts, mark.Until-began)
		}
	})
}

// Another follower's mark serves as long as it is of the run and of a clock that may be.
func TestWhoseMarkServes(t *testing.T) {
	for name, test := range map[string]struct {
		run   core.ID
		left  time.Duration
		serve bool
	}{
		"as long as one is left for": {theRun, time.Minute, true},
		"of a fast clock":            {theRun, time.Minute + time.Millisecond, false},
		"just long enough":           {theRun, 15 * time.Second, true},
		"too short":                  {theRun, 15*time.Second - time.Millisecond, false},
		"over":                       {theRun, -time.Second, false},
		"of another run":             {core.ID{8}, time.Minute, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMarking(t)
			now := m.env.Millis()
			other := live.Mark{Run: test.run, Until: now + test.left.Milliseconds()}
			m.leaves(other, 4)
			m.ask(t.Context(), thread.Head{Fence: 1, Version: 5}, "demo")
			mark, _ := m.stored()
			if served := mark == other; served != test.serve || m.puts != map[bool]int{false: 1}[served] || m.until != mark.Until {
				t.Errorf("%s: %+v, %d puts, until %d", name, mark, m.puts, m.until-now)
			}
		})
	}
}

// A mark that cannot be read is no mark; one that cannot be stored is left a second later.
func TestAMarkThatCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMarking(t)
		now := m.env.Millis()
		m.leaves(live.Mark{Run: theRun, Until: now + 60_000}, 4)
		m.failed = errors.New("no") // the look
		m.ask(t.Context(), thread.Head{Fence: 1, Version: 5}, "demo")
		if m.puts != 1 || m.until != now+60_000 {
			t.Errorf("a mark that is not seen: %d puts, until %d", m.puts, m.until-now)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m := newMarking(t)
		now := m.env.Millis()
		if m.until = 0; true {
			m.store = &storetest.Faulty{Backend: m.store, OnPut: func(context.Context, core.ThreadKey, store.Record) error { return errors.New("no") }}
		}
		m.ask(t.Context(), thread.Head{Fence: 1, Version: 5}, "demo")
		if m.until != now+16_000 {
			t.Errorf("a write that failed: until %d, want 16 s", m.until-now)
		}
		m.ask(t.Context(), thread.Head{Fence: 1, Version: 5}, "demo")
		if m.looks != 1 {
			t.Errorf("%d looks at once", m.looks)
		}
		time.Sleep(time.Second + time.Millisecond)
		m.ask(t.Context(), thread.Head{Fence: 1, Version: 5}, "demo")
		if m.looks != 2 {
			t.Errorf("%d looks a second later", m.looks)
		}
	})
}

// A refused mark: another follower was first; or the same version of the head has another
// mark, and the head is moved on, so that the next one can be left.
func TestAMarkThatIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		mark    live.Mark // that was left, and the list does not show
		version uint64    // of the head that it is next to
		stored  uint64    // of the head that is stored: it has moved when it is another
		commits int
		until   int64
	}{
		"by one that serves":            {live.Mark{Run: theRun, Until: 50_000}, 2, 2, 0, 50_000},
		"by another run's":              {live.Mark{Run: core.ID{8}, Until: 50_000}, 2, 2, 1, 0},
		"by one that is over":           {live.Mark{Run: theRun, Until: 9_000}, 2, 2, 1, 0},
		"by one of a head that is gone": {live.Mark{Run: core.ID{8}, Until: 50_000}, 2, 3, 0, 0},
		"by one of a later head":        {live.Mark{Run: core.ID{8}, Until: 50_000}, 4, 2, 0, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := newMarking(t)
			now := m.env.Millis()
			head := thread.Head{Layout: thread.Layout, Schema: 1, CommitID: core.ID{9}, Incarnation: 1, Fence: 1}
			for head.Version = 1; ; head.Version++ {
				if outcome, err := m.store.Commit(t.Context(), m.key, store.Commit{Head: head}); err != nil || !outcome.Written {
					t.Fatal(err)
				}
				if head.Version == test.stored {
					break
				}
			}
			test.mark.Until += now
			m.leaves(test.mark, test.version)
			hides := &storetest.Faulty{Backend: m.store, OnRecords: func(context.Context, core.ThreadKey, string, string, int) ([]store.Record, error) { return nil, nil }}
			m.store, m.commits = hides, 0
			seen := head
			seen.Version = 2
			m.ask(t.Context(), seen, "demo")
			if test.until > 0 {
				test.until += now
			}
			if m.commits != test.commits || m.until != test.until {
				t.Errorf("%s: %d commits, until %d", name, m.commits, m.until-now)
			}
		})
	}
}

// An agent that says itself what is stored needs no mark; one that is not known may.
func TestWhichAgentsNeedMarks(t *testing.T) {
	for name, want := range map[string]int{"demo": 1, "quiet": 0, "gone": 1} {
		m := newMarking(t)
		m.ask(t.Context(), thread.Head{Fence: 1, Version: 5}, name)
		if m.looks != want || m.puts != want {
			t.Errorf("%s: %d looks, %d puts, want %d", name, m.looks, m.puts, want)
		}
	}
}

// Of a mark that is damaged nothing counts.
func TestADamagedMarkServesNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMarking(t)
		head := thread.Head{Layout: thread.Layout, Schema: 1, Version: 1, CommitID: core.ID{9}, Incarnation: 1, Fence: 1}
		if outcome, err := m.store.Commit(t.Context(), m.key, store.Commit{Head: head}); err != nil || !outcome.Written {
			t.Fatal(err)
		}
		payload := fmt.Sprintf(`{"schema":1,"run":%q,"until":%d,"until":"never"}`, theRun, m.env.Millis()+50_000)
		if err := m.store.Put(t.Context(), m.key, store.Record{Name: recordname.Follow, Fence: 1, Version: 1, Payload: []byte(payload)}); err != nil {
			t.Fatal(err)
		}
		m.commits = 0
		m.ask(t.Context(), head, "demo")
		if m.commits != 1 || m.until != 0 {
			t.Errorf("%d commits, until %d", m.commits, m.until)
		}
	})
}
