package providers_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/adapters/models/openai"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/reveille"
	"github.com/reveille-run/reveille/functions/kit/providers"
	"github.com/reveille-run/reveille/functions/kit/settings"
	"github.com/reveille-run/reveille/functions/kit/wiring"
)

// Bind binds a second model next to the selected one, as package app/models may.
func Bind(e *env.Env, s settings.Settings) (wiring.Bound, error) {
	selected, err := providers.Bind(e, s)
	if err != nil {
		return wiring.Bound{}, err
	}
	small, err := openai.New(openai.Options{Dialect: openai.DialectOllama})
	if err != nil {
		return wiring.Bound{}, err
	}
	return wiring.Bound{Adapters: providers.Adapters(), Models: reveille.Models{
		"default": selected,
		"small":   {Model: small, Name: "qwen3:8b", Provider: "ollama"},
	}}, nil
}

// A deployment with two models: the one that REVEILLE_MODEL selects, and a small one.
func Example() {
	s, err := settings.Read([]string{"REVEILLE_MODEL=groq/openai/gpt-oss-20b", "GROQ_API_KEY=k"})
	if err != nil {
		fmt.Println(err)
		return
	}
	bound, err := Bind(env.System(), s)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range slices.Sorted(maps.Keys(bound.Models)) {
		fmt.Println(id, "is", bound.Models[id].Provider, bound.Models[id].Name)
	}
	// Output:
	// default is groq openai/gpt-oss-20b
	// small is ollama qwen3:8b
}
