//go:build clients

package bedrock_test

import (
	"testing"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/models/bedrock"
	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

func TestAgainstAnIndependentServer(t *testing.T) {
	variables := map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "an-id", "AWS_SECRET_ACCESS_KEY": modeltest.Key, // the SDK sends a token over https alone
		"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": wiretest.Fake(t, "../../.."),
	}
	m, err := bedrock.New(bedrock.Options{AWS: awsenv.Config{Getenv: func(name string) string { return variables[name] }}})
	if err != nil {
		t.Fatal(err)
	}
	modeltest.Provider{Name: "bedrock", Model: "us.amazon.nova-lite-v1:0"}.Independent(t, m, nil)
}
