package compaction_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/breaker"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
)

// Of a pool the member makes the summary that said the newest turn, whose cache may have
// the conversation, or else the home; where the circuit of that one is open, the first of
// the others whose is not.
func TestWhichMemberOfAPoolMakesASummary(t *testing.T) {
	tests := []struct {
		name  string
		said  *thread.Member
		stays bool
		open  string // members whose circuits are open
		want  string // the member that is asked; empty: nobody is
	}{
		{name: "nobody has said the turn", want: "a"},
		{name: "the home has", said: &thread.Member{Pool: "pool", Model: "a"}, want: "a"},
		{name: "another has", said: &thread.Member{Pool: "pool", Model: "c"}, want: "c"},
		{name: "a member of another pool has", said: &thread.Member{Pool: "other", Model: "c"}, want: "a"},
		{name: "a member that is gone has", said: &thread.Member{Pool: "pool", Model: "d"}, want: "a"},
		{name: "the home's circuit is open", open: "a", want: "b"},
		{name: "two are open", open: "ab", want: "c"},
		{name: "that of the one that has said it is open", said: &thread.Member{Pool: "pool", Model: "c"}, open: "c", want: "a"},
		{name: "all are open", open: "abc"},
		{name: "the home's is open, which the pool does not leave", stays: true, open: "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				parts, members := agent.Parts{Models: map[string]agent.ModelBinding{}}, map[string]*talker{}
				pool := agent.ModelPoolSpec{ID: "pool", Routing: agent.RouteFirstHealthy}
				if tt.stays {
					pool.Switch.OnCircuitOpen = new(false)
				}
				for _, id := range []string{"a", "b", "c"} {
					members[id] = &talker{answers: []answer{says("so")}}
					parts.Models[id] = agent.ModelBinding{Model: members[id], Name: strings.ToUpper(id)}
					pool.Members = append(pool.Members, agent.PoolMember{Model: id})
				}
				parts.Pools = []agent.ModelPoolSpec{pool}
				log := conversation()
				log[3].Member = tt.said
				w := newWorldOf(t, parts, "pool", setting{log: log, spec: agent.Spec{Context: compacting()}})
				for _, id := range strings.Split(tt.open, "") {
					w.open(t, members[id], id)
				}
				w.compact(t)
				for id, m := range members {
					if asked := len(m.asked); asked != 1 && id == tt.want || asked != 0 && id != tt.want {
						t.Errorf("member %s was asked %d times", id, asked)
					}
				}
				if got := w.summary(t, 2); (got != nil) != (tt.want != "") || got != nil && got.Model != strings.ToUpper(tt.want) {
					t.Errorf("the summary is %+v, want one of %q", got, tt.want)
				}
			})
		})
	}
}

// open lets a member fail until its circuit opens.
func (w *world) open(t *testing.T, m *talker, id string) {
	t.Helper()
	bound := w.agents.agent.Pool().Member(id)
	m.answers = []answer{fails(&model.Error{Kind: model.KindProvider})}
	for range breaker.CircuitFailures {
		_ = w.circuits.Call(t.Context(), bound, model.Request{Model: bound.Name}, &accounting.Spent{}, deaf{})
	}
	m.asked = nil
}

// Calls for summaries count in the circuit of their model, which the log tells of: a call
// that the circuit refuses is not made, and the summary is left for another day.
func TestSummariesGoThroughTheCircuit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := fails(&model.Error{Kind: model.KindProvider})
		m := &talker{answers: []answer{broken, broken, broken, broken, broken, broken, says("so")}}
		w := newWorld(t, m, setting{log: conversation()})
		const none = `level=WARN msg="no summary made, older messages omitted"`
		const circuit = `level=WARN msg="circuit of a model changed, after a summary" model=m circuit=`
		for _, hint := range []struct {
			calls int
			log   []string
		}{
			{3, []string{none}},
			{5, []string{circuit + "open", none}}, // the third call of it is refused
			{5, []string{none}},
		} {
			w.log.Reset()
			w.compact(t)
			if len(m.asked) != hint.calls {
				t.Errorf("the model was asked %d times, want %d", len(m.asked), hint.calls)
			}
			lines := strings.Split(strings.TrimSpace(w.log.String()), "\n")
			for i := range lines {
				lines[i], _, _ = strings.Cut(lines[i], " run=")
			}
			if diff := cmp.Diff(hint.log, lines); diff != "" {
				t.Errorf("after %d calls logged (-want +got):\n%s", len(m.asked), diff)
			}
		}
		time.Sleep(breaker.CircuitCooldown)
		w.log.Reset()
		w.compact(t) // it probes, fails, and opens again
		time.Sleep(breaker.CircuitCooldown)
		w.compact(t)
		if got := w.summary(t, 2); got == nil || got.Text != "so" || len(m.asked) != 7 {
			t.Errorf("the summary is %+v, behind %d calls", got, len(m.asked))
		}
		if got := w.log.String(); strings.Contains(got, "half") || !strings.HasSuffix(got, circuit+"closed\n") {
			t.Errorf("logged: %s", got)
		}
	})
}

// deaf hears nothing of a call.
type deaf struct{}

var _ inference.Listener = deaf{}

func (deaf) Hear(model.Delta) error                                       { return nil }
func (deaf) Stopped() bool                                                { return false }
func (deaf) Circuit(context.Context, breaker.CircuitState, time.Duration) {}
