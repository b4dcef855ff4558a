package serve

import (
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
	"github.com/reveille-run/reveille/functions/kit/internal/keys"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// What is told goes where the settings say: to a webhook, to an event bus, to both.
func TestPublisherOfTheSettings(t *testing.T) {
	const hook, key, bus = "REVEILLE_WEBHOOK_URL=https://hooks.example/in", "REVEILLE_WEBHOOK_SECRET=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "REVEILLE_EVENT_BUS=runs"
	tests := []struct {
		name    string
		environ []string
		region  string
		want    string // type of the publisher, or the error
	}{
		{"nowhere", nil, "", "<nil>, <nil>"},
		{"a webhook", []string{hook, key}, "", "*webhook.publisher, <nil>"},
		{"an event bus", []string{bus}, "eu-west-1", "*eventbridge.publisher, <nil>"},
		{"both", []string{hook, key, bus}, "eu-west-1", "announce.several, <nil>"},
		{"no secret", []string{hook}, "", "<nil>, environment variable REVEILLE_WEBHOOK_SECRET: there is no secret"},
		{"a secret by its name", []string{hook, "REVEILLE_WEBHOOK_SECRET_NAME=prod/hooks"}, "eu-west-1", "*webhook.publisher, <nil>"},
		{"no address", []string{"REVEILLE_WEBHOOK_SECRET_NAME=prod/hooks"}, "", "<nil>, environment variable REVEILLE_WEBHOOK_SECRET_NAME is set without REVEILLE_WEBHOOK_URL"},
		{"no name of a secret", []string{hook, "REVEILLE_WEBHOOK_SECRET_NAME=a b"}, "eu-west-1", `<nil>, environment variable REVEILLE_WEBHOOK_SECRET_NAME: secret "a b": want the name or ARN of a secret in Secrets Manager, or ssm: and the name of a parameter; ` +
			"{tenant} in the name selects a secret for each tenant, #FIELD at its end a field of its JSON"},
		{"this machine", []string{"REVEILLE_WEBHOOK_URL=https://127.0.0.1/", key}, "", "<nil>, environment variable REVEILLE_WEBHOOK_URL: webhook: outgoing request refused: host 127.0.0.1 is not public: to allow it, list it in REVEILLE_EGRESS_ALLOW"},
		{"no region", []string{bus}, "", "<nil>, EventBridge client: environment variable AWS_REGION is not set"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("AWS_REGION", tt.region)
			t.Setenv("AWS_ACCESS_KEY_ID", "AKID")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "SECRET")
			s, err := settings.Read(tt.environ)
			if err != nil {
				t.Fatal(err)
			}
			c := &cloud.Function{Env: env.System(), Settings: s}
			var secrets keys.Keys
			to, err := publisher(c, secrets.Settings(c))
			if got := fmt.Sprintf("%T, %v", to, err); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}
