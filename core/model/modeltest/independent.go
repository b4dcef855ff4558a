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

// Independent checks an adapter against fake providers that somebody else wrote: what
// scripts/clients/models answers, which wiretest.Fake starts. without are names of
// clauses that the fake lacks for this provider, with the reason.
func Independent(t *testing.T, p Provider, m model.Model, without map[string]string) {
	t.Helper()
	ask := func(t *testing.T, text string) (Turn, error) {
		t.Helper()
		turn, _, err := collect(t, m, p.request(func(r *model.Request) {
			r.Messages, r.StreamIdleTimeout = []core.Message{core.UserMessage("m1", text)}, 10*time.Second
		}))
		return turn, err
	}
	check := func(name string, f func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			if why, ok := without[name]; ok {
				t.Skip(why)
			}
			f(t)
		})
	}
	for _, c := range []struct {
		name, say string
		want      Turn
	}{
		{"text", "say hello", Turn{Text: "Hello from the other side.", Stop: core.StopEndTurn}},
		{"two calls", "call two tools", Turn{Stop: core.StopToolUse, Calls: []Call{
			{"get_weather", `{"city":"Paris","days":3}`}, {"get_time", `{"zone":"Europe/Paris"}`},
		}}},
		{"reasoning", "think first", Turn{Reasoning: "Let me think.", Text: "It is done.", Stop: core.StopEndTurn}},
	} {
		check(c.name, func(t *testing.T) {
			got, err := ask(t, c.say)
			if err != nil {
				t.Fatal(err)
			}
			if c.name == "text" && (got.Usage.Input <= 0 || got.Usage.Output <= 0) {
				t.Errorf("usage %+v", got.Usage)
			}
			for i := range got.Calls {
				got.Calls[i].Arguments = compact(got.Calls[i].Arguments)
			}
			got.Usage, got.Echoes = core.Usage{}, 0
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	check("cut in the middle", func(t *testing.T) {
		got, err := ask(t, "be cut off")
		if !errors.Is(err, model.ErrTruncated) || !model.Transient(err) {
			t.Errorf("error %v, want a transient truncation", err)
		}
		if !strings.HasPrefix(got.Text, "This ") || strings.HasSuffix(got.Text, "end.") || got.Stop != "" {
			t.Errorf("turn %+v, want the beginning", got)
		}
	})
	check("rate limit", func(t *testing.T) {
		got, err := ask(t, "be limited")
		var e *model.Error
		if !errors.As(err, &e) || got.Text != "" {
			t.Fatalf("turn %+v, error %v", got, err)
		}
		if e.Kind != model.KindRateLimited || e.Status != 429 || e.RetryAfter != 7*time.Second {
			t.Errorf("kind %q, status %d, retry after %v", e.Kind, e.Status, e.RetryAfter)
		}
	})
	check("a tool loop", func(t *testing.T) {
		request := p.request(func(r *model.Request) {
			r.Messages, r.StreamIdleTimeout = []core.Message{core.UserMessage("m1", "echo: tool")}, 10*time.Second
		})
		_, said, err := collect(t, m, request)
		if err != nil || len(said.ToolCalls) != 1 {
			t.Fatalf("turn %+v, %v", said, err)
		}
		said.ToolCalls[0].Arguments = json.RawMessage(`{"zone":"UTC"}`)
		request.Messages = append(request.Messages, said,
			core.Message{ID: "r", Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: said.ToolCalls[0].ID, Name: "get_time", Data: json.RawMessage(`"12:00"`)}},
			core.UserMessage("m3", "say hello"))
		turn, _, err := collect(t, m, request)
		if err != nil || turn.Text != "Hello from the other side." {
			t.Errorf("turn %+v, %v", turn, err)
		}
	})
}
