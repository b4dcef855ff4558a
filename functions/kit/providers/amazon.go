package providers

import "github.com/reveille-run/reveille/core/model"

// amazon is [Bedrock] in the account that the environment says.
func amazon(c connection) (model.Model, error) {
	if err := c.decode(&struct{}{}); err != nil {
		return nil, err
	}
	return Bedrock()
}
