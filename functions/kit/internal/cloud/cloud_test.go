package cloud_test

import (
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
)

// TestOpenNamesWhatTheEnvironmentLacks starts from an environment that is right.
func TestOpenNamesWhatTheEnvironmentLacks(t *testing.T) {
	right := map[string]string{
		"REVEILLE_TABLE": "t", "REVEILLE_CONFIG_TABLE": "c", "REVEILLE_QUEUE_URL": "https://sqs.us-east-1.amazonaws.com/1/q",
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b",
		"AWS_ENDPOINT_URL_DYNAMODB": "", "AWS_ENDPOINT_URL_SQS": "", "AWS_ENDPOINT_URL_S3": "", "REVEILLE_PAYLOAD_BUCKET": "payloads", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
	}
	tests := []struct{ name, variable, value, want string }{
		{name: "nothing", want: "<nil>"},
		{"a table", "REVEILLE_TABLE", "", "environment variables REVEILLE_TABLE, REVEILLE_CONFIG_TABLE and REVEILLE_QUEUE_URL are required"},
		{"the other table", "REVEILLE_CONFIG_TABLE", "", "environment variables REVEILLE_TABLE, REVEILLE_CONFIG_TABLE and REVEILLE_QUEUE_URL are required"},
		{"a queue", "REVEILLE_QUEUE_URL", "", "environment variables REVEILLE_TABLE, REVEILLE_CONFIG_TABLE and REVEILLE_QUEUE_URL are required"},
		{"a queue's URL", "REVEILLE_QUEUE_URL", "q", `environment variable REVEILLE_QUEUE_URL is "q", allowed: an http or https URL without user, query and fragment; meaning: the address of the SQS queue of wake-ups`},
		{"agents of files", "REVEILLE_AGENTS", "agents", "environment variable REVEILLE_AGENTS is set, which only the local host reads: on AWS embed the files and add them in app.Parts, see functions/guides/agents-in-yaml.md"},
		{"a proxy", "REVEILLE_EGRESS_PROXY", "on", "environment variable REVEILLE_EGRESS_PROXY is on, which only the local host allows: functions on AWS use no proxy, unset it"},
		{"the largest body", "REVEILLE_MAX_BODY", "6MB", "<nil>"},
		{"a body larger than an event", "REVEILLE_MAX_BODY", "6291457", "environment variable REVEILLE_MAX_BODY is 6291457 bytes, allowed on AWS: at most 6MB, since Lambda accepts no larger event"},
		{"a region", "AWS_REGION", "", "DynamoDB client: environment variable AWS_REGION is not set"},
		{"a bucket's endpoint", "AWS_ENDPOINT_URL_S3", "localhost:9000", "S3 client: environment variable AWS_ENDPOINT_URL_S3 is not an http or https URL"},
		{"an endpoint's URL", "AWS_ENDPOINT_URL_SQS", "localhost:9324", "SQS client: environment variable AWS_ENDPOINT_URL_SQS is not an http or https URL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range right {
				t.Setenv(name, value)
			}
			if test.variable != "" {
				t.Setenv(test.variable, test.value)
			}
			f, err := cloud.Open()
			if got := fmt.Sprint(err); got != test.want {
				t.Errorf("error %s\nwant  %s", got, test.want)
			}
			if err == nil && f.Settings.CacheSize != 256<<20 {
				t.Errorf("cache of %d bytes, want a quarter of the memory", f.Settings.CacheSize)
			}
		})
	}
}
