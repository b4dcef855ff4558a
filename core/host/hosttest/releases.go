package hosttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// Options configures the suites.
type Options struct {
	// Open returns an empty backend whose clock is now; it registers with
	// t.Cleanup what must be closed.
	Open func(t *testing.T, now func() time.Time) store.Backend
}

// The releases: each reads records up to a schema and writes one. Those that
// know schema 3 have a field more.
var (
	old     = release{"1/1", thread.Records{Schemas: thread.Schemas{Reads: 1, Writes: 1}}}
	reading = release{"3/1", thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 1}, Extra: "new in schema 3"}}
	writing = release{"3/3", thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}, Extra: "new in schema 3"}}
)

type release struct {
	name    string
	records thread.Records
}

// reads reports whether the release can claim a thread.
func (r release) reads(head thread.Head) bool { return head.Schema <= r.records.Reads }

// phase is a time during which some releases run, who take turns.
type phase struct {
	releases []release
	turns    int // 0: until everything is done
}

// deployments are what happens to a table that several releases share.
var deployments = []struct {
	name   string
	phases []phase
	sends  release       // what comes in while the first run is on its way
	schema uint16        // of the head when all is done
	within time.Duration // all is done, by the clock
}{
	{"a release that reads more, together with the old one",
		[]phase{{releases: []release{old, reading}}}, old, 1, 2 * time.Minute},
	{"a release that writes it, together with one that reads it",
		[]phase{{releases: []release{reading, writing}}}, reading, 3, 2 * time.Minute},
	{"all three at once",
		[]phase{{releases: []release{writing, old, reading}}}, old, 3, 15 * time.Minute},
	{"back to the release that reads it",
		[]phase{{[]release{writing}, 2}, {releases: []release{reading}}}, writing, 3, 2 * time.Minute},
	{"back too far, and forward again",
		[]phase{{[]release{writing}, 2}, {[]release{old}, 20}, {releases: []release{reading}}}, old, 3, 40 * time.Minute},
}

// transcript is the content of the thread at the end, independent of the releases that
// took the steps: the tool returns the number of earlier steps in the state.
var transcript = []string{
	"user: first",
	"assistant: turn 1", "tool: 0",
	"user: steered",
	"assistant: turn 2", "tool: 1",
	"assistant: turn 3", "tool: 2",
	"assistant: turn 4", "tool: 3",
	"assistant: turn 5",
	"user: second",
	"assistant: turn 6", "tool: 5",
	"assistant: turn 7",
}

// Releases runs programs of several releases on one store. No run may end or get lost
// because of a record that another release wrote. A release that cannot read a thread
// must not write to it.
func (o Options) Releases(t *testing.T) {
	for _, d := range deployments {
		t.Run(d.name, func(t *testing.T) {
			w := newWorld(t, o)
			receipts := []mailbox.Receipt{w.submit(d.phases[0].releases[0], "first", mailbox.ModeQueue)}
			begin := w.now()
			for _, p := range d.phases {
				w.play(p, func() {
					// After the first step, and after the second, so that the places of the texts do not
					// depend on the releases that take the steps.
					switch head := w.head(); {
					case len(receipts) == 1 && head.Run.Step >= 1:
						receipts = append(receipts, w.submit(d.sends, "steered", mailbox.ModeSteer))
					case len(receipts) == 2 && head.Run.Step >= 2:
						receipts = append(receipts, w.submit(d.sends, "second", mailbox.ModeQueue))
					}
				})
			}
			if took := w.now().Sub(begin); took > d.within {
				t.Errorf("it took %s, want at most %s", took, d.within)
			}
			w.wantEnds(receipts, d.schema)
		})
	}
}

// play lets the releases take turns. between runs after each turn.
func (w *world) play(p phase, between func()) {
	w.t.Helper()
	for turn := 0; p.turns == 0 && !w.idle() || turn < p.turns; turn++ {
		if turn == 500 {
			head := w.head()
			w.t.Fatalf("not done after %d turns, at %s: %+v", turn, w.now(), head)
		}
		r := p.releases[turn%len(p.releases)]
		if r.reads(w.head()) {
			w.workOnce(r)
		} else {
			before := w.contents()
			w.workOnce(r)
			if after := w.contents(); !slices.Equal(before, after) {
				w.t.Fatalf("%s wrote to a thread that it cannot read:\nbefore %q\nafter  %q", r.name, before, after)
			}
		}
		between()
	}
}

// idle reports whether there is no more work.
func (w *world) idle() bool {
	head := w.head()
	return head.Exists() && !head.Open() && len(head.Unopened()) == 0
}

// wantEnds checks the stored records at the end.
func (w *world) wantEnds(receipts []mailbox.Receipt, schema uint16) {
	w.t.Helper()
	head := w.head()
	if !w.idle() || head.Schema != schema {
		w.t.Errorf("the head has the schema %d, want %d, and nothing to do: %+v", head.Schema, schema, head)
	}
	entries, err := threadlog.Read(w.t.Context(), w.store, writing.records, theThread, 1, head.Seq)
	if err != nil {
		w.t.Fatal(err)
	}
	var said []string
	for _, e := range entries {
		if e.Message != nil {
			said = append(said, fmt.Sprintf("%s: %s", e.Message.Role, e.Message.Text()))
		}
	}
	if !slices.Equal(said, transcript) {
		w.t.Errorf("the thread holds\n%q\nwant\n%q", said, transcript)
	}
	if len(receipts) != 3 {
		w.t.Fatalf("%d inputs were sent, want 3", len(receipts))
	}
	if receipts[1].RunID != receipts[0].RunID {
		w.t.Errorf("the steered input went to run %s, want the first, %s", receipts[1].RunID, receipts[0].RunID)
	}
	for i, steps := range map[int]int{0: 5, 2: 2} {
		record, ok, err := w.store.Get(w.t.Context(), theThread, recordname.Run(receipts[i].RunID))
		if err != nil || !ok {
			w.t.Fatalf("run record %d: %v, %v", i, ok, err)
		}
		run, err := writing.records.DecodeRun(record.Payload)
		if err != nil {
			w.t.Fatal(err)
		}
		if run.Status != core.RunDone || run.Termination == nil || run.Termination.Type != core.TerminationNatural || run.Steps != steps {
			w.t.Errorf("run %d is %s after %d steps with %+v, want done after %d, naturally", i, run.Status, run.Steps, run.Termination, steps)
		}
	}
}
