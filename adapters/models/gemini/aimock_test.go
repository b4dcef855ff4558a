//go:build clients

package gemini_test

import (
	"testing"

	"github.com/reveille-run/reveille/adapters/models/gemini"
	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

func TestAgainstAnIndependentServer(t *testing.T) {
	m, err := gemini.New(gemini.Options{APIKey: modeltest.Key, BaseURL: wiretest.Fake(t, "../../..") + "/v1beta"})
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Provider{Name: "gemini", Model: "gemini-3-flash-preview"}.Independent(t, m, nil)
}
