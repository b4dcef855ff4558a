package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// soloVisits counts the runs of a thread.
var soloVisits = state.Key[int, int]{Name: "visits", Scope: state.ScopeThread, Apply: func(n, more int) int { return n + more }}

type soloPlugin struct{}

func (soloPlugin) ID() string { return "visits" }

func (soloPlugin) Register(r *plugin.Registrar) error {
	r.Key(soloVisits)
	r.OnRunStart(func(context.Context, plugin.RunStart) (state.Command, error) { return soloVisits.Update(1), nil })
	return nil
}

// soloModel fails so many calls of its model with a pause.
type soloModel struct {
	model.Model
	mu    sync.Mutex
	fails int
	pause time.Duration
}

func (m *soloModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails--; m.fails < 0 {
		return m.Model.Stream(ctx, r)
	}
	return func(yield func(model.Delta, error) bool) {
		yield(model.Delta{}, &model.Error{Kind: model.KindOverloaded, Message: "busy", RetryAfter: m.pause})
	}
}

type soloText struct {
	Text string `json:"text"`
}

func soloParts() agent.Parts {
	return agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Model: scripted.New(env.System())}},
		Tools: []tool.Tool{
			tool.New(tool.Spec{Name: "echo"}, func(_ context.Context, _ tool.Call, a soloText) (string, error) { return a.Text, nil }),
			tool.New(tool.Spec{Name: "panics"}, func(context.Context, tool.Call, struct{}) (string, error) { panic("boom") }),
			tool.New(tool.Spec{Name: "danger"}, func(_ context.Context, c tool.Call, a soloText) (tool.Result, error) {
				if c.Resume == nil {
					return tool.Suspended(core.TicketRequest{Action: "tool:danger", Message: a.Text}), nil
				}
				return tool.NewResult("did " + a.Text), nil
			}),
			tool.NewClient[soloQuestion](tool.Spec{Name: "ask_user"}),
		},
		Plugins: []plugin.Plugin{soloPlugin{}},
		Specs:   []agent.Spec{{ID: "demo", Model: "m", Plugins: []string{"visits"}}},
	}
}

type soloQuestion struct {
	Question string `json:"question"`
}

func newSolo(t *testing.T, parts agent.Parts) *host.Host {
	t.Helper()
	before := slog.Default()
	slog.SetDefault(quiet)
	defer slog.SetDefault(before)
	r, err := host.InMemory(parts)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// soloLines prints messages, one line each.
func soloLines(messages []core.Message) (lines []string) {
	for _, m := range messages {
		line := string(m.Role) + ": " + m.Text()
		for _, c := range m.ToolCalls {
			line += fmt.Sprintf("[%s %s]", c.Name, c.Arguments)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRunReturnsWhatTheRunCameTo(t *testing.T) {
	type want struct {
		Text        string
		Termination core.Termination
		Messages    []string
		Usage       core.Usage
		Steps       int
		Tickets     []string
		Err         string
	}
	tests := []struct {
		name, text string
		want       want
	}{
		{"a word", "hello", want{
			Text: "You said: hello", Termination: core.Termination{Type: "natural_end"},
			Messages: []string{"user: hello", "assistant: You said: hello"},
			Usage:    core.Usage{Input: 1, Output: 3}, Steps: 1, Err: "<nil>",
		}},
		{"a tool", "echo: hi", want{
			Text: "Echo: hi", Termination: core.Termination{Type: "natural_end"},
			Messages: []string{"user: echo: hi", `assistant: [echo {"text":"hi"}]`, `tool: "hi"`, "assistant: Echo: hi"},
			Usage:    core.Usage{Input: 5, Output: 3}, Steps: 2, Err: "<nil>",
		}},
		{"a tool that panics", "call: panics", want{
			Text: "The result of panics: execution failed: the tool panicked", Termination: core.Termination{Type: "natural_end"},
			Messages: []string{
				"user: call: panics", "assistant: [panics {}]", "tool: execution failed: the tool panicked",
				"assistant: The result of panics: execution failed: the tool panicked",
			},
			Usage: core.Usage{Input: 9, Output: 10}, Steps: 2, Err: "<nil>",
		}},
		{"a tool that waits for a person", "approve: it", want{
			Termination: core.Termination{Type: "suspended"},
			Messages:    []string{"user: approve: it", `assistant: [danger {"text":"it"}]`},
			Usage:       core.Usage{Input: 2, Output: 1}, Steps: 1, Tickets: []string{"it"}, Err: "<nil>",
		}},
		{"a model that fails", "fail", want{
			Termination: core.Termination{Type: "error", Code: "model", Detail: "scripted model failure"},
			Messages:    []string{"user: fail"}, Err: `agent "demo" failed: model: scripted model failure`,
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result, err := newSolo(t, soloParts()).Run(t.Context(), "demo", test.text)
			got := want{result.Text, result.Termination, soloLines(result.Messages), result.Usage, result.Run.Steps, nil, fmt.Sprint(err)}
			for _, ticket := range result.Tickets {
				got.Tickets = append(got.Tickets, ticket.Suspension.Message)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if result.Thread == "" || result.Run.ThreadID != result.Thread || result.Run.ID.IsZero() {
				t.Errorf("thread %q, run %s of thread %q", result.Thread, result.Run.ID, result.Run.ThreadID)
			}
			if failed, ok := errors.AsType[*host.RunError](err); ok && failed.Termination != result.Termination {
				t.Errorf("the error says %v", failed.Termination)
			}
		})
	}
}

func TestRunRefusesWhatCouldNotBeRun(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	question := func(s mailbox.Submission) mailbox.Submission {
		s.Messages = []core.Message{core.UserMessage("hi")}
		return s
	}
	tests := []struct {
		name string
		run  func(r *host.Host) (host.Result, error)
		code core.Code
		want string
	}{
		{"an agent that is not registered", func(r *host.Host) (host.Result, error) { return r.Run(t.Context(), "other", "hi") },
			"not_found", `agent "other" not found, known are: demo`},
		{"no text", func(r *host.Host) (host.Result, error) { return r.Run(t.Context(), "demo", " \n") },
			"invalid", `the text for agent "demo" is empty`},
		{"a context that is over", func(r *host.Host) (host.Result, error) { return r.Run(gone, "demo", "hi") },
			"internal", `run agent "demo": context canceled`},
		{"no message", func(r *host.Host) (host.Result, error) {
			return r.Play(t.Context(), mailbox.Submission{Opening: mailbox.Opening{AgentID: "demo"}}, nil, nil)
		}, "invalid", `run agent "demo": messages are empty, at least one is required`},
		{"a thread that cannot be", func(r *host.Host) (host.Result, error) {
			return r.Play(t.Context(), question(mailbox.Submission{Opening: mailbox.Opening{AgentID: "demo"}, Thread: core.ThreadKey{Thread: "a#b"}}), nil, nil)
		}, "invalid", `run agent "demo": thread id "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"no decision", func(r *host.Host) (host.Result, error) {
			waiting, err := r.Run(t.Context(), "demo", "approve: it")
			if err != nil {
				return waiting, err
			}
			return r.Resume(t.Context(), waiting)
		}, "invalid", "there is no decision"},
		{"a result of no run", func(r *host.Host) (host.Result, error) {
			return r.Resume(t.Context(), host.Result{}, host.Approve(core.Ticket{}))
		}, "invalid", "resume: the result is of no run"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result, err := test.run(newSolo(t, soloParts()))
			if core.CodeOf(err) != test.code || fmt.Sprint(err) != test.want {
				t.Errorf("%v with code %q, want %s with code %q", err, core.CodeOf(err), test.want, test.code)
			}
			if result.Termination.Type == core.TerminationNatural {
				t.Error("there is a result")
			}
		})
	}
	two := soloParts()
	two.Specs = append(two.Specs, agent.Spec{ID: "a", Model: two.Specs[0].Model})
	_, err := newSolo(t, two).Run(t.Context(), "", "hi")
	if want := "no agent is named, and Parts.Default names none of a, demo"; core.CodeOf(err) != "invalid" || fmt.Sprint(err) != want {
		t.Errorf("without an agent, of two: %v with code %q, want %s with code invalid", err, core.CodeOf(err), want)
	}
	if got, err := newSolo(t, soloParts()).Run(t.Context(), "", "hi"); err != nil || got.Run.AgentID != "demo" {
		t.Errorf("without an agent, of one: agent %q, %v", got.Run.AgentID, err)
	}
	if _, err := host.InMemory(agent.Parts{}); fmt.Sprint(err) != "build host: no agent is registered" {
		t.Errorf("New without an agent: %v", err)
	}
}

func TestResultHasTheStateThatTheRunLeft(t *testing.T) {
	r := newSolo(t, soloParts())
	first, err := r.Run(t.Context(), "demo", "one")
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Play(t.Context(), mailbox.Submission{
		Thread: core.ThreadKey{Thread: first.Thread}, Opening: mailbox.Opening{AgentID: "demo"}, Messages: []core.Message{core.UserMessage("two")},
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, err := r.Run(t.Context(), "demo", "three")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []int{1, 2, 1} {
		if n, err := soloVisits.Read([]host.Result{first, second, other}[i].State); n != want || err != nil {
			t.Errorf("result %d: %d visits, %v, want %d", i+1, n, err, want)
		}
	}
	if second.Thread != first.Thread || other.Thread == first.Thread {
		t.Errorf("threads %s, %s, %s", first.Thread, second.Thread, other.Thread)
	}
	if diff := cmp.Diff([]string{"user: two", "assistant: You said: two"}, soloLines(second.Messages)); diff != "" {
		t.Errorf("messages of the second run (-want +got):\n%s", diff)
	}
}

func TestResumeGoesOnWithARunThatWaits(t *testing.T) {
	tests := []struct {
		name, text string
		decide     func(core.Ticket) mailbox.Deciding
		want       string
	}{
		{"approved", "approve: it", host.Approve, "Done: it"},
		{"denied", "approve: it", func(t core.Ticket) mailbox.Deciding { return host.Deny(t, "too late") }, "The call of danger was denied."},
		{"a client's reply", "ask: why?", func(t core.Ticket) mailbox.Deciding { return host.Reply(t, json.RawMessage(`"because"`)) }, "The answer is: because"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // nothing runs on, and no time goes by
				start := time.Now()
				r := newSolo(t, soloParts())
				waiting, err := r.Run(t.Context(), "demo", test.text)
				if err != nil || len(waiting.Tickets) != 1 {
					t.Fatalf("%d tickets, %v", len(waiting.Tickets), err)
				}
				done, err := r.Resume(t.Context(), waiting, test.decide(waiting.Tickets[0]))
				if err != nil || done.Text != test.want || done.Run.ID != waiting.Run.ID || len(done.Tickets) != 0 {
					t.Errorf("%q of run %s, %d tickets, %v; want %q of run %s", done.Text, done.Run.ID, len(done.Tickets), err, test.want, waiting.Run.ID)
				}
				if took := time.Since(start); took != 0 {
					t.Errorf("it took %s", took)
				}
				if _, err := r.Resume(t.Context(), waiting, host.Deny(waiting.Tickets[0], "changed my mind")); core.CodeOf(err) != core.CodeDecided {
					t.Errorf("a second decision: %v, want code decided", err)
				}
			})
		})
	}
}

// Who has asked is who decides.
func TestResumeIsForTheUserOfTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSolo(t, soloParts())
		s := submission("t1", "approve: it")
		s.User = "ann"
		waiting, err := r.Play(t.Context(), s, nil, nil)
		if err != nil || len(waiting.Tickets) != 1 {
			t.Fatalf("%d tickets, %v", len(waiting.Tickets), err)
		}
		done, err := r.Resume(t.Context(), waiting, host.Approve(waiting.Tickets[0]))
		if err != nil || done.Text != "Done: it" {
			t.Errorf("%q, %v", done.Text, err)
		}
	})
}

// TestACallThatWaitsWorksOffThePauseOfItsModel: the pause is too long for the step, which
// gives the run back to a queue that nobody else reads.
func TestACallThatWaitsWorksOffThePauseOfItsModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		parts := soloParts()
		parts.Models["m"] = agent.ModelBinding{Model: &soloModel{Model: parts.Models["m"].Model, fails: 2, pause: time.Minute}}
		r := newSolo(t, parts)
		start := time.Now()
		result, err := r.Run(t.Context(), "demo", "hello")
		if err != nil || result.Text != "You said: hello" {
			t.Errorf("%q, %v", result.Text, err)
		}
		if took := time.Since(start); took != 2*time.Minute {
			t.Errorf("it took %s, want the two pauses", took)
		}
	})
}

func TestCallsThatWaitForOneThreadTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSolo(t, soloParts())
		texts := make([]string, 4)
		var group sync.WaitGroup
		for i := range texts {
			group.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				result, err := r.Play(t.Context(), submission("shared", fmt.Sprintf("slow: %d", i+1)), nil, nil)
				texts[i] = fmt.Sprint(result.Text, " ", err)
			})
		}
		group.Wait()
		if diff := cmp.Diff([]string{"w1 <nil>", "w1 w2 <nil>", "w1 w2 w3 <nil>", "w1 w2 w3 w4 <nil>"}, texts); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestWhatWasSubmittedIsTakenAlongByACallThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSolo(t, soloParts())
		before, err := r.Submit(t.Context(), submission("shared", "first"))
		if err != nil {
			t.Fatal(err)
		}
		elsewhere, err := r.Submit(t.Context(), submission("other", "elsewhere"))
		if err != nil {
			t.Fatal(err)
		}
		result, err := r.Play(t.Context(), submission("shared", "second"), nil, nil) // it waits for the first
		if err != nil || result.Text != "You said: second" {
			t.Fatalf("%q, %v", result.Text, err)
		}
		for _, receipt := range []mailbox.Receipt{before, elsewhere} {
			if err := r.Follow(t.Context(), local, receipt.RunID, host.ListenerFunc(func(core.Event) error { return nil })); err != nil {
				t.Fatal(err)
			}
			run, err := r.ReadRun(t.Context(), local, receipt.RunID)
			if err != nil || run.Status != core.RunDone {
				t.Errorf("run %s is %s, %v", receipt.RunID, run.Status, err)
			}
		}
	})
}

// TestARunEndsWithItsCall: nobody else would go on with it. The thread is free then.
func TestARunInMemoryEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newSolo(t, soloParts())
		ctx, cancel := context.WithTimeout(t.Context(), 250*time.Millisecond)
		defer cancel()
		start := time.Now()
		result, err := r.Play(ctx, submission("t1", "slow: 50"), nil, nil)
		if took := time.Since(start); took != 250*time.Millisecond {
			t.Errorf("it took %s", took)
		}
		if want := "run " + result.Run.ID.String() + " was cancelled: context deadline exceeded"; fmt.Sprint(err) != want || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want %s", err, want)
		}
		if result.Termination.Type != core.TerminationCancelled || result.Run.Status != core.RunDone {
			t.Errorf("%s, %+v", result.Run.Status, result.Termination)
		}
		next, err := r.Play(t.Context(), submission("t1", "hello"), nil, nil)
		if err != nil || next.Text != "You said: hello" {
			t.Errorf("%q, %v", next.Text, err)
		}
	})
}
