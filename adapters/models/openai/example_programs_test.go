package openai_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing/fstest"

	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core/agent/specfile"
	"github.com/reveille-run/reveille/core/reveille"
)

// saying starts a server in the place of OpenAI that answers each request with the next text.
func saying(texts ...string) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text := texts[0]
		texts = texts[1:]
		if !strings.HasPrefix(text, "{") {
			text = fmt.Sprintf(`{"content":%q}`, text)
		}
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":`+text+`,"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
}

// Hello asks one agent one thing. Without BaseURL it asks OpenAI.
func Example_hello() {
	server := saying("Oslo.")
	defer server.Close()

	m, err := openai.New(openai.Options{APIKey: "sk-...", BaseURL: server.URL})
	if err != nil {
		log.Fatal(err)
	}
	r, err := reveille.New(reveille.Parts{
		Specs:  []reveille.AgentSpec{{ID: "guide", Model: "m", SystemPrompt: "Be brief."}},
		Models: reveille.Models{"m": {Model: m, Name: "gpt-5-mini"}},
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	result, err := r.Run(context.Background(), reveille.Input{Text: "What is the capital of Norway?"})
	fmt.Println(result.Text, err)
	// Output: Oslo. <nil>
}

type place struct {
	City string `json:"city"`
}

func weather(_ context.Context, _ reveille.Call, p place) (string, error) {
	return "sunny in " + p.City, nil
}

// Agents as data need the code that speaks their providers' protocol, under the name by
// which the providers name it. Their tools are code.
func ExampleAdapter() {
	server := saying(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]}`, "It is sunny.")
	defer server.Close()
	folder := fstest.MapFS{"guide.yaml": {Data: []byte(`
id: guide
model: fast
---
models: [{id: fast, provider: vendor, upstream_model: gpt-5-mini}]
providers: [{id: vendor, adapter: openai, api_key_env: OPENAI_API_KEY, base_url: "` + server.URL + `"}]
`)}}
	environment := func(name string) (string, bool) { return "sk-...", name == "OPENAI_API_KEY" }

	parts, err := specfile.Loader{Env: environment}.Load(folder)
	if err != nil {
		log.Fatal(err)
	}
	parts.Adapters = reveille.Adapters{"openai": openai.Adapter}
	parts.Tools = []reveille.Tool{reveille.NewTool(reveille.ToolSpec{Name: "weather", Description: "Tells it.", ReadOnly: true}, weather)}
	r, err := reveille.New(parts, nil)
	if err != nil {
		log.Fatal(err)
	}
	for e, err := range r.Events(context.Background(), reveille.Input{Text: "Weather in Oslo?"}) {
		if err != nil {
			log.Fatal(err)
		}
		if e.Type == reveille.EventTextDelta {
			fmt.Print(e.Delta)
		}
	}
	// Output: It is sunny.
}
