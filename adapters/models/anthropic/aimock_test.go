//go:build clients

package anthropic_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/models/anthropic"
	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

func TestAgainstAnIndependentServer(t *testing.T) {
	m, err := anthropic.New(anthropic.Options{APIKey: modeltest.Key, BaseURL: wiretest.Fake(t, "../../..")})
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Provider{Name: "anthropic", Model: "claude-fake"}.Independent(t, m, nil)
}
