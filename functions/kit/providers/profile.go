//go:build bedrock && profile

package providers

import (
	"context"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/models/bedrock/profile"
)

// account is that of the person at the laptop.
func account() (awsenv.Config, error) { return profile.Load(context.Background()) }
