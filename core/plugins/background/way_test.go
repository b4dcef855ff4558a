package background_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugins/background"
	"github.com/reveille-run/reveille/core/reveille"
)

// program is one whose agent lead may start the agent helper in the background.
type program struct {
	*reveille.Runtime
	t *testing.T
}

// running is a program that works until the test is over.
func running(t *testing.T) program {
	t.Helper()
	r, err := reveille.New(reveille.Parts{
		Specs: []reveille.AgentSpec{
			{ID: "lead", Model: "scripted", Plugins: []string{background.ID}, Sections: reveille.Sections(background.Section.Setting(background.Config{Agents: []string{"helper"}}))},
			{ID: "helper", Model: "scripted", Plugins: []string{background.ID}},
			{ID: "boss", Model: "scripted", Plugins: []string{background.ID}, Delegates: []string{"helper", "lead"}, Sections: reveille.Sections(background.Section.Setting(background.Config{Agents: []string{"chief"}}))},
			{ID: "chief", Model: "scripted", Plugins: []string{background.ID}, Delegates: []string{"helper", "lead"}},
		},
		Models:  reveille.Models{"scripted": {Model: scripted.Rules()}},
		Plugins: []reveille.Plugin{background.Plugin{}},
		Default: "lead",
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- r.Work(ctx) }()
	t.Cleanup(func() {
		stop()
		<-over
	})
	return program{r, t}
}

// calls has the lead call a tool on the thread t1, and returns the status and text of its result.
func (p program) calls(tool, arguments string) string {
	p.t.Helper()
	done, err := p.Run(p.t.Context(), reveille.Input{Thread: "t1", Text: "call: " + tool + " " + arguments})
	if err != nil {
		p.t.Fatal(err)
	}
	for _, m := range done.Messages {
		if m.ToolResult != nil {
			return string(m.ToolResult.Status) + " " + m.ToolResult.Text()
		}
	}
	p.t.Fatalf("the run has no result: %+v", done)
	return ""
}

// starts starts the helper, and returns its run.
func (p program) starts(prompt string) (run string) {
	p.t.Helper()
	var task struct {
		RunID string `json:"run_id"`
	}
	text := strings.TrimPrefix(p.calls("start_agent", `{"agent_id":"helper","prompt":"`+prompt+`"}`), "ok ")
	if err := json.Unmarshal([]byte(text), &task); err != nil || task.RunID == "" {
		p.t.Fatalf("%s: %v", text, err)
	}
	return task.RunID
}

// said are the texts of a thread, of its users and agents.
func (p program) said(thread string) (texts []string) {
	p.t.Helper()
	for m, err := range p.Messages(p.t.Context(), thread) {
		if err != nil {
			p.t.Fatal(err)
		}
		if m.ToolResult == nil && m.Text() != "" {
			texts = append(texts, string(m.Role)+": "+m.Text())
		}
	}
	return texts
}

// A lead starts an agent in the background, whose run outlives its own, asks for its status and
// output, sends it a message, and is told of its end.
func TestTheWayOfABackgroundTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := running(t)
		run := p.starts("slow: 50")
		time.Sleep(time.Second)
		want := func(tool, arguments, want string) {
			t.Helper()
			if got := p.calls(tool, arguments); got != strings.ReplaceAll(want, "RUN", run) {
				t.Errorf("%s %s: %s, want %s", tool, arguments, got, want)
			}
		}
		want("agent_status", `{"task_id":"bg_0"}`, `ok {"task_id":"bg_0","agent_id":"helper","run_id":"RUN","status":"running","steps":0}`)
		if got := p.calls("send_message", `{"to":{"relation":"child","name":"bg_0"},"message":"faster"}`); !strings.HasSuffix(got, `","status":"queued"}`) {
			t.Errorf("the message is %s", got)
		}
		time.Sleep(20 * time.Second)
		want("agent_status", `{"task_id":"bg_0"}`, `ok {"task_id":"bg_0","agent_id":"helper","run_id":"RUN","status":"completed","steps":2}`)
		want("agent_output", `{"task_id":"bg_0"}`, `ok {"task_id":"bg_0","status":"completed","output":"You said: Message from the agent lead of thread t1:\nfaster"}`)
		ends := 0
		for _, text := range p.said("t1") {
			if strings.HasPrefix(text, `user: A run that you started is over: {"run_id":"`+run+`","thread_id":"child.`) {
				ends++
			}
		}
		if ends != 1 {
			t.Errorf("the lead is told %d times: %q", ends, p.said("t1"))
		}
	})
}

// Without agents in its settings, an agent may start its delegates; with agents, these alone.
func TestAnAgentMayStartItsDelegates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := running(t)
		for agent, want := range map[string]string{
			"lead":  "\"agent_id\":\"lead\",\"status\":\"running\"}",
			"chief": `agent "chief" cannot be started, allowed are: helper, lead`,
		} {
			done, err := p.Run(t.Context(), reveille.Input{Thread: "of." + agent, Agent: "chief", Text: `call: start_agent {"agent_id":"` + agent + `","prompt":"slow: 50"}`})
			if err != nil || !strings.Contains(done.Text, want) {
				t.Errorf("%s: %q, %v; want %q", agent, done.Text, err, want)
			}
		}
		done, err := p.Run(t.Context(), reveille.Input{Thread: "of.boss", Agent: "boss", Text: `call: start_agent {"agent_id":"helper","prompt":"x"}`})
		if want := `agent "helper" cannot be started, allowed are: chief`; err != nil || !strings.Contains(done.Text, want) {
			t.Errorf("%q, %v; want %q", done.Text, err, want)
		}
	})
}
