package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// given is a model whose turns are given, one for each call of it; each delta takes
// 100 ms.
type given struct{ turns [][]model.Delta }

func (m *given) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	turn := m.turns[0]
	m.turns = m.turns[1:]
	return func(yield func(model.Delta, error) bool) {
		for _, d := range turn {
			time.Sleep(100 * time.Millisecond)
			if !yield(d, nil) {
				return
			}
		}
		if turn == nil {
			yield(model.Delta{}, &model.Error{Kind: model.KindUnauthorized, Message: "key sk-1 at 10.0.0.1 is refused"})
		}
	}
}

// richTurns are two runs: one that says hello, and one that thinks, calls three tools,
// one of which waits for a person, and then fails.
func richTurns() [][]model.Delta {
	call := func(index int, id, name, arguments string) []model.Delta {
		return []model.Delta{
			{Type: model.DeltaToolStart, Index: index, CallID: id, Name: name}, {Type: model.DeltaToolArgument, Index: index, Text: arguments},
		}
	}
	end := func(stop core.StopReason) []model.Delta {
		return []model.Delta{{Type: model.DeltaUsage, Usage: core.Usage{Input: 7, Output: 3}}, {Type: model.DeltaStop, Stop: stop}}
	}
	return [][]model.Delta{
		append([]model.Delta{{Type: model.DeltaText, Text: "he"}, {Type: model.DeltaText, Text: "llo"}}, end(core.StopEndTurn)...),
		slices.Concat(
			[]model.Delta{{Type: model.DeltaReasoning, Text: "hm"}, {Type: model.DeltaReasoning, Echo: json.RawMessage(`{"signature":"x"}`)}, {Type: model.DeltaText, Text: "I look"}},
			call(0, "c0", "nap", `{}`), call(1, "c1", "ask", `{}`), call(2, "c2", "missing", `{}`), end(core.StopToolUse),
		),
		nil,
	}
}

var (
	visits = state.Key[int, int]{Name: "visits", Scope: state.ScopeThread, Commutative: true, Apply: func(v, n int) int { return v + n }}
	seen   = state.Key[[]string, string]{Name: "seen/tools", Apply: func(v []string, s string) []string { return append(v, s) }}
	inCall = state.Key[int, int]{Name: "in_call", Scope: state.ScopeCall, Apply: func(v, n int) int { return v + n }}
)

// counting counts runs, notes the tools that ran, and lets ask wait for a person.
type counting struct{}

func (counting) ID() string { return "counting" }

func (counting) Register(r *plugin.Registrar) error {
	r.Key(visits)
	r.Key(seen)
	r.Key(inCall)
	r.OnRunStart(func(context.Context, plugin.RunStart) (state.Command, error) {
		return state.Combine(visits.Update(1), plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "k", Text: "be kind"})), nil
	})
	r.OnAfterTool(func(_ context.Context, c plugin.AfterTool) (state.Command, error) {
		return state.Combine(seen.Update(c.Call.Name), inCall.Update(1)), nil
	})
	r.OnRunEnd(func(_ context.Context, c plugin.RunEnd) (state.Command, error) {
		return seen.Update(string(c.Termination.Type)), nil
	})
	r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		if c.Call.Name == "ask" {
			return plugin.Suspend(core.TicketRequest{ID: "s1", Action: "tool:ask"}), nil
		}
		return plugin.Allow, nil
	})
	return nil
}

// napping is a tool that takes 1.5 s.
func napping(t *testing.T, name string) tool.Tool {
	made := tool.New(tool.Spec{Name: name}, func(context.Context, tool.Call, struct{}) (tool.Result, error) {
		time.Sleep(1500 * time.Millisecond)
		return tool.NewResult(name + " is done"), nil
	})
	return made
}

// program is the whole runtime over the memory store, behind the routes.
type program struct {
	t       *testing.T
	queue   *mailboxtest.Queue
	runtime *host.Host
	handler http.Handler
}

func newProgram(t *testing.T, turns [][]model.Delta, policies ...agent.StopSpec) *program {
	r := &program{t: t, queue: &mailboxtest.Queue{}}
	var err error
	r.runtime, err = host.New(host.Options{
		Env: env.System(), Store: memory.New(), Waker: r.queue, Logger: slog.New(slog.DiscardHandler),
		Agents: agent.Parts{
			Models:  map[string]agent.ModelBinding{"m": {Model: &given{turns}, Name: "given"}},
			Tools:   []tool.Tool{napping(t, "nap"), napping(t, "ask")},
			Plugins: []plugin.Plugin{counting{}},
			Specs:   []agent.Spec{{ID: "demo", Model: "m", Plugins: []string{"counting"}, Stop: policies}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r.handler = newServer(r.runtime)
	return r
}

// say streams a run and returns the body.
func (r *program) say(text string) string {
	r.t.Helper()
	rec := do(r.handler, "POST", "/v1/runs", fmt.Sprintf(`{"threadId":"t1","messages":[{"role":"user","content":%q}]}`, text))
	if rec.Code != http.StatusOK {
		r.t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

// follow streams a run anew, from behind an event.
func (r *program) follow(run, last string) string {
	r.t.Helper()
	header := []string{}
	if last != "" {
		header = []string{"Last-Event-ID", last}
	}
	rec := do(r.handler, "GET", "/v1/runs/"+run+"/events/stream", "", header...)
	if rec.Code != http.StatusOK && rec.Code != http.StatusNoContent {
		r.t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

// decide takes the decision on call c1 and works until nothing is due.
func (r *program) decide(run string) {
	r.t.Helper()
	rec := do(r.handler, "POST", "/v1/runs/"+run+"/decision", `{"toolCallId":"c1","action":"resume","decisionId":"d1"}`)
	if rec.Code >= 300 {
		r.t.Fatalf("status %d: %s", rec.Code, rec.Body)
	}
	for hint, ok := r.queue.Receive(); ok; hint, ok = r.queue.Receive() {
		if err := r.runtime.WorkLocal(r.t.Context(), hint); err != nil {
			r.t.Fatal(err)
		}
	}
}

// sent is a frame: its id and its event.
type sent struct {
	id    string
	data  string
	event core.Event
}

// split returns the frames of a body.
func split(t *testing.T, body string) (frames []sent) {
	t.Helper()
	var id string
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if text, ok := strings.CutPrefix(line, "id: "); ok {
			id = text
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			f := sent{id: id, data: data}
			if err := json.Unmarshal([]byte(data), &f.event); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			frames, id = append(frames, f), ""
		}
	}
	return frames
}

var (
	sequence = regexp.MustCompile(`"sequence":\d+,`)
	said     = regexp.MustCompile(`"time":"[^"]*",`)
)

// placed are the events that stand in the run, without what a live stream says in other
// pieces than a replay, each as its id and its JSON without the number.
func placed(frames []sent) (lines []string) {
	last := ""
	for _, f := range frames {
		switch f.event.Type {
		case core.EventTextDelta, core.EventReasoningDelta, core.EventToolCallDelta, core.EventToolCallStart:
		case core.EventStateSnapshot, core.EventToolCallSuspended, core.EventToolCallResumed:
		default:
			if f.id == last {
				continue
			}
			data := sequence.ReplaceAllString(f.data, "")
			if f.event.Type == core.EventReasoningEncrypted { // when it was said, or its turn
				data = said.ReplaceAllString(data, "")
			}
			lines = append(lines, f.id+" "+data)
		}
		last = f.id
	}
	return lines
}

// The golden file is what a client reads, byte for byte.
func TestTranscriptOfTheNativeStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newProgram(t, richTurns())
		var got bytes.Buffer
		write := func(title, body string) {
			run := split(t, body)[0].event.RunID.String()
			fmt.Fprintf(&got, "== %s\n\n%s", title, strings.ReplaceAll(body, run, "RUN"))
		}
		write("a run on a new thread", r.say("hi"))
		live := r.say("look")
		write("a run that comes to wait", live)
		run := split(t, live)[0].event.RunID.String()
		r.decide(run)
		write("the same run from its first event, after a decision", r.follow(run, ""))
		const golden = "testdata/native.txt"
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// What stands in the run has the same bytes live and in a replay, but for its number.
func TestALiveStreamAndItsReplaySayTheSame(t *testing.T) {
	hello := richTurns()[0]
	napped := []model.Delta{
		{Type: model.DeltaToolStart, CallID: "c0", Name: "nap"}, {Type: model.DeltaToolArgument, Text: "{}"}, {Type: model.DeltaStop, Stop: core.StopToolUse},
	}
	tests := []struct {
		name   string
		turns  [][]model.Delta
		policy []agent.StopSpec
	}{
		{"of runs that end, and wait", richTurns(), nil},
		{"of runs with failed inferences", [][]model.Delta{nil, hello, nil, napped, nil, nil}, []agent.StopSpec{{Type: "consecutive_errors", Max: 2}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newProgram(t, tt.turns, tt.policy...)
				for _, text := range []string{"hi", "look"} {
					live := split(t, r.say(text))
					time.Sleep(time.Minute)
					replay := split(t, r.follow(live[0].event.RunID.String(), ""))
					// A run's first event belongs to no attempt, and the time of a wait is its stream's.
					if diff := cmp.Diff(placed(live)[1:], placed(replay)[1:]); diff != "" {
						t.Errorf("%s (-live +replay):\n%s", text, diff)
					}
				}
			})
		})
	}
}

// At whatever event of a live stream or a replay a client reconnects, it is shown what
// stands behind it, once, numbered from 1, and a state that its patches lead to.
func TestAClientMayReconnectAtEveryEvent(t *testing.T) {
	hello, rich := richTurns()[0], richTurns()[1]
	napped := []model.Delta{
		{Type: model.DeltaToolStart, CallID: "c0", Name: "nap"}, {Type: model.DeltaToolArgument, Text: "{}"}, {Type: model.DeltaStop, Stop: core.StopToolUse},
	}
	tests := []struct {
		name   string
		turns  [][]model.Delta
		again  uint64 // sequence from which the second run takes the log back
		policy []agent.StopSpec
	}{
		{"of a run that waits and fails", [][]model.Delta{hello, rich, nil}, 0, nil},
		{"of a run that goes on after failed inferences", [][]model.Delta{hello, nil, nil, napped, nil, hello}, 0, []agent.StopSpec{{Type: "consecutive_errors", Max: 3}}},
		{"of a run that a policy stops after a failed inference", [][]model.Delta{hello, napped, nil, nil}, 0, []agent.StopSpec{{Type: "consecutive_errors", Max: 2}}},
		{"of a run that takes the one before it back", [][]model.Delta{hello, napped, hello}, 1, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newProgram(t, tt.turns, tt.policy...)
				r.say("hi")
				var live []sent
				if tt.again > 0 {
					live = r.again(tt.again)
				} else {
					live = split(t, r.say("look"))
				}
				r.reconnect(live)
			})
		})
	}
}

// again streams a run that takes the log back.
func (r *program) again(from uint64) []sent {
	r.t.Helper()
	s := mailbox.Submission{Thread: core.ThreadKey{Tenant: "acme", Thread: "t1"}, User: "ann", Opening: mailbox.Opening{AgentID: "demo", Supersede: from}, Messages: []core.Message{core.UserMessage("again")}}
	receipt, err := r.runtime.Stream(r.t.Context(), s, host.ListenerFunc(func(core.Event) error { return nil }))
	if err != nil {
		r.t.Fatal(err)
	}
	return split(r.t, r.follow(receipt.RunID.String(), ""))
}

// reconnect follows the run of a live stream to its end, from behind each of its events
// and of its replay.
func (r *program) reconnect(live []sent) {
	t := r.t
	run := live[0].event.RunID.String()
	if live[len(live)-1].event.Status == string(core.RunWaiting) {
		r.decide(run)
	}
	whole := split(t, r.follow(run, ""))
	all := placed(whole)
	if checkState(t, whole) == 0 {
		t.Error("no state was shown behind the patches")
	}
	for i, f := range append(slices.Clone(live), whole...) {
		rest := split(t, r.follow(run, f.id))
		seen := live[:min(i+1, len(live))] // by the client before it comes back
		if i >= len(live) {
			seen = whole[:i+1-len(live)]
		}
		checkState(t, slices.Concat(seen, rest))
		var missed host.Missed
		if err := missed.Have(f.id); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, line := range all {
			id, _, _ := strings.Cut(line, " ")
			if len(missed.Rest(core.Event{Position: id})) > 0 {
				want = append(want, line)
			}
		}
		if diff := cmp.Diff(want, placed(rest)); diff != "" {
			t.Errorf("behind %s (-want +got):\n%s", f.id, diff)
		}
		for i, f := range rest {
			if f.event.Sequence != uint64(i+1) {
				t.Errorf("behind %s event %d has the number %d", f.id, i+1, f.event.Sequence)
			}
		}
	}
}

// checkState applies the patches to the first snapshot of a stream: every later one is
// what they come to. It returns how many of those there are.
func checkState(t *testing.T, frames []sent) (shown int) {
	t.Helper()
	var fold *state.Fold
	for _, f := range frames {
		switch f.event.Type {
		case core.EventStateSnapshot:
			var document map[string]map[string]json.RawMessage
			if err := json.Unmarshal(f.event.Snapshot, &document); err != nil {
				t.Fatal(err)
			}
			if fold != nil {
				now, _ := fold.Snapshot().Document(func(state.KeyPath) bool { return true })
				if string(now) != string(f.event.Snapshot) || fold.Revision() > f.event.Revision {
					t.Errorf("the state is said to be %s, the patches come to %s", f.event.Snapshot, now)
				}
				shown++
				continue
			}
			values := map[state.KeyPath]json.RawMessage{}
			for name, scope := range map[string]state.Scope{"thread": state.ScopeThread, "run": state.ScopeRun} {
				for key, value := range document[name] {
					values[state.KeyPath{Scope: scope, Name: key}] = value
				}
			}
			fold = state.Snapshot{}.With(f.event.Revision, values).Fold()
		case core.EventStateDelta:
			var patch state.Patch
			if err := json.Unmarshal(f.event.Patch, &patch); err != nil {
				t.Fatal(err)
			}
			if fold == nil { // no state was shown because there was none
				fold = state.Snapshot{}.Fold()
			}
			if err := fold.Apply(patch, f.event.Revision); err != nil {
				t.Error(err)
			}
		}
	}
	return shown
}
