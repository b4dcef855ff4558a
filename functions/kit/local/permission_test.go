package local

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/plugins/permission"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// visitor talks with one host after the other on one thread.
type visitor struct {
	url  string
	down func()
	run  string // the newest
}

// opens starts a host on a file, with the demo's rules or others, in place of the one
// before.
func (v *visitor) opens(t *testing.T, data string, rules *permission.Config) {
	t.Helper()
	if v.down != nil {
		v.down()
	}
	deployment := demonstration
	if rules != nil {
		deployment.Parts = func(models map[string]agent.ModelBinding) (agent.Parts, error) {
			parts, err := demo.Parts(models)
			if err == nil {
				parts.Specs[0].Sections = plugin.Sections(permission.Section.Setting(*rules))
			}
			return parts, err
		}
	}
	v.url, v.down = serveDeployment(t, data, deployment)
}

// serveDeployment runs a host over HTTP until down is called.
func serveDeployment(t *testing.T, data string, deployment wiring.Deployment) (url string, down func()) {
	t.Helper()
	s, err := settings.Read(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Data = data
	h, err := newHost(t.Context(), env.System(), s, slog.New(slog.DiscardHandler), deployment)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h.handler)
	var closed bool
	down = func() {
		if !closed {
			closed = true
			server.Close()
			h.shutDown()
		}
	}
	t.Cleanup(down)
	return server.URL, down
}

// says sends a message and returns what its run shows: what it asks, the results, how it
// ended.
func (v *visitor) says(t *testing.T, text string) string {
	t.Helper()
	status, events := post(t, v.url+"/v1/runs", fmt.Sprintf(`{"agentId":"demo","threadId":"p","messages":[{"role":"user","content":%q}]}`, text))
	if status != 200 {
		t.Fatalf("status %d: %s", status, events)
	}
	if m := regexp.MustCompile(`"run_id":"([^"]+)"`).FindStringSubmatch(events); m != nil {
		v.run = m[1]
	}
	return v.shown(events)
}

// decides answers what the newest run asks, and returns what follows.
func (v *visitor) decides(t *testing.T, decision string) string {
	t.Helper()
	_, body := get(t, v.url+"/v1/runs/"+v.run)
	var run struct {
		Tickets []struct {
			Suspension string `json:"suspension_id"`
		}
	}
	if err := json.Unmarshal([]byte(body), &run); err != nil || len(run.Tickets) != 1 {
		t.Fatalf("%v in %s, want a run with one ticket", err, body)
	}
	body = strings.Replace(decision, "{", fmt.Sprintf(`{"suspension_id":%q,`, run.Tickets[0].Suspension), 1)
	if status, response := post(t, v.url+"/v1/runs/"+v.run+"/decision", body); status != 202 {
		t.Fatalf("status %d: %s", status, response)
	}
	_, events := get(t, v.url+"/v1/runs/"+v.run+"/events/stream")
	return v.shown(events)
}

var telling = regexp.MustCompile(`"event_type":"(?:tool_call_suspended|tool_call_done|run_finish)".*`)

func (v *visitor) shown(events string) string {
	var all []string
	for _, line := range telling.FindAllString(events, -1) {
		var e struct {
			Type        string `json:"event_type"`
			Result      json.RawMessage
			Status      string
			Termination struct{ Type, Detail string }
			Ticket      *struct {
				Parameters json.RawMessage
				Decision   any
			}
		}
		if err := json.Unmarshal([]byte("{"+line), &e); err != nil {
			return err.Error() + " in " + line
		}
		switch {
		case e.Ticket != nil && e.Ticket.Decision == nil:
			all = append(all, "asks "+string(e.Ticket.Parameters))
		case e.Type == "tool_call_done":
			all = append(all, strings.TrimSpace(e.Status+" "+string(e.Result)))
		case e.Type == "run_finish":
			all = append(all, strings.TrimSpace(e.Termination.Type+" "+e.Termination.Detail))
		}
	}
	return strings.Join(all, "; ")
}

func (v *visitor) want(t *testing.T, what, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// A person approves once for the thread and is not asked again about the same, also by a
// host that was started since; with the rule remembered, about nothing that it asks about.
func TestRememberForTheThreadAsksOnce(t *testing.T) {
	data := filepath.Join(t.TempDir(), "reveille.db")
	var v visitor
	v.opens(t, data, nil)
	v.want(t, "first", v.says(t, "approve: ship it"), `asks {"tool":"danger","arguments":{"text":"ship it"}}; suspended`)
	v.opens(t, data, nil)
	v.want(t, "approved", v.decides(t, `{"action":"resume","remember":"thread"}`), `ok {"text":"ship it","executions":1}; natural_end`)
	v.want(t, "again", v.says(t, "approve: ship it"), `ok {"text":"ship it","executions":2}; natural_end`)
	v.opens(t, data, nil)
	v.want(t, "again, after a restart", v.says(t, "approve: ship it"), `ok {"text":"ship it","executions":1}; natural_end`)
	v.want(t, "something else", v.says(t, "approve: drop it"), `asks {"tool":"danger","arguments":{"text":"drop it"}}; suspended`)
	v.decides(t, `{"action":"resume","payload":{"approved":true},"remember":"thread","remember_as":"rule"}`)
	v.want(t, "anything", v.says(t, "approve: burn it"), `ok {"text":"burn it","executions":1}; natural_end`)
}

// Rules are those of the spec that a run began with; the thread's next run has the new.
func TestConfigRulesAreReadFromThePinnedSpec(t *testing.T) {
	asks := permission.Config{DefaultBehavior: permission.Allow, Rules: []permission.Rule{{Tool: "danger", Behavior: permission.Ask}}}
	denies := permission.Config{
		DefaultBehavior: permission.Allow, OnDeny: permission.FailCall,
		Rules: []permission.Rule{{Tool: "danger(text ~ '*it')", Behavior: permission.Deny}},
	}
	allows := permission.Config{DefaultBehavior: permission.Allow}
	const (
		asked = `asks {"tool":"danger","arguments":{"text":"ship it"}}; `
		ran   = `ok {"text":"ship it","executions":1}; natural_end`
	)
	data := filepath.Join(t.TempDir(), "reveille.db")
	var v visitor
	v.opens(t, data, &asks)
	v.want(t, "asked", v.says(t, "approve: ship it"), asked+"suspended")
	v.opens(t, data, &denies)
	v.want(t, "a run that began with the rule", v.decides(t, `{"action":"resume","remember":"thread"}`), ran)
	v.want(t, "the next run, whatever is remembered", v.says(t, "approve: ship it"), `denied {"error":"denied: rule 0, danger(text ~ \"*it\"), denies it"}; natural_end`)
	v.opens(t, data, &allows)
	v.want(t, "a rule that was taken away", v.says(t, "approve: ship it"), ran)
	v.opens(t, data, &permission.Config{})
	v.want(t, "a default that is back, with what is remembered", v.says(t, "approve: ship it"), ran)
	v.want(t, "and without", v.says(t, "echo: hi"), `asks {"tool":"echo","arguments":{"text":"hi"}}; suspended`)
}
