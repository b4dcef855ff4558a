//go:build bedrock && !profile

package providers

import (
	"github.com/reveille-run/reveille/adapters/models/bedrock"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// amazon returns Bedrock in the account of the function, whose environment has the keys of
// its role.
func amazon(p agent.ProviderSpec) (model.Model, error) { return bedrock.Adapter(p) }
