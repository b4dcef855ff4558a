package profile

import (
	"context"

	"github.com/reveille-run/reveille/adapters/models/bedrock"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// Adapter is bedrock.Adapter in the account that [Load] finds.
func Adapter(p agent.ProviderSpec) (model.Model, error) {
	account, err := Load(context.Background())
	if err != nil {
		return nil, err
	}
	return bedrock.Options{AWS: account}.Adapter(p)
}
