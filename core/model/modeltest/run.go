package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// Provider is an adapter under test.
type Provider struct {
	Name  string // with which its errors begin
	Model string // in requests
	// Open returns a model, made with [Key]. Its server responds to every request with the
	// transcript that play names.
	Open func(t *testing.T, play string) Opened
	// Stops are further transcripts, with the stop reason that each must produce.
	Stops map[string]core.StopReason
	// Echo is a text that the request after the turn of the case "reasoning" contains: it
	// shows that the turn's value was sent back. Own is a member of the request that
	// ProviderOptions cannot set.
	Echo, Own string
	// Usage is the usage of the case "usage", if the provider does not report all counts.
	Usage *core.Usage
	// Exceptions are the cases that the provider lacks, with the reasons.
	Exceptions map[string]string
}

// Opened is a model and the requests that its server has received.
type Opened struct {
	Model    model.Model
	Requests func() []string // bodies so far
	Gone     <-chan struct{} // closed when a client has disconnected before the end
}

// Run checks each clause of the contract in a separate subtest.
func (p Provider) Run(t *testing.T) {
	t.Helper()
	for _, c := range streams() {
		t.Run(c.Name, func(t *testing.T) { p.stream(t, c) })
	}
	if len(p.Stops) == 0 {
		t.Error("no stop reasons")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Stops)) {
		t.Run(name, func(t *testing.T) {
			turn, err := p.ask(t, name, nil)
			if err != nil || turn.Stop != p.Stops[name] {
				t.Errorf("stop %q, %v, want %q", turn.Stop, err, p.Stops[name])
			}
		})
	}
	for _, clause := range []struct {
		name  string
		check func(*testing.T)
	}{
		{"cancel", p.cancel}, {"break", p.breakOut}, {"echo", p.echo}, {"files", p.files}, {"result_files", p.resultFiles}, {"parameters", p.parameters}, {"provider_options", p.options},
		{"call_ids", p.callIDs},
	} {
		t.Run(clause.name, func(t *testing.T) {
			p.skip(t, clause.name)
			clause.check(t)
		})
	}
}

func (p Provider) skip(t *testing.T, name string) {
	if why, ok := p.Exceptions[name]; ok {
		t.Skip(why)
	}
}

func (p Provider) stream(t *testing.T, c stream) {
	p.skip(t, c.Name)
	want := c.Want
	if p.Usage != nil && c.Name == "usage" {
		want.Usage = *p.Usage
	}
	got, err := p.ask(t, c.Name, func(r *model.Request) {
		if c.Silent {
			r.StreamIdleTimeout = idle
		}
	})
	if c.Name != "usage" {
		got.Usage = core.Usage{}
	}
	for i := range got.Calls {
		got.Calls[i].Arguments = compact(got.Calls[i].Arguments)
	}
	if c.Name == "call_without_arguments" && len(got.Calls) == 1 && got.Calls[0].Arguments == "{}" {
		got.Calls[0].Arguments = ""
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("turn (-want +got):\n%.2000s", diff)
	}
	p.failed(t, c.Fail, err)
}

func (p Provider) failed(t *testing.T, want *failure, err error) {
	t.Helper()
	if want == nil {
		if err != nil {
			t.Errorf("error %v", err)
		}
		return
	}
	var e *model.Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, want a *model.Error of kind %s", err, want.Kind)
	}
	if e.Kind != want.Kind && (want.Or == "" || e.Kind != want.Or) || e.RetryAfter != want.RetryAfter {
		t.Errorf("kind %s, retry after %s, want %s and %s: %v", e.Kind, e.RetryAfter, want.Kind, want.RetryAfter, err)
	}
	if !strings.HasPrefix(err.Error(), p.Name+": ") {
		t.Errorf("error %q does not start with %q", err, p.Name)
	}
}

// ask streams the request of the suite, changed.
func (p Provider) ask(t *testing.T, play string, change func(*model.Request)) (outcome, error) {
	t.Helper()
	turn, _, err := collect(t, p.Open(t, play).Model, p.request(change))
	return turn, err
}

// request is the one that all cases make.
func (p Provider) request(change func(*model.Request)) model.Request {
	r := model.Request{
		Model: p.Model, Origin: p.Name + "/" + p.Model, System: "Be brief.", MaxTokens: 4000, StreamIdleTimeout: patience,
		Messages: []core.Message{core.UserMessage("What is the weather in Oslo and Rome?").WithID("m1")},
		Tools: []model.ToolDefinition{
			{Name: "get_time", Description: "Tells the time.", Parameters: json.RawMessage(`{"type":"object","properties":{}}`)},
			{Name: "get_weather", Description: "Tells the weather.", Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`)},
		},
	}
	if change != nil {
		change(&r)
	}
	return r
}

// collect streams one inference to its end.
func collect(t *testing.T, m model.Model, r model.Request) (outcome, core.Message, error) {
	t.Helper()
	c := collector{message: core.Message{ID: "m2", Role: core.RoleAssistant}, origin: r.Origin}
	for d, err := range m.Stream(t.Context(), r) {
		if err != nil {
			if strings.Contains(err.Error(), Key) {
				t.Errorf("an error contains the API key: %v", err)
			}
			return c.turn, c.message, err
		}
		if c.turn.Stop != "" && d.Type != model.DeltaUsage {
			t.Errorf("delta %+v after the stop", d)
		}
		c.add(t, d)
	}
	if c.turn.Stop == "" {
		t.Error("the stream ended without a stop and without an error")
	}
	return c.turn, c.message, nil
}

// collector makes of deltas what a step would store.
type collector struct {
	turn    outcome
	message core.Message
	origin  string
}

func (c *collector) add(t *testing.T, d model.Delta) {
	t.Helper()
	if d.Echo != nil {
		c.turn.Echoes++
		if !json.Valid(d.Echo) {
			t.Errorf("echo %q is not JSON", d.Echo)
		}
	}
	switch d.Type {
	case model.DeltaText:
		c.turn.Text += d.Text
		c.say(core.BlockText, d)
	case model.DeltaReasoning:
		c.turn.Reasoning += d.Text
		c.say(core.BlockReasoning, d)
	case model.DeltaToolStart:
		if d.Index != len(c.turn.Calls) {
			t.Errorf("call %d starts after %d calls, want the calls in order", d.Index, len(c.turn.Calls))
		}
		c.turn.Calls = append(c.turn.Calls, called{Name: d.Name})
		call := core.ToolCall{ID: d.CallID, Name: d.Name, Echo: d.Echo}
		if d.Echo != nil {
			call.Origin = c.origin
		}
		c.message.ToolCalls = append(c.message.ToolCalls, call)
	case model.DeltaToolArgument:
		if d.Index >= len(c.turn.Calls) {
			t.Fatalf("arguments of call %d, which has not started", d.Index)
		}
		c.turn.Calls[d.Index].Arguments += d.Text
	case model.DeltaUsage:
		c.turn.Usage = d.Usage
	case model.DeltaStop:
		c.turn.Stop = d.Stop
	default:
		t.Errorf("delta of type %d", d.Type)
	}
}

func (c *collector) say(kind core.BlockType, d model.Delta) {
	last := len(c.message.Content) - 1
	if last < 0 || c.message.Content[last].Type != kind || c.message.Content[last].Echo != nil {
		c.message.Content = append(c.message.Content, core.Block{Type: kind})
		last++
	}
	b := &c.message.Content[last]
	b.Text += d.Text
	if d.Echo != nil {
		b.Echo, b.Origin = d.Echo, c.origin
	}
}

// cancel ends the context in the middle of a stream that continues.
func (p Provider) cancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opened := p.Open(t, "idle")
	var last error
	for _, err := range opened.Model.Stream(ctx, p.request(func(r *model.Request) { r.StreamIdleTimeout = time.Minute })) {
		last = err
		cancel()
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("error %v, want the context's", last)
	}
	gone(opened)
}

// breakOut breaks out of the loop.
func (p Provider) breakOut(t *testing.T) {
	opened := p.Open(t, "idle")
	for _, err := range opened.Model.Stream(t.Context(), p.request(func(r *model.Request) { r.StreamIdleTimeout = time.Minute })) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	gone(opened)
}

// gone waits until the server sees that its client has left.
func gone(o Opened) { <-o.Gone }

func compact(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return text
	}
	return string(encoded)
}
