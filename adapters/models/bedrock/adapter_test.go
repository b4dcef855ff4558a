package bedrock

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/secret"
)

func TestAProviderThatIsData(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-north-1")
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "k")
	const no = "bedrock: a provider has no api_key and no base_url: set AWS_BEARER_TOKEN_BEDROCK and AWS_ENDPOINT_URL_BEDROCK_RUNTIME"
	tests := []struct {
		name string
		spec agent.ProviderSpec
		want string
	}{
		{"nothing", agent.ProviderSpec{Options: json.RawMessage("{}")}, "<nil>"},
		{"an option", agent.ProviderSpec{Options: json.RawMessage(`{"region":"x"}`)}, `unknown field "region" in options, none is allowed`},
		{"a key", agent.ProviderSpec{APIKey: secret.New("k")}, no},
		{"a source of keys", agent.ProviderSpec{Key: func(context.Context, secret.String) (secret.String, error) { return secret.String{}, nil }}, no},
		{"an address", agent.ProviderSpec{BaseURL: "https://x.example"}, no},
	}
	for _, test := range tests {
		m, err := Adapter(test.spec)
		if fmt.Sprint(err) != test.want || (err == nil) != (m != nil) || err != nil && core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%s: %v, %v with code %s; want %s", test.name, m, err, core.CodeOf(err), test.want)
		}
	}
}
