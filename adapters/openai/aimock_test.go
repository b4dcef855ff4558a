//go:build clients

package openai_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/modelwire/wiretest"
	"github.com/reveille-run/reveille/adapters/openai"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

func TestAgainstAnIndependentServer(t *testing.T) {
	m, err := openai.New(openai.Options{APIKey: modeltest.Key, BaseURL: wiretest.Fake(t, "../..") + "/v1"})
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Independent(t, modeltest.Provider{Name: "openai", Model: "gpt-fake"}, m, nil)
}
