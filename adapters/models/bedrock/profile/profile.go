package profile

import (
	"context"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/core"
)

// patience is how long credentials may take.
const patience = 2 * time.Second

// Load reads the shared files and the environment, and asks for credentials once, so that
// a mistake is reported at start, within two seconds: Load does not try the metadata of
// an instance, which a laptop lacks. If AWS_BEARER_TOKEN_BEDROCK is set, Load asks for no
// other credentials. The error lists the variables to set.
func Load(ctx context.Context) (awsenv.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	found, err := config.LoadDefaultConfig(ctx, config.WithEC2IMDSClientEnableState(imds.ClientDisabled))
	if err != nil {
		return awsenv.Config{}, core.Errorf(core.CodeInvalid, "AWS configuration: %w", err)
	}
	if found.Region == "" {
		return awsenv.Config{}, core.Errorf(core.CodeInvalid, "AWS has no region: set AWS_REGION, or region in the profile")
	}
	account := awsenv.Config{Region: found.Region, Credentials: found.Credentials}
	if os.Getenv("AWS_BEARER_TOKEN_BEDROCK") != "" {
		return account, nil
	}
	if _, err := found.Credentials.Retrieve(ctx); err != nil {
		return awsenv.Config{}, core.Errorf(core.CodeInvalid, "AWS has no credentials: name a profile in AWS_PROFILE (for SSO, run `aws sso login` first), or set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: %w", err)
	}
	return account, nil
}
