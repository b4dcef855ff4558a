package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// counting is a provider with a window: it refuses what is longer, counts so many
// thousandths of a token for a byte, and says what the function says otherwise.
type counting struct {
	window, perByte int // 0: it refuses nothing
	requests        []model.Request
	refused         int
	say             func(n int, r model.Request) []model.Delta
}

func (c *counting) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	c.requests = append(c.requests, r)
	tokens := len(canonical(r)) * c.perByte / 1000
	return func(yield func(model.Delta, error) bool) {
		if c.window > 0 && tokens > c.window {
			c.refused++
			yield(model.Delta{}, &model.Error{Kind: model.KindOverflow, Message: "too long"})
			return
		}
		deltas := c.say(len(c.requests), r)
		for i, d := range deltas {
			if i == len(deltas)-1 && !yield(model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: tokens, Output: 5}}, nil) || !yield(d, nil) {
				return
			}
		}
	}
}

// canonical is a request as a provider would be sent it, but for what holds for one step.
func canonical(r model.Request) string {
	var b strings.Builder
	write := func(v any) {
		text, _ := json.Marshal(v)
		b.Write(append(text, '\n'))
	}
	write(r.Tools)
	write(r.System)
	messages := r.Messages
	for len(messages) > 0 && messages[len(messages)-1].Role == core.RoleSystem {
		messages = messages[:len(messages)-1]
	}
	for _, m := range messages {
		calls := make([]string, len(m.ToolCalls))
		for i, c := range m.ToolCalls {
			calls[i] = c.ID + c.Name + string(c.Arguments)
		}
		files := 0
		for _, block := range m.Content {
			files += len(block.Data)
		}
		write([]any{m.Role, m.Text(), calls, files})
	}
	return b.String()
}

// bound is an agent with a model of so many tokens.
func bound(tb testing.TB, m model.Model, tokens int, spec agent.Spec, tools []tool.Tool, plugins ...plugin.Plugin) *registry.Registry {
	tb.Helper()
	spec.ID, spec.Model, spec.MaxRounds = "demo", "m", new(0)
	for _, p := range plugins {
		spec.Plugins = append(spec.Plugins, p.ID())
	}
	agents, err := registry.New(agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Name: "small", Model: m, Facts: model.Facts{ContextWindow: tokens}}},
		Tools:  append([]tool.Tool{echoTool(tb)}, tools...), Plugins: plugins, Specs: []agent.Spec{spec},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return agents
}

var largeTool = toolFunc{name: "large", run: func(_ context.Context, c tool.Call) (tool.Result, error) {
	return tool.Result{ToolResult: core.ToolResult{Message: c.ID + strings.Repeat(" lorem ipsum", 1000) + " END"}}, nil
}}

// A request begins like the one before it, byte for byte, for as long as nothing is cut,
// over many runs; what holds for one step alone stands behind the rest. Where it begins
// otherwise, an event says why. A cold process makes the same requests and records.
func TestRequestsBeginLikeTheOneBefore(t *testing.T) {
	type outcome struct {
		requests []string
		changes  map[int]string // before which request
		records  []string
	}
	play := func(t *testing.T, cold bool) (o outcome) {
		o.changes = map[int]string{}
		synctest.Test(t, func(t *testing.T) {
			m := &counting{perByte: 300, say: func(n int, _ model.Request) []model.Delta {
				switch {
				case n%6 == 0:
					return text("done " + strings.Repeat("so ", 100))
				case n%3 == 0:
					return calls("large", "{}")
				}
				return calls("echo", fmt.Sprintf(`{"text":"%s"}`, strings.Repeat("b", n%5*300)))
			}}
			opts := options{env: seeded(), agents: bound(t, m, 12_000, agent.Spec{SystemPrompt: "Be kind."}, []tool.Tool{largeTool}, before(func(step int) state.Command {
				return state.Combine(
					plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "now", Text: fmt.Sprint("It is step ", step)}),
					plugin.AddContextMessage.Schedule(plugin.ContextMessage{Key: "who", Text: "You talk to Ada.", Target: plugin.TargetSession, Persistent: true}),
				)
			}))}
			w := newWorld(t, opts)
			for i := range 12 {
				w.submit(t, key, fmt.Sprint("question ", i), mailbox.ModeQueue)
				for w.head(t, key).DueAt != 0 {
					if cold {
						w.stepper = w.other(t, opts)
					}
					w.stepTo(t, key, func(e core.Event) error {
						if e.Type == core.EventPrefixChanged {
							o.changes[len(m.requests)] = e.Reason
						}
						return nil
					})
				}
			}
			for _, r := range m.requests {
				if last := r.Messages[len(r.Messages)-1]; last.Role != core.RoleSystem || !strings.HasPrefix(last.Text(), "It is step ") {
					t.Errorf("what holds for the step is not the last of its request, which ends with %q", last.Text())
				}
				o.requests = append(o.requests, canonical(r))
			}
			for seq := uint64(1); seq <= w.head(t, key).Seq; seq++ {
				o.records = append(o.records, string(w.record(t, store.LogName(seq)).Payload))
			}
		})
		return o
	}
	warm, cold := play(t, false), play(t, true)
	if diff := cmp.Diff(warm.requests, cold.requests); diff != "" {
		t.Errorf("requests (-warm +cold):\n%s", diff)
	}
	if diff := cmp.Diff(warm.records, cold.records); diff != "" {
		t.Errorf("records (-warm +cold):\n%s", diff)
	}
	if diff := cmp.Diff(warm.changes, cold.changes); diff != "" {
		t.Errorf("changes (-warm +cold):\n%s", diff)
	}
	for i := 1; i < len(warm.requests); i++ {
		if same := strings.HasPrefix(warm.requests[i], warm.requests[i-1]); same == (warm.changes[i] != "") {
			t.Errorf("request %d goes on from the one before: %v, and the event says %q", i, same, warm.changes[i])
		}
	}
	reasons := map[string]int{}
	for _, reason := range warm.changes {
		reasons[reason]++
	}
	if len(warm.requests) != 72 || reasons["cut"] < 3 || reasons["tools"] == 0 || len(warm.changes) > 15 {
		t.Errorf("%d requests, changes %v", len(warm.requests), reasons)
	}
}

// What the provider refuses as too long is cut once and tried again at once; the next
// steps know what it takes.
func TestARequestThatIsTooLongIsCutAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &counting{window: 6000, perByte: 300, say: func(n int, _ model.Request) []model.Delta {
			return calls("echo", `{"text":"`+strings.Repeat("b", 600)+`"}`)
		}}
		w := newWorld(t, options{agents: bound(t, m, 100_000, agent.Spec{Retry: agent.Retry{MaxRetries: new(0)}}, nil)}) // the facts are wrong
		w.submit(t, key, "hi", mailbox.ModeQueue)
		retries := 0
		for range 60 {
			w.stepTo(t, key, func(e core.Event) error {
				if e.Type == core.EventInferenceRetry && e.Reason == "context_overflow" && e.Wait == 0 {
					retries++
				}
				return nil
			})
		}
		if turns := int(w.head(t, key).Run.Step); turns != 60 || m.refused < 2 || m.refused > 12 || retries != m.refused {
			t.Errorf("%d turns, %d refusals, %d retries are announced", turns, m.refused, retries)
		}
		for i, r := range m.requests {
			if r.Messages[0].Text() != "hi" {
				t.Errorf("request %d begins with %q", i, r.Messages[0].Text())
			}
		}
	})
}

// Where nothing is left to cut, or the second try is refused as well, the run ends with a
// code of its own.
func TestARunWhoseQuestionIsTooLongEnds(t *testing.T) {
	tests := []struct {
		name  string
		runs  []string
		tries int
		end   string
	}{
		{"a question alone", []string{strings.Repeat("x", 4000)}, 1,
			`done 0 {"type":"error","code":"context_overflow","detail":"the conversation is too long for the model, even without its older messages"} ""`},
		{"a question that is too long without what was before", []string{"one", strings.Repeat("x", 4000)}, 2,
			`done 0 {"type":"error","code":"context_overflow","detail":"the conversation is too long for the model, even without its older messages"} ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &counting{window: 1000, perByte: 300, say: func(int, model.Request) []model.Delta { return text("ok") }}
				w := newWorld(t, options{agents: bound(t, m, 100_000, agent.Spec{}, nil)})
				var receipt mailbox.Receipt
				before := 0
				for _, said := range tt.runs {
					before = len(m.requests)
					receipt = w.submit(t, key, said, mailbox.ModeQueue)
					w.finish(t, key, nil)
				}
				if got := w.end(t, key, receipt); got != tt.end || len(m.requests)-before != tt.tries {
					t.Errorf("after %d calls the run is %s\nwant %d, %s", len(m.requests)-before, got, tt.tries, tt.end)
				}
			})
		})
	}
}

// A large result that is shown as a reference can be read on, by a tool that gates are
// asked about like any other, and that an agent may exclude.
func TestAModelReadsOnInAResultThatIsShortened(t *testing.T) {
	for _, excluded := range []bool{false, true} {
		t.Run(fmt.Sprintf("excluded %v", excluded), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked, offered []string
				var read string
				m := &counting{perByte: 250, say: func(n int, r model.Request) []model.Delta {
					tools := make([]string, len(r.Tools))
					for i := range r.Tools {
						tools[i] = r.Tools[i].Name
					}
					offered = append(offered, strings.Join(tools, " "))
					switch n {
					case 1, 2, 3, 4:
						return calls("large", "{}")
					case 5:
						return calls(toolcall.ReadResult, `{"result":3,"offset":12000,"limit":100}`)
					}
					read = r.Messages[len(r.Messages)-1].Text()
					return text("done")
				}}
				spec := agent.Spec{Context: &agent.ContextWindowPolicy{MinRecentMessages: new(2)}}
				if excluded {
					spec.ExcludedTools = []string{toolcall.ReadResult}
				}
				gate := pluginFunc{"gate", func(r *plugin.Registrar) {
					r.Gate(func(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
						asked = append(asked, c.Call.Name)
						return plugin.Verdict{}, nil
					})
				}}
				w := newWorld(t, options{agents: bound(t, m, 16_000, spec, []tool.Tool{largeTool}, gate)})
				w.submit(t, key, "hi", mailbox.ModeQueue)
				w.finish(t, key, nil)
				plain, reads := "echo large", "echo large read_result"
				want, wantRead, gated := []string{plain, plain, plain, plain, reads, reads}, "rem ipsum lorem ipsum END", 5
				if excluded {
					want, wantRead, gated = []string{plain, plain, plain, plain, plain, plain}, `tool "read_result" not found`, 4
				}
				if diff := cmp.Diff(want, offered); diff != "" {
					t.Errorf("offered (-want +got):\n%s", diff)
				}
				if !strings.HasSuffix(read, wantRead) || len(asked) != gated {
					t.Errorf("the model reads %q, gates were asked about %q", read, asked)
				}
				ends := "\n\n[Shortened: these are the first 1600 of 12025 bytes. read_result with result 3 and offset 1600 returns what follows.]"
				if excluded {
					ends = "\n\n[Shortened: these are the first 1600 of 12025 bytes.]"
				}
				first := m.requests[4].Messages[2].Text()
				if !strings.HasPrefix(first, "call_") || !strings.HasSuffix(first, ends) {
					t.Errorf("the first result is shown as %q", first[max(0, len(first)-130):])
				}
			})
		})
	}
}

// stepTo claims the thread and takes one step, with its events.
func (w *world) stepTo(tb testing.TB, key core.ThreadKey, sink history.Sink) {
	tb.Helper()
	if _, err := w.stepper.Step(tb.Context(), run.Work{Key: key, Head: w.take(tb, key)}, sink); err != nil {
		tb.Fatal(err)
	}
}

// A provider that refuses whatever it is asked is asked twice, however much could still
// be left out. What one turn was refused says nothing of the next.
func TestAProviderThatRefusesEverythingIsAskedTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &counting{perByte: 300, say: func(int, model.Request) []model.Delta { return text("ok") }}
		w := newWorld(t, options{agents: bound(t, m, 100_000, agent.Spec{}, nil)})
		for i := range 20 {
			m.window = 0
			if i == 18 { // the 19th is refused once
				m.window = len(canonical(m.requests[17])) * 300 / 1000
			}
			w.submit(t, key, strings.Repeat("x", 500), mailbox.ModeQueue)
			w.finish(t, key, nil)
		}
		var refused []bool
		for _, seq := range []uint64{36, 38, 40} {
			entry, err := thread.Records{}.DecodeEntry(w.record(t, store.LogName(seq)).Payload)
			if err != nil {
				t.Fatal(err)
			}
			refused = append(refused, entry.Window.Refused)
		}
		if diff := cmp.Diff([]bool{false, true, false}, refused); diff != "" {
			t.Errorf("turns that were refused first (-want +got):\n%s", diff)
		}
		m.window = 1
		before := len(m.requests)
		receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
		w.finish(t, key, nil)
		if got := w.end(t, key, receipt); len(m.requests)-before != 2 || !strings.Contains(got, `"code":"context_overflow"`) {
			t.Errorf("after %d calls the run is %s", len(m.requests)-before, got)
		}
	})
}

// What a provider counts for a call that went on from what stood already says nothing of
// the turn's request, which is shorter.
func TestWhatIsCountedForAContinuationIsNotTheRequests(t *testing.T) {
	for said, want := range map[string]int{"half": 0, "": 50} {
		synctest.Test(t, func(t *testing.T) {
			n := 0
			w := newWorld(t, options{model: modelFunc(func(ctx context.Context, r model.Request) iterator {
				if n++; n > 1 {
					return replies(append([]model.Delta{{Type: model.DeltaUsage, Usage: core.Usage{Input: 50}}}, text(" a sentence")...))(ctx, r)
				}
				return func(yield func(model.Delta, error) bool) {
					if yield(model.Delta{Type: model.DeltaText, Text: said}, nil) {
						yield(model.Delta{}, &model.Error{Kind: model.KindOverloaded})
					}
				}
			}), env: drawing(time.Millisecond)})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			w.finish(t, key, listener)
			if got := w.window(t).Tokens; got != want || n != 2 {
				t.Errorf("behind %q, after %d calls, %d tokens are recorded, want %d", said, n, got, want)
			}
		})
	}
}

// A provider that refuses and counts nothing leaves what it takes at most as its count.
func TestWhatARefusalIsTakenToSay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		m := modelFunc(func(ctx context.Context, r model.Request) iterator {
			if n++; n == 4 {
				return func(yield func(model.Delta, error) bool) {
					yield(model.Delta{}, &model.Error{Kind: model.KindOverflow})
				}
			}
			return replies(text("ok"))(ctx, r)
		})
		spec := agent.Spec{Context: &agent.ContextWindowPolicy{MaxContextTokens: 8000, MaxOutputTokens: 2000}}
		w := newWorld(t, options{agents: bound(t, m, 12_000, spec, nil)})
		for range 4 {
			w.submit(t, key, strings.Repeat("x", 4000-32), mailbox.ModeQueue)
			w.finish(t, key, nil)
		}
		// 10,000 tokens for the refused request of 4,050, so much for what is left of it.
		if got := w.window(t); got.Estimate != 2041 || got.Tokens != 5040 || n != 5 {
			t.Errorf("behind %d calls the turn's record says %+v, want an estimate of 2041 that counts 5040", n, got)
		}
	})
}
