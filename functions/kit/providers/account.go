//go:build bedrock && !profile

package providers

import awsenv "github.com/reveille-run/reveille/adapters/aws/env"

// account is that of the function: its role's keys are in its environment.
func account() (awsenv.Config, error) { return awsenv.Config{}, nil }
