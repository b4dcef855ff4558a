package profile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// laptop is an environment with these files and variables and no others of AWS.
func laptop(t *testing.T, configuration, credentials string, variables ...string) {
	t.Helper()
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "") // so that it is put back
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"config": configuration, "credentials": credentials} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(folder, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(folder, "credentials"))
	for i := 0; i < len(variables); i += 2 {
		t.Setenv(variables[i], variables[i+1])
	}
}

func TestAccountsAreFound(t *testing.T) {
	const work = "[profile work]\nregion = eu-west-1\naws_access_key_id = AKIDWORK\naws_secret_access_key = s\n"
	tests := []struct {
		name          string
		configuration string
		variables     []string
		region, key   string
	}{
		{"a profile", work, []string{"AWS_PROFILE", "work"}, "eu-west-1", "AKIDWORK"},
		{"a region of one's own", work, []string{"AWS_PROFILE", "work", "AWS_REGION", "us-west-2"}, "us-west-2", "AKIDWORK"},
		{"keys", "", []string{"AWS_REGION", "us-east-1", "AWS_ACCESS_KEY_ID", "AKIDENV", "AWS_SECRET_ACCESS_KEY", "s"}, "us-east-1", "AKIDENV"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			laptop(t, test.configuration, "", test.variables...)
			account, err := Load(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			credentials, err := account.Credentials.Retrieve(t.Context())
			if err != nil || account.Region != test.region || credentials.AccessKeyID != test.key {
				t.Errorf("region %s, key %s, %v", account.Region, credentials.AccessKeyID, err)
			}
		})
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	tests := []struct {
		name      string
		variables []string
		want      string
	}{
		{"no credentials", []string{"AWS_REGION", "us-east-1"}, "AWS has no credentials: name a profile in AWS_PROFILE (for SSO, run `aws sso login` first), or set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: "},
		{"no region", []string{"AWS_ACCESS_KEY_ID", "k", "AWS_SECRET_ACCESS_KEY", "s"}, "AWS has no region: set AWS_REGION, or region in the profile"},
		{"no such profile", []string{"AWS_PROFILE", "nobody", "AWS_REGION", "us-east-1"}, "AWS configuration: failed to get shared config profile, nobody"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			laptop(t, "", "", test.variables...)
			_, err := Load(t.Context())
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

func TestATokenNeedsNoCredentials(t *testing.T) {
	laptop(t, "", "", "AWS_REGION", "us-east-1", "AWS_BEARER_TOKEN_BEDROCK", "t")
	if account, err := Load(t.Context()); err != nil || account.Region != "us-east-1" {
		t.Errorf("region %s, %v", account.Region, err)
	}
}
