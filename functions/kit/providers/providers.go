package providers

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Bind returns the model of the settings. The error names the variable that is missing or
// wrong, and the allowed values.
func Bind(e *env.Env, s settings.Settings) (agent.ModelBinding, error) {
	p, name, err := choose(s)
	if err != nil {
		return agent.ModelBinding{}, err
	}
	binding := agent.ModelBinding{Name: name, Provider: p.ID}
	data, err := connect(s, p)
	switch {
	case err != nil:
		return agent.ModelBinding{}, err
	case p.ID == "scripted":
		binding.Model = scripted.New(e)
	default:
		if binding.Model, err = Adapters()[p.ID](data); err != nil {
			return agent.ModelBinding{}, fmt.Errorf("model %s/%s%s: %w", p.ID, name, by(s, p), err)
		}
	}
	if p.ID == "openai" && data.BaseURL != "" { // the models of another provider
		binding.Provider = "openai-compatible"
	}
	return binding, nil
}

// by names the variable that has the address of the provider, if there is one.
func by(s settings.Settings, p settings.Provider) string {
	switch {
	case s.ModelBaseURL != "":
		return " at the address in REVEILLE_MODEL_BASE_URL"
	case p.BaseURL != "":
		return " at the address in " + p.URLVariable
	}
	return ""
}

// choose returns the provider, and the provider's name of the model.
func choose(s settings.Settings) (p settings.Provider, name string, err error) {
	id, name, qualified := strings.Cut(s.Model, "/")
	p, known := s.Provider(id)
	switch {
	case known && qualified && name != "":
		return p, name, nil
	case known && p.Model != "" && id == "scripted":
		return p, p.Model, nil
	case known:
		return p, "", fmt.Errorf("environment variable REVEILLE_MODEL is %q, which names no model, want %s/NAME%s", core.Excerpt(s.Model), id, example(p))
	}
	var said []settings.Provider
	for _, p := range s.Providers {
		if p.Said() {
			said = append(said, p)
		}
	}
	switch {
	case len(said) == 1 && s.Model != "":
		return said[0], s.Model, nil
	case s.Model != "":
		return p, "", fmt.Errorf("environment variable REVEILLE_MODEL is %q, want PROVIDER/NAME%s; providers are %s", core.Excerpt(s.Model), set(said), ids())
	case s.ModelKeySecret != "" || s.ModelBaseURL != "":
		return p, "", errors.New("environment variables REVEILLE_MODEL_KEY_SECRET and REVEILLE_MODEL_BASE_URL require REVEILLE_MODEL, which is not set, want PROVIDER/NAME; providers are " + ids())
	case len(said) > 1:
		return p, "", fmt.Errorf("environment variable REVEILLE_MODEL is not set, and several providers are configured%s: set it to PROVIDER/NAME%s", set(said), example(said[0]))
	case len(said) == 1 && said[0].Model == "":
		return p, "", fmt.Errorf("environment variable REVEILLE_MODEL is not set, and the provider has no default model%s: set it to %s/NAME", set(said), said[0].ID)
	case len(said) == 1:
		return said[0], said[0].Model, nil
	}
	p, _ = s.Provider("scripted")
	return p, p.Model, nil
}

// example returns an example of REVEILLE_MODEL for a provider with a default model.
func example(p settings.Provider) string {
	if p.Model == "" {
		return ""
	}
	return fmt.Sprintf(" such as %s/%s", p.ID, p.Model)
}

// set lists the variables that are set.
func set(said []settings.Provider) string {
	if len(said) == 0 {
		return "; no provider's key is set"
	}
	var names []string
	for _, p := range said {
		if p.Key.IsZero() {
			names = append(names, p.URLVariable)
			continue
		}
		names = append(names, p.KeyVariable)
	}
	return " (set: " + strings.Join(names, ", ") + ")"
}

// ids lists the providers.
func ids() string {
	var all []string
	for _, p := range settings.Providers() {
		all = append(all, p.ID)
	}
	return strings.Join(all, ", ")
}

// connect returns the key and the address of the provider of the bound model.
func connect(s settings.Settings, p settings.Provider) (agent.ProviderSpec, error) {
	c := agent.ProviderSpec{ID: p.ID, Adapter: p.ID, APIKey: p.Key, BaseURL: p.BaseURL}
	if s.ModelBaseURL != "" {
		if p.BaseURL != "" && p.BaseURL != s.ModelBaseURL {
			return c, fmt.Errorf("environment variables REVEILLE_MODEL_BASE_URL and %s are different addresses of %s, set only one of them", p.URLVariable, p.ID)
		}
		c.BaseURL = s.ModelBaseURL
	}
	if p.KeyVariable == "" && (c.BaseURL != "" || s.ModelKeySecret != "") {
		return c, fmt.Errorf("environment variables REVEILLE_MODEL_KEY_SECRET and REVEILLE_MODEL_BASE_URL do not apply to %s, which has no key and no address: unset them", p.ID)
	}
	switch {
	case s.ModelKeySecret != "" && !p.Key.IsZero():
		return c, fmt.Errorf("environment variables REVEILLE_MODEL_KEY_SECRET and %s are two keys of %s, set only one of them", p.KeyVariable, p.ID)
	case s.ModelKeySecret != "":
		source, err := s.OpenSecret(s.ModelKeySecret)
		if err != nil {
			return c, fmt.Errorf("REVEILLE_MODEL_KEY_SECRET: %w", err)
		}
		c.Key = source
	case p.Resource && c.BaseURL == "":
		return c, fmt.Errorf("environment variable %s is not set: REVEILLE_MODEL names a model of %s, which needs the endpoint of your resource", p.URLVariable, p.ID)
	case p.Key.IsZero() && (p.Resource || !p.Own && c.BaseURL == ""):
		others := slices.DeleteFunc(slices.Clone(s.Providers), func(p settings.Provider) bool { return p.Key.IsZero() })
		hint := ""
		if len(others) > 0 {
			hint = set(others)
		}
		if near := misnamed(s, p.KeyVariable); len(near) > 0 {
			hint = fmt.Sprintf(" (found %s: did you mean this key?)", strings.Join(near, ", "))
		}
		return c, fmt.Errorf("environment variable %s is not set: REVEILLE_MODEL names a model of %s, which needs this key%s", p.KeyVariable, p.ID, hint)
	}
	return c, nil
}

// misnamed returns the variables with names close to that of a key, sorted.
func misnamed(s settings.Settings, key string) (names []string) {
	for name, want := range s.Misnamed {
		if want == key {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
