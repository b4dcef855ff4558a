package spectext_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/agent/internal/spectext"
	"github.com/reveille-run/reveille/core/secret"
)

func TestModelsPoolsAndProvidersAreDecodedStrictly(t *testing.T) {
	modelSpec := func(text string) (any, error) { return spectext.DecodeModel([]byte(text)) }
	pool := func(text string) (any, error) { return spectext.DecodePool([]byte(text)) }
	provider := func(text string) (any, error) { return spectext.DecodeProvider([]byte(text)) }
	tests := []struct {
		name   string
		decode func(string) (any, error)
		text   string
		want   any // a value, or the error's text
	}{
		{"a model", modelSpec, `{"id":"m","provider":"p","upstream_model":"u","context_window":10,"max_output_tokens":10}`,
			agent.ModelSpec{ID: "m", Provider: "p", UpstreamModel: "u", ContextWindow: 10, MaxOutputTokens: 10}},
		{"a model's unknown field", modelSpec, `{"id":"m","provider":"p","upstream":"u"}`, `model spec: unknown field "upstream", allowed are id, provider, upstream_model, context_window, max_output_tokens`},
		{"a model without id", modelSpec, `{"provider":"p","upstream_model":"u"}`, `model id is empty`},
		{"a model without provider", modelSpec, `{"id":"m","upstream_model":"u"}`, `model "m": provider is empty`},
		{"a model with a negative window", modelSpec, `{"id":"m","provider":"p","upstream_model":"u","context_window":-1}`, `model "m": context_window is -1, want 0 (not known) or more`},
		{"a model with negative output", modelSpec, `{"id":"m","provider":"p","upstream_model":"u","max_output_tokens":-1}`, `model "m": max_output_tokens is -1, want 0 (not known) or more`},
		{"a model with more output than window", modelSpec, `{"id":"m","provider":"p","upstream_model":"u","context_window":10,"max_output_tokens":11}`, `model "m": max_output_tokens is 11, more than the 10 of context_window`},
		{"a pool", pool, `{"id":"p","members":[{"model":"a","weight":3},{"model":"b","role":"failover_only"}],"routing":"first_healthy","sticky_scope":"run","switch":{"on_quota":false,"max_switches":2}}`,
			agent.ModelPoolSpec{ID: "p", Members: []agent.PoolMember{{Model: "a", Weight: 3}, {Model: "b", Role: agent.RoleFailoverOnly}}, Routing: agent.RouteFirstHealthy, StickyScope: agent.StickyRun,
				Switch: agent.PoolSwitch{OnQuota: new(false), MaxSwitches: 2}}},
		{"a pool without id", pool, `{"members":[{"model":"a"}]}`, `pool id is empty`},
		{"a provider's bad id", provider, `{"id":"p/1","adapter":"a"}`, `provider id "p/1" has the character '/', allowed are A-Z a-z 0-9 . _ : -`},
		{"a pool without members", pool, `{"id":"p"}`, `pool "p": members has none of role "member"`},
		{"a pool that never returns", pool, `{"id":"p","members":[{"model":"a"}],"return_after_ms":-1}`, `pool "p": return_after_ms is -1, allowed are 0 (5 minutes) to 86400000`},
		{"a pool that returns in more than a day", pool, `{"id":"p","members":[{"model":"a"}],"return_after_ms":86400001}`, `pool "p": return_after_ms is 86400001, allowed are 0 (5 minutes) to 86400000`},
		{"a pool for failover alone", pool, `{"id":"p","members":[{"model":"a","role":"failover_only"}]}`, `pool "p": members has none of role "member"`},
		{"a pool's unknown field", pool, `{"id":"p","members":[{"model":"a","wieght":1}]}`, `pool spec: unknown field "wieght" in members[0], did you mean "weight"?`},
		{"a member twice", pool, `{"id":"p","members":[{"model":"a"},{"model":"a"}]}`, `pool "p": members[1].model is "a", which is a member already`},
		{"a member without a model", pool, `{"id":"p","members":[{}]}`, `pool "p": members[0].model is empty`},
		{"no such role", pool, `{"id":"p","members":[{"model":"a","role":"spare"}]}`, `pool "p": members[0].role is "spare", allowed are "member" and "failover_only"`},
		{"too heavy a member", pool, `{"id":"p","members":[{"model":"a","weight":1001}]}`, `pool "p": members[0].weight is 1001, allowed are 1 to 1000`},
		{"a spare member with a weight", pool, `{"id":"p","members":[{"model":"a"},{"model":"b","role":"failover_only","weight":1}]}`, `pool "p": members[1].weight is 1, a member of role "failover_only" has none`},
		{"no such routing", pool, `{"id":"p","members":[{"model":"a"}],"routing":"round_robin"}`, `pool "p": routing is "round_robin", allowed are "deterministic" and "first_healthy"`},
		{"no such scope", pool, `{"id":"p","members":[{"model":"a"}],"sticky_scope":"user"}`, `pool "p": sticky_scope is "user", allowed are "thread" and "run"`},
		{"negative switches", pool, `{"id":"p","members":[{"model":"a"}],"switch":{"max_switches":-1}}`, `pool "p": switch.max_switches is -1, want 0 (no limit) or more`},
		{"a negative threshold", pool, `{"id":"p","members":[{"model":"a"}],"switch":{"quota_retry_after_threshold_ms":-1}}`, `pool "p": switch.quota_retry_after_threshold_ms is -1, want 0 (any wait) or more`},
		{"a provider", provider, `{"id":"p","adapter":"openai","base_url":"https://x.example/v1","api_key":"sk","api_key_env":"KEY","timeout_ms":900000,"options":{"a": 1}}`,
			agent.ProviderSpec{ID: "p", Adapter: "openai", BaseURL: "https://x.example/v1", APIKey: secret.New("sk"), APIKeyEnv: "KEY", TimeoutMS: 900000, Options: json.RawMessage(`{"a":1}`)}},
		{"a provider without adapter", provider, `{"id":"p"}`, `provider "p": adapter is empty`},
		{"a key that was read back", provider, `{"id":"p","adapter":"a","api_key":"***"}`, `provider spec: api_key: *** replaces a redacted secret and is not one`},
		{"a key that is a number", provider, `{"id":"p","adapter":"a","api_key":123456}`, `provider spec: api_key: a secret is a string`},
		{"too long a call", provider, `{"id":"p","adapter":"a","timeout_ms":900001}`, `provider "p": timeout_ms is 900001, allowed are 0 (no limit but the adapter's) to 900000`},
		{"options that are a list", provider, `{"id":"p","adapter":"a","options":[]}`, `provider "p": options is [], want an object`},
		{"options that are null", provider, `{"id":"p","adapter":"a","options":null}`, `provider "p": options is null, want an object`},
		{"an address without a scheme", provider, `{"id":"p","adapter":"a","base_url":"x.example"}`, `provider "p": base_url is "x.example", want http:// or https://, a host and a path`},
		{"an address with a query", provider, `{"id":"p","adapter":"a","base_url":"https://x.example?a=b"}`, `provider "p": base_url is "https://x.example?a=b", want http:// or https://, a host and a path`},
		{"an address with a password", provider, `{"id":"p","adapter":"a","base_url":"https://me:hunter2@x.example"}`, `provider "p": base_url holds a user, want http:// or https://, a host and a path`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.decode(test.text)
			if want, wrong := test.want.(string); wrong {
				if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
					t.Error(diff)
				}
				if core.CodeOf(err) != core.CodeInvalid {
					t.Errorf("code %q", core.CodeOf(err))
				}
				return
			}
			if diff := cmp.Diff(test.want, got); err != nil || diff != "" {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}
