package models_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/secret"
	"github.com/reveille-run/reveille/functions/app/models"
	"github.com/reveille-run/reveille/functions/settings"
)

func TestBindTakesTheProviderThatTheEnvironmentNames(t *testing.T) {
	const invalid = "model provider of OPENAI_API_KEY and OPENAI_BASE_URL: openai: "
	tests := []struct {
		name          string
		key, url      string
		secret        string
		model, failed string
	}{
		{name: "nothing", model: "*scripted.Model scripted"},
		{name: "a key", key: "sk-secret", model: "*openai.Model m"},
		{name: "an address without a key, as local servers have it", url: "http://127.0.0.1:11434/v1", model: "*openai.Model m"},
		{name: "both", key: "sk-secret", url: "https://models.example/v1", model: "*openai.Model m"},
		{name: "a secret", secret: "prod/key", model: "*openai.Model m"},
		{name: "a secret that cannot be opened", secret: "a b", failed: "OPENAI_API_KEY_SECRET: no secret a b"},
		{name: "a key and a secret", key: "sk-secret", secret: "prod/key", failed: invalid + "there is an API key and a source of one, give one of them"},
		{name: "an address that is none", key: "sk-secret", url: "ftp://x", failed: invalid + `base URL "ftp://x" is not an absolute http or https URL`},
		{name: "a key with a line end", key: "sk-secret\n", failed: invalid + "API key has a space, a line end or another character that a header cannot carry"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bound, err := models.Bind(env.System(), settings.Settings{
				OpenAIKey: test.key, OpenAIKeySecret: test.secret, OpenAIBaseURL: test.url, Model: "m",
				Secret: func(name string) (secret.Source, error) {
					if name != "prod/key" {
						return nil, fmt.Errorf("no secret %s", name)
					}
					return func(context.Context, secret.String) (secret.String, error) { return secret.New("k"), nil }, nil
				},
			})
			var model, failed string
			if b, ok := bound["default"]; ok {
				model = fmt.Sprintf("%T %s", b.Model, b.Name)
			}
			if err != nil {
				failed = err.Error()
			}
			if diff := cmp.Diff([]string{test.model, test.failed}, []string{model, failed}); diff != "" {
				t.Errorf("model and error (-want +got):\n%s", diff)
			}
		})
	}
}
