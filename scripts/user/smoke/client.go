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
	"strings"

	"github.com/reveille-run/reveille/core"
)

// client sends requests to a deployment.
type client struct {
	url      string
	http     *http.Client
	identify func(r *http.Request, body []byte) error // adds credentials to a request
	used     map[core.ID]core.Usage                   // of each run that was followed
}

// request returns a request with credentials and, unless content is nil, a JSON body.
func (c *client) request(ctx context.Context, method, path string, content any) (*http.Request, error) {
	var body []byte
	if content != nil {
		var err error
		if body, err = json.Marshal(content); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	return r, c.identify(r, body)
}

// wanted returns an error if the response has another status. The error has its text.
func wanted(r *http.Request, response *http.Response, status int) error {
	if response.StatusCode == status {
		return nil
	}
	said, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10)) // a partial text is enough
	return fmt.Errorf("%s %s: status %d, want %d: %s", r.Method, r.URL.Path, response.StatusCode, status, bytes.TrimSpace(said))
}

// send sends a request. A response with another status is an error.
func (c *client) send(ctx context.Context, method, path string, content any, last string, want int) (*http.Response, error) {
	r, err := c.request(ctx, method, path, content)
	if err != nil {
		return nil, err
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	if err := wanted(r, response, want); err != nil {
		return nil, errors.Join(err, response.Body.Close())
	}
	return response, nil
}

// call sends a request and decodes the JSON of its response into v, unless v is nil.
func (c *client) call(ctx context.Context, method, path string, content any, want int, v any) error {
	response, err := c.send(ctx, method, path, content, "", want)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	if v == nil {
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(v); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}

// seen has the events of a run that a client has received.
type seen struct {
	events  []core.Event
	last    string // position of the last event that has one
	returns int    // number of reconnects
}

// run starts a run and follows it until it ends or waits. If cut is not nil, the client closes
// the first stream when cut returns true.
func (c *client) run(ctx context.Context, thread, agent, text string, cut func(core.Event) bool) (*seen, error) {
	input := map[string]any{"threadId": thread, "messages": []any{map[string]string{"role": "user", "content": text}}}
	if agent != "" {
		input["agentId"] = agent
	}
	response, err := c.send(ctx, http.MethodPost, "/v1/runs", input, "", http.StatusOK)
	if err != nil {
		return nil, err
	}
	s := &seen{}
	if err := s.read(response.Body, cut); err != nil {
		return s, err
	}
	return s, c.follow(ctx, s)
}

// follow reconnects to the run's stream until it has the last event. A deployment closes
// streams that only follow after a minute.
func (c *client) follow(ctx context.Context, s *seen) error {
	for {
		if len(s.events) == 0 || s.events[0].RunID == (core.ID{}) {
			return errors.New("the first event of the stream has no run id")
		}
		if end := s.end(); end.Type == core.EventRunFinish {
			if end.Usage != nil {
				c.used[s.events[0].RunID] = *end.Usage
			}
			return nil
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("the run has not ended after %d reconnects to its stream: %w", s.returns, err)
		}
		s.returns++
		response, err := c.send(ctx, http.MethodGet, "/v1/runs/"+s.events[0].RunID.String()+"/events/stream", nil, s.last, http.StatusOK)
		if err != nil {
			return err
		}
		if err := s.read(response.Body, nil); err != nil {
			return err
		}
	}
}

// read reads a stream to its end, or until cut returns true.
func (s *seen) read(stream io.ReadCloser, cut func(core.Event) bool) error {
	defer func() { _ = stream.Close() }() // it was read, or closed on purpose
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 8<<20)
	id := ""
	for lines.Scan() {
		if position, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			id = position
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e core.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("event %s: %w", data, err)
		}
		s.events = append(s.events, e)
		if id != "" {
			s.last = id
		}
		if cut != nil && cut(e) {
			return nil
		}
	}
	return lines.Err()
}

// end is the last event; before the first one, the zero event.
func (s *seen) end() core.Event {
	if len(s.events) == 0 {
		return core.Event{}
	}
	return s.events[len(s.events)-1]
}
