package httpapi_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/store/memory"
)

// Clients learn which files an agent accepts and how long a request may be, and of each
// model that responds its window and levels of reasoning, if the deployment shows models.
func TestTheAbilitiesOfModels(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	rules := scripted.New(env.System())
	r, err := host.New(host.Options{
		Store: memory.New(), Waker: &mailboxtest.Queue{}, Logger: quiet,
		Agents: agent.Parts{
			Catalog: &catalog.Catalog{},
			Models: map[string]agent.ModelBinding{
				"new":  {Model: rules, Name: "new-1", Provider: "acme"},
				"sees": {Model: rules, Name: "sees-1", Provider: "acme", Facts: model.Facts{ContextWindow: 200_000, Inputs: []string{"image"}, Reasoning: model.ReasoningLevels, Levels: []string{"low", "max"}}},
			},
			Specs: []agent.Spec{{ID: "a", Model: "new"}, {ID: "b", Model: "sees"}}, Default: "a",
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const (
		unknown = `"context_window":111616,"window_assumed":true`
		known   = `"context_window":183616,"inputs":["image"]`
		assumed = `{"model":"new","provider":"acme","name":"new-1","scripted":true,"context_window":128000,"window_assumed":true}`
		sees    = `{"model":"sees","provider":"acme","name":"sees-1","scripted":true,"context_window":200000,"inputs":["image"],"reasoning_levels":["low","max"]}`
	)
	for _, tt := range []struct {
		path  string
		shows bool
		want  []string
	}{
		{"/v1/agents", false, []string{`"tools":[],` + unknown + `}`, `"tools":[],` + known + `}`}},
		{"/v1/agents/a", true, []string{unknown + `,"answers":[` + assumed + `]}`}},
		{"/v1/agents/b", true, []string{known + `,"answers":[` + sees + `]}`}},
		{"/v1/capabilities", true, []string{strings.TrimSuffix(assumed, "}") + `,"input_usd_per_million":null`, strings.TrimSuffix(sees, "}") + `,"input_usd_per_million":null`}},
	} {
		response := httptest.NewRecorder()
		httpapi.New(r, &httpapi.Options{Authenticate: httpapi.Anonymous("acme"), Log: quiet, ShowModels: tt.shows}).ServeHTTP(response, httptest.NewRequest(http.MethodGet, tt.path, http.NoBody))
		for _, want := range tt.want {
			if got := response.Body.String(); !strings.Contains(got, want) {
				t.Errorf("%s is %s, want it to have %s", tt.path, got, want)
			}
		}
	}
}
