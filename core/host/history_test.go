package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
)

var stepsKey = state.Key[int, int]{Name: "steps", Scope: state.ScopeRun, Apply: func(v, n int) int { return v + n }}

// countBoth counts a thread's runs, and a run's steps.
type countBoth struct{}

func (countBoth) ID() string { return "count" }

func (countBoth) Register(r *plugin.Registrar) error {
	r.Key(runsKey)
	r.Key(stepsKey)
	r.OnRunStart(func(context.Context, plugin.RunStart) (state.Command, error) { return runsKey.Update(1), nil })
	r.OnStepEnd(func(context.Context, plugin.StepEnd) (state.Command, error) { return stepsKey.Update(1), nil })
	return nil
}

// threeRuns are three runs on t1, the middle one of two steps.
func threeRuns(t *testing.T) (*host.Host, []core.ID) {
	t.Helper()
	r := newRig(t)
	process := r.process("w", r.store, func(c *host.Options) {
		c.Agents.Plugins, c.Agents.Specs[0].Plugins = []plugin.Plugin{countBoth{}}, []string{"count"}
	})
	var runs []core.ID
	for _, text := range []string{"hi", "call: echo {\"text\":\"x\"}", "ho"} {
		receipt, err := process.Stream(t.Context(), submission("t1", text), host.ListenerFunc(func(core.Event) error { return nil }))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, receipt.RunID)
	}
	return process, runs
}

func TestStateIsReadAtEveryRevisionThatItHasHad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, runs := threeRuns(t)
		want := []string{
			`{"thread":{},"run":{}}`,
			`{"thread":{"runs":1},"run":{}}`, `{"thread":{"runs":1},"run":{"steps":1}}`,
			`{"thread":{"runs":2},"run":{}}`, `{"thread":{"runs":2},"run":{"steps":1}}`, `{"thread":{"runs":2},"run":{"steps":2}}`,
			`{"thread":{"runs":3},"run":{}}`, `{"thread":{"runs":3},"run":{"steps":1}}`,
		}
		now, err := process.State(t.Context(), local, "t1", nil)
		if err != nil || now.Run != runs[2] {
			t.Fatalf("the state is of run %s, %v, want %s", now.Run, err, runs[2])
		}
		if got := fmt.Sprint(now.Revision, " ", string(now.Document)); got != "7 "+want[7] {
			t.Errorf("the state is %s, want 7 %s", got, want[7])
		}
		for n := range want {
			revision := uint64(n)
			got, err := process.State(t.Context(), local, "t1", &revision)
			if err != nil || got.Revision != revision || string(got.Document) != want[n] {
				t.Errorf("revision %d: %d %s, %v, want %s", n, got.Revision, got.Document, err, want[n])
			}
		}
		revision := uint64(8)
		if _, err := process.State(t.Context(), local, "t1", &revision); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("revision 8: %v, want not_found", err)
		}
	})
}

// Whoever applies the changes behind a revision comes to the state as it stands, from
// whatever page they come.
func TestChangesOfStateLeadFromOneRevisionToAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, runs := threeRuns(t)
		all := changes(t, process, host.StateQuery{})
		want := []string{
			`1 0 [{"op":"add","path":"/thread/runs","value":1}]`,
			`2 0 [{"op":"add","path":"/run/steps","value":1}]`,
			`3 1 new [{"op":"replace","path":"/thread/runs","value":2}]`,
			`4 1 [{"op":"add","path":"/run/steps","value":1}]`,
			`5 1 [{"op":"replace","path":"/run/steps","value":2}]`,
			`6 2 new [{"op":"replace","path":"/thread/runs","value":3}]`,
			`7 2 [{"op":"add","path":"/run/steps","value":1}]`,
		}
		lines := func(list []host.StateChange) (lines []string) {
			for _, c := range list {
				run, fresh := 0, ""
				for runs[run] != c.Run {
					run++
				}
				if c.NewRun {
					fresh = "new "
				}
				lines = append(lines, fmt.Sprintf("%d %d %s%s", c.Revision, run, fresh, c.Patch))
			}
			return lines
		}
		if diff := cmp.Diff(want, lines(all)); diff != "" {
			t.Errorf("all changes (-want +got):\n%s", diff)
		}
		for limit := range 3 {
			if diff := cmp.Diff(want, lines(changes(t, process, host.StateQuery{Limit: limit + 1}))); diff != "" {
				t.Errorf("in pages of %d (-want +got):\n%s", limit+1, diff)
			}
		}
		for since := range uint64(8) {
			if diff := cmp.Diff(want[since:], lines(changes(t, process, host.StateQuery{Since: since, Limit: 2})), cmp.Transformer("none", none)); diff != "" {
				t.Errorf("since %d (-want +got):\n%s", since, diff)
			}
		}
		if _, err := process.StatePatches(t.Context(), local, "t1", host.StateQuery{Since: 9}); core.CodeOf(err) != core.CodeNotFound {
			t.Errorf("since 9: %v, want not_found", err)
		}
	})
}

// none makes no difference between no list and an empty one.
func none(list []string) string { return fmt.Sprintf("%q", list) }

func changes(t *testing.T, process *host.Host, q host.StateQuery) (all []host.StateChange) {
	t.Helper()
	for {
		page, err := process.StatePatches(t.Context(), local, "t1", q)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, page.Items...); page.Next == "" {
			return all
		}
		q.After = page.Next
	}
}

func TestTimelineHasEachStepWithItsCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, runs := threeRuns(t)
		var got []string
		for after, more := uint64(0), true; more; {
			page, err := process.Steps(t.Context(), local, runs[1], host.StepQuery{Limit: 1, After: after})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Steps) != 1 {
				t.Errorf("a page of one step has %d", len(page.Steps))
			}
			for _, s := range page.Steps {
				line := fmt.Sprintf("%d %s %s %q revision %d of %d", s.Number, s.Model, s.Stop, s.Text, s.Revision, s.Totals.Steps)
				for _, c := range s.Calls {
					result, _ := json.Marshal(c.Result.Data)
					line += fmt.Sprintf(" %s(%s) %s %s", c.Name, c.Arguments, c.Status, result)
				}
				if s.Ended < s.Said || s.Said < s.Began || s.Began == 0 {
					t.Errorf("step %d began at %d, was said at %d and ended at %d", s.Number, s.Began, s.Said, s.Ended)
				}
				got = append(got, line)
			}
			after, more = page.Next, page.Next != 0
		}
		want := []string{
			`1 scripted tool_use "" revision 4 of 1 echo({"text":"x"}) ok {"text":"x"}`,
			`2 scripted end_turn "The result of echo: {\"text\":\"x\"}" revision 5 of 2`,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// The events that are committed are those of a stream that comes late, but for what has no
// place; in pages of any size.
func TestCommittedEventsAreThoseOfALateStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, runs := threeRuns(t)
		var want []string
		if err := process.Follow(t.Context(), local, runs[1], host.ListenerFunc(func(e core.Event) error {
			if e.Position != "" {
				want = append(want, e.Position+" "+string(e.Type))
			}
			return nil
		})); err != nil {
			t.Fatal(err)
		}
		if len(want) < 10 {
			t.Fatalf("a late stream has %d events with a place: %q", len(want), want)
		}
		for _, limit := range []int{1, 3, 200} {
			var got []string
			q := host.EventQuery{Limit: limit}
			for more := true; more; {
				page, err := process.Committed(t.Context(), local, runs[1], q)
				if err != nil || len(page.Items) > limit || page.Next != "" && len(page.Items) != limit {
					t.Fatalf("a page of %d has %d events, more %v: %v", limit, len(page.Items), page.Next != "", err)
				}
				for _, e := range page.Items {
					got = append(got, e.Position+" "+string(e.Type))
					q.After = e.Position
				}
				more = page.Next != ""
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("in pages of %d (-late stream +pages):\n%s", limit, diff)
			}
		}
	})
}
