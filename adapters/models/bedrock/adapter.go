package bedrock

import (
	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// Adapter makes the client of a provider that is data: a value of agent.Parts.Adapters.
// It uses the AWS account of the environment, as in a Lambda function; package profile
// has an Adapter for laptops. The provider has no options, no key and no address.
func Adapter(p agent.ProviderSpec) (model.Model, error) { return Options{}.Adapter(p) }

// Adapter is [Adapter] with these options.
func (o Options) Adapter(p agent.ProviderSpec) (model.Model, error) {
	if err := wire.DecodeOptions(p.Options, &struct{}{}); err != nil {
		return nil, err
	}
	if !p.APIKey.IsZero() || p.Key != nil || p.BaseURL != "" {
		return nil, core.Errorf(core.CodeInvalid, "bedrock: a provider has no api_key and no base_url: set AWS_BEARER_TOKEN_BEDROCK and AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
	}
	return New(o)
}
