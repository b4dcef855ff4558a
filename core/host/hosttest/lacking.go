package hosttest

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Builds of one schema: the agent of the newer one has a tool that the older has not.
var (
	newer = release{"newer", old.records}
	older = release{"older", old.records}
)

// Lacking runs two builds on one store. The older one lacks a tool that the run's agent
// names. It leaves the run to the newer build for ten minutes at most.
func (o Options) Lacking(t *testing.T) {
	tests := []struct {
		name          string
		phases        []phase
		least, within time.Duration // until all is done, by the clock
		result        string        // of each call that the older build reached
	}{
		{"the newer build returns", []phase{{[]release{newer}, 1}, {[]release{older}, 12}, {releases: []release{newer}}}, time.Minute, 8 * time.Minute, ""},
		{"the builds alternate", []phase{{[]release{newer}, 1}, {releases: []release{older, newer}}}, 0, 3 * time.Minute, ""},
		{"the newer build is gone", []phase{{[]release{newer}, 1}, {releases: []release{older}}}, 10 * time.Minute, 12 * time.Minute, `tool "count" not found`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t, o)
			has, lacks := parts(t), parts(t)
			has.Specs[0].AllowedTools = []string{"count"}
			lacks.Tools, lacks.Specs[0].AllowedTools = nil, []string{}
			w.runtimes["newer"], w.runtimes["older"] = w.build(newer, has), w.build(older, lacks)
			receipt := w.submit(newer, "first", mailbox.ModeQueue)
			begin := w.now()
			for i, p := range test.phases {
				before := w.head()
				w.play(p, func() {})
				if after := w.head(); i == 1 && p.turns > 0 && (after.Seq != before.Seq || after.Run.Attempts != 0 || after.Run.LacksSince == 0) {
					t.Errorf("the older build leaves %d attempts, the log at %d, since %d; it was at %d", after.Run.Attempts, after.Seq, after.Run.LacksSince, before.Seq)
				}
			}
			if took := w.now().Sub(begin); took < test.least || took > test.within {
				t.Errorf("it took %s, want %s to %s", took, test.least, test.within)
			}
			want := []string{"user: first", "assistant: turn 1", "tool: 0"}
			for turn := 2; turn <= 4; turn++ {
				result := fmt.Sprint(turn - 1)
				if test.result != "" {
					result = test.result
				}
				want = append(want, fmt.Sprintf("assistant: turn %d", turn), "tool: "+result)
			}
			if diff := cmp.Diff(append(want, "assistant: turn 5"), w.said()); diff != "" {
				t.Errorf("the thread holds (-want +got):\n%s", diff)
			}
			record, ok, err := w.store.Get(t.Context(), theThread, recordname.Run(receipt.RunID))
			if err != nil || !ok {
				t.Fatalf("run record: %v, %v", ok, err)
			}
			run, err := thread.Records{}.DecodeRun(record.Payload)
			if err != nil || run.Termination == nil || run.Termination.Type != core.TerminationNatural {
				t.Errorf("the run is %+v, %v", run, err)
			}
		})
	}
}

// said are the messages of the log.
func (w *world) said() (lines []string) {
	w.t.Helper()
	entries, err := threadlog.Read(w.t.Context(), w.store, thread.Records{}, theThread, 1, w.head().Seq)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Message != nil {
			lines = append(lines, fmt.Sprintf("%s: %s", e.Message.Role, e.Message.Text()))
		}
	}
	return lines
}
