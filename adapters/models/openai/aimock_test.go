//go:build clients

package openai_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

func TestAgainstAnIndependentServer(t *testing.T) {
	options := openai.Options{APIKey: modeltest.Key, BaseURL: wiretest.Fake(t, "../../..") + "/v1"}
	chat, err := openai.New(options)
	if err != nil {
		t.Fatal(err)
	}
	options.Dialect, options.ReasoningSummary = openai.DialectResponses, "auto"
	responses, err := openai.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("chat", func(t *testing.T) {
		modeltest.Provider{Name: "openai", Model: "gpt-fake"}.Independent(t, chat, nil)
	})
	t.Run("responses", func(t *testing.T) {
		modeltest.Provider{Name: "openai", Model: "gpt-fake"}.Independent(t, responses, map[string]string{
			"cut in the middle": "the fake counts events, and cuts before the first text",
		})
	})
}
