package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/scripts/verify/lives"
)

// client follows one run of the coordinator.
type client struct {
	host   *lives.Host
	run    string
	ticket ticket // that the buyer waits with
}

// ticket is a call of a specialist that waits for a person.
type ticket struct {
	RunID    string `json:"run_id"`
	ToolName string `json:"tool_name"`
	CallID   string `json:"tool_call_id"`
	Kind     string `json:"kind"`
}

// event is one of the stream, as far as it is looked at.
type event struct {
	Type    string   `json:"event_type"`
	RunID   string   `json:"run_id"`
	Content struct { // of an activity
		AgentID string `json:"agent_id"`
		Status  string `json:"status"`
		Text    string `json:"text"`
	} `json:"content"`
	Response    string `json:"response"`
	Termination struct {
		Type string `json:"type"`
	} `json:"termination"`
}

// of reports whether the event shows a run of the agent.
func (e event) of(agent string) bool {
	return e.Type == "activity_snapshot" && e.Content.AgentID == agent
}

// ended reports whether the event is the last one of a stream.
func (e event) ended() bool { return e.Type == "run_finish" }

// run is a run as the routes show it, as far as it is looked at.
type run struct {
	ID       string `json:"run_id"`
	ThreadID string `json:"thread_id"`
	AgentID  string `json:"agent_id"`
	Status   string `json:"status"`
	Steps    int    `json:"steps"`
	Usage    struct {
		Output int `json:"output"`
	} `json:"usage"`
	ChildTickets []ticket `json:"child_tickets"`
}

// ask starts the run and reads its stream up to the event.
func (c *client) ask(ctx context.Context, text string, until func(event) bool) (event, error) {
	body, err := json.Marshal(map[string]any{"agentId": "coordinator", "threadId": "t1", "messages": []any{map[string]string{"role": "user", "content": text}}})
	if err != nil {
		return event{}, err
	}
	e, err := c.read(ctx, http.MethodPost, "/v1/runs", bytes.NewReader(body), func(e event) bool {
		if c.run == "" {
			c.run = e.RunID
		}
		return until(e)
	})
	return e, err
}

// waits reads the stream until all of the run's specialists wait, and then the call that does.
func (c *client) waits(ctx context.Context) error {
	end, err := c.read(ctx, http.MethodGet, "/v1/runs/"+c.run+"/events/stream", nil, event.ended)
	if err != nil {
		return err
	}
	var r run
	if err := c.get(ctx, "/v1/runs/"+c.run, &r); err != nil {
		return err
	}
	if end.Termination.Type != "suspended" || r.Status != "waiting" || len(r.ChildTickets) != 1 || r.ChildTickets[0].ToolName != "danger" || r.ChildTickets[0].Kind != "person" {
		return fmt.Errorf("the stream has ended with %+v and the run is %+v, want it to wait for one call of danger", end, r)
	}
	c.ticket = r.ChildTickets[0]
	return nil
}

// approve sends the decision.
func (c *client) approve(ctx context.Context) error {
	body, err := json.Marshal(map[string]string{"run_id": c.ticket.RunID, "tool_call_id": c.ticket.CallID, "action": "resume"})
	if err != nil {
		return err
	}
	r, err := c.request(ctx, http.MethodPost, "/v1/runs/"+c.run+"/decision", bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, err = lives.Do(r)
	return err
}

// ends reads the stream to the end of the run.
func (c *client) ends(ctx context.Context) error {
	for {
		end, err := c.read(ctx, http.MethodGet, "/v1/runs/"+c.run+"/events/stream", nil, event.ended)
		switch {
		case err != nil:
			return err
		case end.Termination.Type == "suspended":
			continue // the host has not yet seen the decision
		case end.Termination.Type != "natural_end" || end.Response != answer:
			return fmt.Errorf("the run has ended with %+v, want natural_end and the response %q", end, answer)
		}
		return nil
	}
}

// once checks how much each agent has done: its runs, their steps, the responses of its model
// and the results of its tools.
func (c *client) once(ctx context.Context) error {
	var page struct {
		Runs []run `json:"runs"`
	}
	if err := c.get(ctx, "/v1/runs", &page); err != nil {
		return err
	}
	var got []string
	for _, r := range page.Runs {
		responses, results, err := c.counted(ctx, r.ThreadID)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s: %s, steps %d, responses of the model %d, its output %d, results of tools %d",
			r.AgentID, r.Status, r.Steps, responses, r.Usage.Output, len(results))
		if r.AgentID == "buyer" {
			line += ", " + strings.Join(results, ", ")
		}
		got = append(got, line)
	}
	slices.Sort(got)
	want := []string{
		`buyer: done, steps 2, responses of the model 2, its output 3, results of tools 1, {"text":"order","executions":1}`,
		"coordinator: done, steps 2, responses of the model 2, its output 26, results of tools 2",
		"researcher: done, steps 1, responses of the model 1, its output 20, results of tools 0",
	}
	if !slices.Equal(got, want) {
		return fmt.Errorf("the runs are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	lives.Say("each agent has run once:\n%s", strings.Join(got, "\n"))
	return nil
}

// counted returns how many responses of a model a thread has, and its results of tools.
func (c *client) counted(ctx context.Context, thread string) (responses int, results []string, err error) {
	var log struct {
		Messages []core.Message `json:"messages"`
	}
	if err := c.get(ctx, "/v1/threads/"+thread+"/messages", &log); err != nil {
		return 0, nil, err
	}
	for _, m := range log.Messages {
		switch {
		case m.Role == core.RoleAssistant:
			responses++
		case m.ToolResult != nil:
			results = append(results, m.ToolResult.Text())
		}
	}
	return responses, results, nil
}

// read sends a request and reads the stream up to the event.
func (c *client) read(ctx context.Context, method, path string, body io.Reader, until func(event) bool) (event, error) {
	r, err := c.request(ctx, method, path, body)
	if err != nil {
		return event{}, err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return event{}, err
	}
	defer func() { _ = response.Body.Close() }() // the rest is not read
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	last := fmt.Sprint("status ", response.StatusCode)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return event{}, fmt.Errorf("%s: %w", data, err)
		}
		if last = data; until(e) {
			return e, nil
		}
	}
	return event{}, errors.Join(fmt.Errorf("%s %s: the stream has ended early, after %s", method, path, last), lines.Err())
}

// get reads a value.
func (c *client) get(ctx context.Context, path string, into any) error {
	r, err := c.request(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	body, err := lives.Do(r)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: %w in %s", path, err, body)
	}
	return nil
}

func (c *client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.host.URL+path, body)
	if err == nil && body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return r, err
}
