package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// left is a result that a claim which was lost has left: where it says that it stands, how
// many claims before the one that stands put it, and what it changes.
type left struct {
	call, place, before int
	adds                string
	done                bool // an older program has marked it so
}

// leave puts results as claims before would have, after the step of the one that the last
// call's result is of.
func (p *placed) leave(t *testing.T, results ...left) {
	t.Helper()
	head := p.take(t, key)
	last := len(head.Run.Calls) - 1
	like := p.entry(t, head.Run.Base+uint64(last))
	calls, marked := append([]thread.CallStatus(nil), head.Run.Calls...), false
	for _, l := range results {
		(&siblings{world: p.world}).putResult(t, l.call, like, func(e *thread.Entry) {
			command := appended.Update(l.adds)
			e.Place, e.Attempt, e.Intents, e.Decision = uint16(l.place), head.Fence-uint64(l.before), &command, fmt.Sprint("d", l.call)
			e.At, e.Duration, e.Message.CreatedAt = int64(1000+l.call), int64(10+l.call), int64(2000+l.call)
		})
		if l.done {
			calls[l.call], marked = thread.CallDone, true
		}
	}
	if !marked {
		p.reclaim(t)
		return
	}
	nack := thread.Nack{Fence: head.Fence, Calls: calls}
	if _, _, err := p.box.Commit(t.Context(), key, head, nack, func(thread.Head, thread.Result) ([]store.Record, error) { return nil, nil }); err != nil {
		t.Fatal(err)
	}
}

// Results that claims which were lost have left are tried once more where they do not follow
// on each other: in the order of the calls, behind those that do. They keep their times.
func TestResultsThatAreTriedOnceMore(t *testing.T) {
	const refused = "error: execution failed: its change of the state does not apply"
	added := func(i int) string { return fmt.Sprintf(`ok: "added 3" after d%d`, i) }
	last := `ok: "added 3"`
	tests := []struct {
		name    string
		left    []left
		results []string
		places  []string // and the key
		warns   string
	}{
		{
			"they follow on", []left{{call: 0, place: 2, adds: "a"}, {call: 1, place: 3, adds: "b"}, {call: 2, place: 4, adds: "c"}},
			[]string{added(0), added(1), added(2), last}, []string{"2", "3", "4", "1", "dabc"}, "",
		},
		{
			"there is a gap", []left{{call: 0, place: 5, adds: "a"}, {call: 1, place: 4, adds: "b"}, {call: 2, place: 2, adds: "c"}},
			[]string{added(0), added(1), added(2), last}, []string{"3", "4", "2", "1", "dcab"}, "",
		},
		{
			"two have one place", []left{{call: 0, place: 2, adds: "a"}, {call: 1, place: 2, before: 1, adds: "b"}, {call: 2, place: 3, adds: "c"}},
			[]string{added(0), added(1), added(2), last}, []string{"2", "4", "3", "1", "dacb"}, "",
		},
		{
			"a later claim has given a place before them", []left{{call: 0, place: 3, before: 1, adds: "a"}, {call: 1, place: 4, before: 1, adds: "b"}, {call: 2, place: 2, adds: "c"}},
			[]string{added(0), added(1), added(2), last}, []string{"3", "4", "2", "1", "dcab"}, "",
		},
		{
			"one does not apply where it stands", []left{{call: 0, place: 2, adds: "alone"}, {call: 1, place: 3, adds: "b"}, {call: 2, place: 2, adds: "c"}},
			[]string{refused + " after d0", added(1), added(2), last}, []string{"0", "3", "2", "1", "dcb"}, "change of a call conflicts with its siblings",
		},
		{
			"an older program has marked one done that does not apply", []left{{call: 0, adds: "a"}, {call: 1, adds: "alone", done: true}, {call: 2, place: 2, adds: "c"}},
			[]string{added(0), added(1), added(2), last}, []string{"3", "0", "2", "1", "alonedca"}, "",
		},
		{
			"an older program has marked two done of which one does not apply", []left{{call: 0, adds: "a", done: true}, {call: 1, adds: "alone", done: true}, {call: 2, place: 2, adds: "c"}},
			[]string{added(0), added(1), added(2), last}, []string{"0", "0", "2", "1", "adc"}, "requests of a call cannot be applied",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPlaced(t, []int{9, 9, 9, 1}, []string{"a", "b", "c", "d"})
				_, _ = p.cut(t, 3*time.Second, false)
				p.leave(t, tt.left...)
				p.finish(t, key, nil)
				time.Sleep(20 * time.Second) // until the tools of the first claim have ended
				var places, times, wantTimes []string
				for i := range 4 {
					e := p.entry(t, uint64(3+i))
					if places = append(places, fmt.Sprint(e.Place)); i < 3 {
						times = append(times, fmt.Sprint(e.At, e.Duration, e.Message.CreatedAt))
						wantTimes = append(wantTimes, fmt.Sprint(1000+i, 10+i, 2000+i))
					}
				}
				got := [][]string{p.results(t), append(places, p.left), times}
				if diff := cmp.Diff([][]string{tt.results, tt.places, wantTimes}, got); diff != "" {
					t.Errorf("results, places with the key, and times (-want +got):\n%s\n%s", diff, &p.log)
				}
				if got := strings.Count(p.log.String(), "of a call c"); got != min(1, len(tt.warns)) || !strings.Contains(p.log.String(), tt.warns) {
					t.Errorf("%d complaints, want %q:\n%s", got, tt.warns, &p.log)
				}
			})
		})
	}
}

// The late result of a lost claim counts, although a later claim has asked about its call and a
// person has decided. The tool has run, and does not run again. The result names no decision, or
// the one that the lost claim followed.
func TestALateResultStandsDespiteADecision(t *testing.T) {
	tests := []struct {
		name     string
		decides  []core.Decision
		follows  string // what the late result says
		wantLate string
	}{
		{"it was approved", []core.Decision{approve}, "", `ok: "late"`},
		{"it was denied", []core.Decision{deny}, "", `ok: "late"`},
		{"it was asked about twice", []core.Decision{approve, deny}, "the first", `ok: "late" after the first`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ran, decided := 0, -1 // no gate asks
				s := &siblings{}
				s.world = newWorld(t, options{
					mode: agent.ParallelStreaming, model: replies(calls("set", "{}", "other", "{}"), text("ok")),
					tools: []tool.Tool{
						toolFunc{name: "set", run: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
							ran++
							<-ctx.Done()
							return tool.Result{}, ctx.Err()
						}},
						toolFunc{name: "other", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.NewResult("other"), nil }},
					},
					plugins: []plugin.Plugin{gates(func(c plugin.GateCall) (v plugin.Verdict, err error) {
						if decided >= 0 && c.CallIndex == 0 {
							v = suspends(fmt.Sprint("gate", min(decided, len(tt.decides)-1)))
						}
						return v, nil
					})},
				})
				s.submit(t, key, "hi", mailbox.ModeQueue)
				_, _ = s.cut(t, 10*time.Second, false)
				for _, d := range tt.decides {
					decided++
					s.step(t, key)
					if got := s.stands(t); got != "waiting [suspended done]" {
						t.Fatalf("the round is %s", got)
					}
					s.mustDecide(t, 0, d)
				}
				s.putResult(t, 0, s.entry(t, s.head(t, key).Run.Base+1), func(e *thread.Entry) {
					e.Decision, e.Message.ToolResult.Data = tt.follows, []byte(`"late"`)
				})
				s.finish(t, key, nil)
				if got := s.results(t)[0]; got != tt.wantLate || ran != 1 {
					t.Errorf("the result is %s after %d executions, want %s after one", got, ran, tt.wantLate)
				}
			})
		})
	}
}
