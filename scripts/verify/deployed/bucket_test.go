//go:build aws

package deployed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/s3"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// service calls one of AWS as whoever deploys does; it ends the test when a call fails.
type service struct {
	testing.TB
	name, endpoint string // in signatures, and where it is
}

func serviceOf(t testing.TB, name, endpoint string) service {
	t.Helper()
	if os.Getenv(endpoint) == "" {
		t.Skipf("%s is not set: this test needs an endpoint; make test-aws starts one and sets it", endpoint)
	}
	return service{t, name, strings.TrimSuffix(os.Getenv(endpoint), "/")}
}

// try signs a request and returns what came back. target is the operation of a service that
// takes them as JSON.
func (s service) try(ctx context.Context, method, path, target string, body []byte) (status int, text string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, s.endpoint+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if target != "" {
		request.Header.Set("Content-Type", "application/x-amz-json-1.1")
		request.Header.Set("X-Amz-Target", target)
	}
	sum := sha256.Sum256(body)
	hash := hex.EncodeToString(sum[:])
	request.Header.Set("X-Amz-Content-Sha256", hash)
	credentials := aws.Credentials{
		AccessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), SecretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY"), SessionToken: os.Getenv("AWS_SESSION_TOKEN"),
	}
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hash, s.name, os.Getenv("AWS_REGION"), time.Now()); err != nil {
		return 0, "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

// must is try that ends the test unless the call succeeds.
func (s service) must(ctx context.Context, method, path, target string, body []byte) string {
	s.Helper()
	status, text, err := s.try(ctx, method, path, target, body)
	if err != nil || status/100 != 2 {
		s.Fatalf("status %d, %v: %s", status, err, text)
	}
	return text
}

// keys lists what a bucket has.
func (s service) keys(bucket string) int {
	s.Helper()
	return strings.Count(s.must(context.Background(), "GET", "/"+bucket+"?list-type=2", "", nil), "<Key>")
}

// secret sets a secret to a text.
func (s service) secret(operation, name, value string) {
	s.Helper()
	field := map[string]string{"CreateSecret": "Name", "PutSecretValue": "SecretId"}[operation]
	body, err := json.Marshal(map[string]string{field: name, "SecretString": value})
	if err != nil {
		s.Fatal(err)
	}
	s.must(context.Background(), "POST", "/", "secretsmanager."+operation, body)
}

// large is a text of 80 KB that hardly compresses.
func large() string {
	noise := make([]byte, 60<<10)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(noise)
	return base64.StdEncoding.EncodeToString(noise)
}

// provider is OpenAI's wire with one key that it takes, which says one large text.
type provider struct {
	mu   sync.Mutex
	key  string
	keys []string
	text string
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append(p.keys, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if p.keys[len(p.keys)-1] != p.key {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", p.text)
}

// TestABuiltStepHasAKeyAndABucket: its key is a secret that is replaced while it runs, and
// what the model says is an object, until the thread is deleted.
func TestABuiltStepHasAKeyAndABucket(t *testing.T) {
	w := newWorld(t)
	objects, secrets := serviceOf(t, "s3", "AWS_ENDPOINT_URL_S3"), serviceOf(t, "secretsmanager", "AWS_ENDPOINT_URL_SECRETS_MANAGER")
	bucket := w.table
	objects.must(t.Context(), "PUT", "/"+bucket, "", nil)
	secrets.secret("CreateSecret", bucket+"/"+tenant, "key-1")
	p := &provider{key: "key-1", text: large()}
	server := httptest.NewServer(p)
	defer server.Close()

	variables := []string{"REVEILLE_PAYLOAD_BUCKET=" + bucket, "REVEILLE_MODEL=openai/gpt-5-mini", "REVEILLE_MODEL_KEY_SECRET=" + bucket + "/{tenant}", "REVEILLE_MODEL_BASE_URL=" + server.URL, "REVEILLE_EGRESS_ALLOW=127.0.0.1"}
	for _, name := range []string{"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL_SECRETS_MANAGER"} {
		variables = append(variables, name+"="+os.Getenv(name))
	}
	w.run(t, w.function("step", build(t, "functions/step", ""), 30*time.Second, variables...))
	tables, _ := clients(t)
	payloads, err := s3.New(awsenv.Config{Timeout: time.Minute}, bucket)
	if err != nil {
		t.Fatal(err)
	}
	w.store = dynamo.New(tables, dynamo.Options{Table: w.table, ConfigTable: w.config, Objects: payloads})

	w.submit(t, "t1", "hello")
	w.finish(t, "t1")
	p.mu.Lock()
	p.key = "key-2"
	p.mu.Unlock()
	secrets.secret("PutSecretValue", bucket+"/"+tenant, "key-2")
	w.submit(t, "t1", "again")
	w.finish(t, "t1")
	want := []string{"user: hello", "assistant: " + p.text, "user: again", "assistant: " + p.text}
	if diff := cmp.Diff(want, w.messages(t, "t1")); diff != "" {
		t.Errorf("messages (-want +got):\n%.2000s", diff)
	}
	if diff := cmp.Diff([]string{"key-1", "key-1", "key-2"}, p.keys); diff != "" {
		t.Errorf("keys that were sent (-want +got):\n%s", diff)
	}
	if n := objects.keys(bucket); n < 1 {
		t.Errorf("%d objects", n)
	}

	if err := w.box.Delete(t.Context(), key("t1"), ""); err != nil {
		t.Fatal(err)
	}
	poller := host.Poller{Host: w.host, Queue: transport{w.queue}, Function: "step", Wait: time.Second}
	for i := 0; objects.keys(bucket) > 0; i++ {
		if i == 30 {
			t.Fatal("objects of a deleted thread are left")
		}
		if _, err := poller.Poll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	objects.must(context.Background(), "DELETE", "/"+bucket, "", nil)
}
