package models_test

import (
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/app/models"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

func TestBindTakesTheModelThatTheEnvironmentNames(t *testing.T) {
	for model, want := range map[string]string{"": "*scripted.rules scripted scripted", "anthropic/claude-haiku-5-5": "*anthropic.provider claude-haiku-5-5 anthropic"} {
		s, err := settings.Read([]string{"REVEILLE_MODEL=" + model, "REVEILLE_MODEL_BASE_URL=" + map[bool]string{true: "http://127.0.0.1:1"}[model != ""]})
		if err != nil {
			t.Fatal(err)
		}
		bound, err := models.Bind(env.System(), s)
		if err != nil {
			t.Fatal(err)
		}
		b := bound.Models["default"]
		if got := fmt.Sprintf("%T %s %s", b.Model, b.Name, b.Provider); got != want {
			t.Errorf("%q: %s, want %s", model, got, want)
		}
		if bound.Adapters["gemini"] == nil {
			t.Error("providers that are data have no adapters")
		}
	}
}

func TestBindRefuses(t *testing.T) {
	bound, err := models.Bind(env.System(), settings.Settings{Model: "nobody/x"})
	const want = `environment variable REVEILLE_MODEL is "nobody/x", want PROVIDER/NAME; no provider's key is set; ` +
		"providers are openai, openai-responses, anthropic, gemini, vertex, bedrock, azure, azure-responses, groq, openrouter, deepseek, zai, xai, mistral, llamacpp, ollama, vllm, scripted"
	if fmt.Sprint(err) != want || len(bound.Models) > 0 {
		t.Errorf("%v, %v", bound, err)
	}
}
