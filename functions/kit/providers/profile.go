//go:build bedrock && profile

package providers

import (
	"github.com/reveille-run/reveille/adapters/models/bedrock/profile"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// amazon returns Bedrock in the account of your AWS profile.
func amazon(p agent.ProviderSpec) (model.Model, error) { return profile.Adapter(p) }
