//go:build aws

package deployed

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/s3"
	"github.com/reveille-run/reveille/scripts/verify/lambdahost/host"
)

// service calls one of AWS as whoever deploys does; it ends the test when a call fails.
type service struct {
	testing.TB
	*awsenv.Service
}

func serviceOf(t testing.TB, signing, endpoint string) service {
	t.Helper()
	if os.Getenv(endpoint) == "" {
		t.Skipf("%s is not set: this test needs an endpoint; make test-aws starts one and sets it", endpoint)
	}
	s, err := awsenv.Config{Timeout: time.Minute}.Service(awsenv.ServiceOptions{Title: signing, Signing: signing, Endpoint: endpoint})
	if err != nil {
		t.Fatal(err)
	}
	return service{t, s}
}

func (s service) must(response awsenv.Response, err error) string {
	s.Helper()
	if err != nil || response.Status/100 != 2 {
		s.Fatalf("status %d, %v: %s", response.Status, err, response.Body)
	}
	return string(response.Body)
}

// keys lists what a bucket has.
func (s service) keys(bucket string) int {
	s.Helper()
	return strings.Count(s.must(s.Send(context.Background(), awsenv.Call{Method: "GET", Path: "/" + bucket, Query: url.Values{"list-type": {"2"}}})), "<Key>")
}

// secret sets a secret to a text.
func (s service) secret(operation, name, value string) {
	s.Helper()
	field := map[string]string{"CreateSecret": "Name", "PutSecretValue": "SecretId"}[operation]
	body, err := json.Marshal(map[string]string{field: name, "SecretString": value})
	if err != nil {
		s.Fatal(err)
	}
	s.must(s.Target(context.Background(), "secretsmanager."+operation, body))
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
	objects.must(objects.Send(t.Context(), awsenv.Call{Method: "PUT", Path: "/" + bucket}))
	secrets.secret("CreateSecret", bucket+"/"+tenant, "key-1")
	p := &provider{key: "key-1", text: large()}
	server := httptest.NewServer(p)
	defer server.Close()

	variables := []string{"REVEILLE_PAYLOAD_BUCKET=" + bucket, "REVEILLE_MODEL=openai/gpt-5-mini", "REVEILLE_MODEL_KEY_SECRET=" + bucket + "/{tenant}", "REVEILLE_MODEL_BASE_URL=" + server.URL}
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
	objects.must(objects.Send(context.Background(), awsenv.Call{Method: "DELETE", Path: "/" + bucket}))
}
