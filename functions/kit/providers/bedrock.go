//go:build bedrock && !profile

package providers

import (
	"github.com/reveille-run/reveille/adapters/models/bedrock"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// amazon is Bedrock in the account of the function: its role's keys are in its environment.
func amazon(p agent.ProviderSpec) (model.Model, error) { return bedrock.Adapter(p) }
