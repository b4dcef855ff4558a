package awsapi

import (
	"testing"
	"time"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
)

func environment(pairs map[string]string) func(string) string {
	return func(name string) string { return pairs[name] }
}

func TestMissingEnvironmentIsNamed(t *testing.T) {
	for _, missing := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		pairs := map[string]string{"AWS_REGION": "r", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
		delete(pairs, missing)
		_, err := Read(awsenv.Config{Getenv: environment(pairs)}, "DynamoDB", "AWS_ENDPOINT_URL_DYNAMODB")
		if want := "DynamoDB client: environment variable " + missing + " is not set"; err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestSettingsComeFromTheEnvironment(t *testing.T) {
	pairs := map[string]string{"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}
	s, err := Read(awsenv.Config{Getenv: environment(pairs)}, "SQS", "AWS_ENDPOINT_URL_SQS")
	if err != nil {
		t.Fatal(err)
	}
	if s.Region != "eu-central-1" || s.BaseEndpoint != nil || s.HTTPClient.Timeout != 5*time.Second || s.Retryer.MaxAttempts() != 3 {
		t.Errorf("settings %+v", s)
	}
	pairs["AWS_SESSION_TOKEN"] = "t2" // it is read for every call
	credentials, err := s.Credentials.Retrieve(t.Context())
	if err != nil || credentials.AccessKeyID != "k" || credentials.SecretAccessKey != "s" || credentials.SessionToken != "t2" {
		t.Errorf("credentials %+v, %v", credentials, err)
	}
	pairs["AWS_ENDPOINT_URL_SQS"] = "http://127.0.0.1:1"
	if s, err = Read(awsenv.Config{Getenv: environment(pairs)}, "SQS", "AWS_ENDPOINT_URL_SQS"); err != nil || *s.BaseEndpoint != "http://127.0.0.1:1" {
		t.Errorf("endpoint %v, %v", s.BaseEndpoint, err)
	}
}

func TestAnEndpointThatIsNoURLIsNamed(t *testing.T) {
	for _, address := range []string{"127.0.0.1:8000", "localhost:8000", "/dynamodb", "ftp://x", "http://", "http://a b"} {
		pairs := map[string]string{"AWS_REGION": "r", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_ENDPOINT_URL_SQS": address}
		_, err := Read(awsenv.Config{Getenv: environment(pairs)}, "SQS", "AWS_ENDPOINT_URL_SQS")
		if want := "SQS client: environment variable AWS_ENDPOINT_URL_SQS is not an http or https URL"; err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", address, err, want)
		}
	}
}

func TestBackoffIsShort(t *testing.T) {
	limits := []time.Duration{25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond}
	for retried, limit := range limits {
		for range 100 {
			if wait := jitter(retried); wait < 0 || wait >= limit {
				t.Fatalf("jitter(%d) is %s, want under %s", retried, wait, limit)
			}
		}
	}
	if wait := jitter(1_000); wait > time.Second {
		t.Errorf("jitter(1000) is %s, want at most 1 s", wait)
	}
}
