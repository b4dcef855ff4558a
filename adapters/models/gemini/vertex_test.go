package gemini

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

func TestAddressesOfVertex(t *testing.T) {
	key := secret.New("k")
	tests := []struct{ name, options, base, want string }{
		{"express mode", ``, "", "https://aiplatform.googleapis.com/v1/publishers/google"},
		{"a project", `{"project":"p-1"}`, "", "https://aiplatform.googleapis.com/v1/projects/p-1/locations/global/publishers/google"},
		{"a region", `{"project":"p","location":"europe-west4"}`, "", "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google"},
		{"a multi-region", `{"project":"p","location":"eu"}`, "", "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/publishers/google"},
		{"another address", `{"project":"p"}`, "https://h/x", "https://h/x"},
		{"a location alone", `{"location":"eu"}`, "", `gemini: options.location is "eu" without options.project, want both or none`},
		{"a project that is a path", `{"project":"p/../q"}`, "", `gemini: the project of Vertex AI is "p/../q", want 1 to 64 of A-Z a-z 0-9 _ -`},
		{"a location that is a host", `{"project":"p","location":"evil.example/"}`, "", `gemini: the location of Vertex AI is "evil.example/", want 1 to 64 of A-Z a-z 0-9 _ -`},
		{"an unknown option", `{"region":"eu"}`, "", `unknown field "region" in options, allowed are project, location`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := VertexAdapter(agent.ProviderSpec{APIKey: key, BaseURL: tt.base, Options: json.RawMessage(tt.options)})
			var got string
			if err != nil {
				got = err.Error()
				if core.CodeOf(err) != core.CodeInvalid {
					t.Errorf("code %q", core.CodeOf(err))
				}
			} else {
				got = m.(*provider).base.String()
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
	const missing = "gemini: Vertex AI needs an API key here, or Google's own credentials with package adapters/models/gemini/vertex"
	if _, err := VertexAdapter(agent.ProviderSpec{}); err == nil || err.Error() != missing {
		t.Errorf("without a key: %v", err)
	}
}

// Vertex AI does not know the ids of calls, and refuses what it does not know.
func TestCallsForVertexHaveNoIDs(t *testing.T) {
	request := model.Request{Model: "gemini-2.5-flash", Messages: []core.Message{
		core.UserMessage("Go."), {Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: "x", Name: "now"}}},
		{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "x", Name: "now", Message: "noon"}},
	}}
	for vertex, want := range map[bool]string{
		false: `{"functionCall":{"id":"c1_0","name":"now","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"c1_0","name":"now","response":{"output":"noon"}}}]}`,
		true:  `{"functionCall":{"name":"now","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"name":"now","response":{"output":"noon"}}}]}`,
	} {
		body, err := encode(request, vertex)
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("vertex %t: %s, %v", vertex, body, err)
		}
	}
	for base, want := range map[string]bool{"": false, "https://h/v1/projects/p/locations/eu/publishers/google/": true, expressURL: true} {
		m, err := open(Options{APIKey: "k", BaseURL: base})
		if err != nil || m.vertex != want {
			t.Errorf("%s: %+v, %v", base, m, err)
		}
	}
}
