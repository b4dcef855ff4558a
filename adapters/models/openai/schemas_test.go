package openai_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

// at returns a provider as a dialect has it, with transcripts of a folder.
func at(p modeltest.Provider, dialect openai.Dialect, folder string) modeltest.Provider {
	p.Open = func(t *testing.T, play string) modeltest.Opened {
		s := wiretest.Serve(t, "testdata/"+folder, play)
		m, err := openai.New(openai.Options{Dialect: dialect, APIKey: modeltest.Key, BaseURL: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		return modeltest.Opened{Model: m, Requests: s.Requests, Gone: s.Gone()}
	}
	return p
}

func TestRequestsForSchemas(t *testing.T) {
	wiretest.WriteRequests(t, "openai-chat", at(provider, openai.DialectOpenAI, "transcripts"))
	wiretest.WriteRequests(t, "azure-chat", at(provider, openai.DialectAzure, "transcripts"))
	wiretest.WriteRequests(t, "openai-responses", responsesProvider)
	wiretest.WriteRequests(t, "azure-responses", at(responsesProvider, openai.DialectAzureResponses, "responses"))
}
