package modeltest

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// independent is an adapter and the fake that it is checked against.
type independent struct {
	provider Provider
	model    model.Model
}

// Independent checks an adapter against fake providers that others wrote: those of
// scripts/verify/clients/models, which wiretest.Fake starts. The keys of without are the
// clauses that the fake lacks for this provider; the values are the reasons.
func (p Provider) Independent(t *testing.T, m model.Model, without map[string]string) {
	t.Helper()
	f := independent{p, m}
	for _, clause := range []struct {
		name  string
		check func(t *testing.T)
	}{
		{"text", func(t *testing.T) {
			f.says(t, "say hello", outcome{Text: "Hello from the other side.", Stop: core.StopEndTurn})
		}},
		{"two calls", func(t *testing.T) {
			f.says(t, "call two tools", outcome{Stop: core.StopToolUse, Calls: []called{
				{"get_weather", `{"city":"Paris","days":3}`}, {"get_time", `{"zone":"Europe/Paris"}`},
			}})
		}},
		{"reasoning", func(t *testing.T) {
			f.says(t, "think first", outcome{Reasoning: "Let me think.", Text: "It is done.", Stop: core.StopEndTurn})
		}},
		{"usage", f.usage}, {"cut in the middle", f.cut}, {"rate limit", f.limited}, {"a tool loop", f.loop},
	} {
		t.Run(clause.name, func(t *testing.T) {
			if why, ok := without[clause.name]; ok {
				t.Skip(why)
			}
			clause.check(t)
		})
	}
}

func (f independent) request(text string) model.Request {
	return f.provider.request(func(r *model.Request) {
		r.Messages, r.StreamIdleTimeout = []core.Message{core.UserMessage(text).WithID("m1")}, 10*time.Second
	})
}

func (f independent) ask(t *testing.T, text string) (outcome, error) {
	t.Helper()
	turn, _, err := collect(t, f.model, f.request(text))
	for i := range turn.Calls {
		turn.Calls[i].Arguments = compact(turn.Calls[i].Arguments)
	}
	return turn, err
}

func (f independent) says(t *testing.T, text string, want outcome) {
	t.Helper()
	got, err := f.ask(t, text)
	if err != nil {
		t.Fatal(err)
	}
	got.Usage, got.Echoes = core.Usage{}, 0
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func (f independent) usage(t *testing.T) {
	got, err := f.ask(t, "say hello")
	if want := (core.Usage{Input: 12, Output: 5}); err != nil || got.Usage != want {
		t.Errorf("usage %+v, %v, want %+v", got.Usage, err, want)
	}
}

func (f independent) cut(t *testing.T) {
	got, err := f.ask(t, "be cut off")
	if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.KindInterrupted {
		t.Errorf("error %v, want one of kind %s", err, model.KindInterrupted)
	}
	if !strings.HasPrefix(got.Text, "This ") || strings.HasSuffix(got.Text, "end.") || got.Stop != "" {
		t.Errorf("turn %+v, want the beginning", got)
	}
}

func (f independent) limited(t *testing.T) {
	got, err := f.ask(t, "be limited")
	var e *model.Error
	if !errors.As(err, &e) || got.Text != "" {
		t.Fatalf("turn %+v, error %v", got, err)
	}
	if e.Kind != model.KindRateLimited || e.Status != 429 || e.RetryAfter != 7*time.Second {
		t.Errorf("kind %q, status %d, retry after %v", e.Kind, e.Status, e.RetryAfter)
	}
}

func (f independent) loop(t *testing.T) {
	request := f.request("echo: tool")
	_, said, err := collect(t, f.model, request)
	if err != nil || len(said.ToolCalls) != 1 {
		t.Fatalf("turn %+v, %v", said, err)
	}
	said.ToolCalls[0].Arguments = json.RawMessage(`{"zone":"UTC"}`)
	request.Messages = append(request.Messages, said,
		core.Message{ID: "r", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: said.ToolCalls[0].ID, Name: "get_time", Data: json.RawMessage(`"12:00"`)}},
		core.UserMessage("say hello").WithID("m3"))
	turn, _, err := collect(t, f.model, request)
	if err != nil || turn.Text != "Hello from the other side." {
		t.Errorf("turn %+v, %v", turn, err)
	}
}
