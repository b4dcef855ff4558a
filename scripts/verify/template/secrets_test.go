package template

import (
	"regexp"
	"strings"
	"testing"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/identity/secrets"
)

// TestNoSecretIsInAFunctionsConfiguration: each is named there, and read when it is used.
func TestNoSecretIsInAFunctionsConfiguration(t *testing.T) {
	if strings.Contains(readText(t, "template.yaml"), "{{resolve:") {
		t.Error("a secret is resolved into the template")
	}
}

// TestModelKeysAreNamesThatAreRead: what a parameter lets through the function takes, and
// a name with a colon, which would be an ARN, fails before anything is deployed.
func TestModelKeysAreNamesThatAreRead(t *testing.T) {
	environment := map[string]string{"AWS_REGION": "r", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
	reader, err := secrets.New(awsenv.Config{Getenv: func(name string) string { return environment[name] }}, secrets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of := read(t)
	tests := []struct {
		parameter, value string
		ok               bool
	}{
		{"ModelKeySecret", "", true},
		{"ModelKeySecret", "prod/openai", true},
		{"ModelKeySecret", "prod/{tenant}/openai#key", true},
		{"ModelKeySecret", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:a-AbCdEf", false},
		{"ModelKeySecret", "prod/openai#", false},
		{"ModelKeySecret", "a b", false},
		{"WebhookSecret", "prod/hooks#key", true},
		{"WebhookSecret", "prod/{tenant}/hooks", false}, // of no tenant
		{"WebhookSecret", "arn:aws:secretsmanager:eu-west-1:123456789012:secret:a-AbCdEf", false},
		{"TriggerWebhookSecret", "prod/hooks", true},
		{"TriggerWebhookSecret", "prod/{tenant}/hooks", false},
		{"ModelKeyParameter", "", true},
		{"ModelKeyParameter", "/prod/openai", true},
		{"ModelKeyParameter", "/prod/{tenant}/openai", true},
		{"ModelKeyParameter", "prod/openai", false},
	}
	for _, tt := range tests {
		form := regexp.MustCompile("^(" + of.Parameters[tt.parameter].AllowedPattern + ")$")
		if got := form.MatchString(tt.value); got != tt.ok {
			t.Errorf("%s %q: %v, want %v", tt.parameter, tt.value, got, tt.ok)
		}
		prefix := map[string]string{"ModelKeyParameter": "ssm:"}[tt.parameter]
		if _, err := reader.Source(prefix + tt.value); tt.ok && tt.value != "" && err != nil {
			t.Errorf("%s %q: %v", tt.parameter, tt.value, err)
		}
	}
}
