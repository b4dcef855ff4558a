package sim

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// A call was asked about twice under fence 2, and approved both times. A lost claim of fence 1
// stores its result late. That result counts, also if the next claim gives it another place. A
// result of the next claim follows the last decision.
func TestResultsOfDecidedCalls(t *testing.T) {
	result := func(decision string, times, place int) thread.Entry {
		return thread.Entry{
			At: int64(times), Duration: int64(10 * times), Decision: decision, Place: uint16(place), Message: &core.Message{
				ID: "m", Role: core.RoleTool, CreatedAt: int64(100 * times),
				ToolResult: &core.ToolResult{CallID: "c", Name: "echo", Status: core.ResultOK, Data: []byte(`"said"`)},
			},
		}
	}
	const (
		otherDecision = `at 0s: thread t0: the result of call 0 of turn 1 follows decision d1, which is not the accepted one: "said"`
		noDecision    = "at 0s: thread t0: call 0 of turn 1 is ok, and its record does not name decision d2"
	)
	late, first := result("", 1, 0), result("d1", 1, 0)
	tests := []struct {
		name string
		late *thread.Entry // put under fence 1
		put  *thread.Entry // put under fence 3
		want string
	}{
		{"it follows the last decision", nil, new(result("d2", 2, 0)), ""},
		{"it follows the first", nil, new(result("d1", 2, 0)), otherDecision},
		{"it follows none", nil, new(result("", 2, 0)), noDecision},
		{"a late one follows none", &late, nil, ""},
		{"a late one follows none, and is put again", &late, &late, ""},
		{"a late one follows none, and has another place", &late, new(result("", 1, 1)), ""},
		{"a late one follows the first", &first, &first, ""},
		{"a late one follows the first, and has another place", &first, new(result("d1", 1, 1)), ""},
		{"a late one follows another", new(result("d3", 1, 0)), nil, `at 0s: thread t0: the result of call 0 of turn 1 follows decision d3, which is not the accepted one: "said"`},
		{"another takes the place of a late one", &late, new(result("", 2, 0)), noDecision},
		{"another that follows the first takes the place of a late one", &first, new(result("d1", 2, 0)), otherDecision},
		{"the late one no longer says its decision", &first, &late, noDecision},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := New(Config{Threads: 1})
			th, at := w.threads[0], place{turn: 1}
			for _, id := range []string{"d1", "d2"} {
				decision := thread.DecisionRecord{Decision: core.Decision{ID: id, Action: core.DecisionResume}}
				th.asks.calls[at] = append(th.asks.calls[at], &asked{ticket: thread.TicketRecord{}, decision: &decision})
			}
			stored := tt.put
			for i, e := range []*thread.Entry{tt.late, tt.put} {
				if e == nil {
					continue
				}
				if stored == nil {
					stored = e
				}
				payload, err := w.checks.EncodeEntry(e)
				if err != nil {
					t.Fatal(err)
				}
				th.p.head.Fence = uint64(2 + i)
				th.p.keep(store.Record{Name: store.LogName(2), Fence: uint64(1 + 2*i), Payload: payload}, 0)
			}
			th.asks.checkDecided(*stored, at)
			if w.violation != tt.want {
				t.Errorf("%q, want %q", w.violation, tt.want)
			}
		})
	}
}
