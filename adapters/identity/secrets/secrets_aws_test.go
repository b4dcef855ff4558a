//go:build aws

package secrets

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/internal/awsapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

// TestSecretsOnTheWire reads what stands in the services, and what it is changed to.
func TestSecretsOnTheWire(t *testing.T) {
	for _, name := range []string{"AWS_ENDPOINT_URL_SECRETS_MANAGER", "AWS_ENDPOINT_URL_SSM"} {
		if os.Getenv(name) == "" {
			t.Skipf("%s is not set: this test needs an endpoint; make test-aws starts one and sets it", name)
		}
	}
	r, err := New(awsenv.Config{Timeout: 30 * time.Second}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	call := func(s *awsapi.Service, operation string, in map[string]any) {
		t.Helper()
		body, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		response, err := s.Target(t.Context(), operation, body)
		exists := bytes.Contains(response.Body, []byte(`ResourceExistsException"`)) // made by a try whose answer was lost: no other test has the name
		if err != nil || response.Status != http.StatusOK && !exists {
			t.Fatalf("%s: status %d, %v: %s", operation, response.Status, err, response.Body)
		}
	}
	prefix := fmt.Sprintf("reveille-%d/", time.Now().UnixNano())
	manager, parameters := r.manager, r.parameters
	call(manager, "secretsmanager.CreateSecret", map[string]any{"Name": prefix + "acme", "SecretString": `{"key":"key-1"}`})
	call(parameters, "AmazonSSM.PutParameter", map[string]any{"Name": "/" + prefix + "key", "Type": "SecureString", "Value": "key-3", "Overwrite": true})

	ctx := core.WithIdentity(t.Context(), core.Identity{Tenant: "acme"})
	w := &world{reader: r}
	s := w.source(t, prefix+"{tenant}#key")
	want(t, ctx, s, "", "key-1")
	call(manager, "secretsmanager.PutSecretValue", map[string]any{"SecretId": prefix + "acme", "SecretString": `{"key":"key-2"}`})
	want(t, ctx, s, "", "key-1")
	want(t, ctx, s, "key-1", "key-2")
	p := w.source(t, "ssm:/"+prefix+"key")
	want(t, ctx, p, "", "key-3")
	call(parameters, "AmazonSSM.PutParameter", map[string]any{"Name": "/" + prefix + "key", "Type": "SecureString", "Value": "key-4", "Overwrite": true})
	want(t, ctx, p, "key-3", "key-4")

	for _, missing := range []string{prefix + "nobody", "ssm:/" + prefix + "nobody"} {
		if _, err := w.source(t, missing)(ctx, secret.String{}); core.CodeOf(err) != core.CodeInternal {
			t.Errorf("%s: %v, want code internal", missing, err)
		}
	}
}
