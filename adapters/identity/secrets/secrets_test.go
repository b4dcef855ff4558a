package secrets

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

// service is both services: it says what is in values, or responds with status.
type service struct {
	mu     sync.Mutex
	values map[string]string
	status int
	kind   string
	asked  []string
	wait   time.Duration
}

func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	time.Sleep(s.wait)
	return w.Result(), nil
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in struct {
		SecretId, Name string
		WithDecryption bool
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &in)
	s.asked = append(s.asked, r.Header.Get("X-Amz-Target")+" "+in.SecretId+in.Name)
	if s.status != 0 {
		w.WriteHeader(s.status)
		_, _ = fmt.Fprintf(w, `{"__type":"com.amazonaws.x#%s","message":"value of key-1"}`, s.kind)
		return
	}
	if in.Name != "" && in.WithDecryption {
		_ = json.NewEncoder(w).Encode(map[string]any{"Parameter": map[string]string{"Value": s.values[in.Name]}})
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]string{"SecretString": s.values[in.SecretId]})
}

// world is a reader of a service, with a clock and a log of its own.
type world struct {
	*service
	reader *Reader
	now    time.Time
	log    bytes.Buffer
}

func newWorld(t *testing.T, values map[string]string) *world {
	t.Helper()
	w := &world{service: &service{values: values}, now: time.Unix(1_000_000, 0)}
	environment := map[string]string{"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s"}
	c := awsenv.Config{Getenv: func(name string) string { return environment[name] }, Transport: w.service, MaxAttempts: 1}
	var err error
	w.reader, err = New(c, Options{Now: func() time.Time { return w.now }, Logger: slog.New(slog.NewTextHandler(&w.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) source(t *testing.T, name string) secret.Source {
	t.Helper()
	s, err := w.reader.Source(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// want asks the source.
func want(t *testing.T, ctx context.Context, s secret.Source, refused, value string) {
	t.Helper()
	got, err := s(ctx, secret.New(refused))
	if err != nil || got.Reveal() != value {
		t.Fatalf("secret is %q, %v, want %q", got.Reveal(), err, value)
	}
}

func TestASecretIsReadAgainWhenItIsFiveMinutesOld(t *testing.T) {
	w := newWorld(t, map[string]string{"prod/key": "key-1"})
	s, ctx := w.source(t, "prod/key"), t.Context()
	if len(w.asked) != 0 {
		t.Error("it was read before it was used")
	}
	want(t, ctx, s, "", "key-1")
	w.values["prod/key"] = "key-2"
	w.now = w.now.Add(5*time.Minute - 1)
	want(t, ctx, s, "", "key-1")
	w.now = w.now.Add(1)
	want(t, ctx, s, "", "key-2")
	if diff := cmp.Diff([]string{"secretsmanager.GetSecretValue prod/key", "secretsmanager.GetSecretValue prod/key"}, w.asked); diff != "" {
		t.Error(diff)
	}
}

// TestARefusedSecretIsReadAtOnce, but not over and over.
func TestARefusedSecretIsReadAtOnce(t *testing.T) {
	w := newWorld(t, map[string]string{"k": "key-1"})
	s, ctx := w.source(t, "k"), t.Context()
	want(t, ctx, s, "", "key-1")
	want(t, ctx, s, "key-1", "key-1") // there is no other yet
	w.values["k"] = "key-2"
	w.now = w.now.Add(pause - 1)
	want(t, ctx, s, "key-1", "key-1")
	w.now = w.now.Add(1)
	want(t, ctx, s, "key-1", "key-2")
	want(t, ctx, s, "key-1", "key-2") // another that was refused with the old one
	if len(w.asked) != 3 {
		t.Errorf("it was read %d times, want 3", len(w.asked))
	}
}

// TestTheLastGoodValueStays while the service refuses, and is tried for again.
func TestTheLastGoodValueStays(t *testing.T) {
	w := newWorld(t, map[string]string{"k": "key-1"})
	s, ctx := w.source(t, "k"), t.Context()
	want(t, ctx, s, "", "key-1")
	w.status, w.kind = 500, "InternalServiceError"
	w.now = w.now.Add(maxAge)
	for range 3 {
		want(t, ctx, s, "", "key-1")
	}
	if len(w.asked) != 2 {
		t.Errorf("it was read %d times, want 2", len(w.asked))
	}
	if log := w.log.String(); strings.Count(log, "reading secret failed, using last value") != 1 || !strings.Contains(log, "secret=k age=5m0s") || strings.Contains(log, "key-1") {
		t.Errorf("the log is %s", log)
	}
	w.status, w.values["k"] = 0, "key-2"
	w.now = w.now.Add(pause)
	want(t, ctx, s, "", "key-2")
}

func TestNames(t *testing.T) {
	w := newWorld(t, map[string]string{
		"prod/key": "a", "/prod/key": "b", "keys/acme": "c", "keys/eu/1": "d", "json": `{"key":"e","n":1}`,
		"arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/key-AbCdEf": "f",
		"arn:aws:ssm:eu-west-1:123456789012:parameter/prod/key":                "g",
	})
	tests := []struct{ name, tenant, want, asked string }{
		{"prod/key", "", "a", "secretsmanager.GetSecretValue prod/key"},
		{"ssm:/prod/key", "", "b", "AmazonSSM.GetParameter /prod/key"},
		{"keys/{tenant}", "acme", "c", "secretsmanager.GetSecretValue keys/acme"},
		{"keys/{tenant}", "eu:1", "d", "secretsmanager.GetSecretValue keys/eu/1"},
		{"json#key", "", "e", "secretsmanager.GetSecretValue json"},
		{"arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/key-AbCdEf", "", "f", "secretsmanager.GetSecretValue arn:aws:secretsmanager:eu-west-1:123456789012:secret:prod/key-AbCdEf"},
		{"arn:aws:ssm:eu-west-1:123456789012:parameter/prod/key", "", "g", "AmazonSSM.GetParameter arn:aws:ssm:eu-west-1:123456789012:parameter/prod/key"},
	}
	for _, tt := range tests {
		ctx := t.Context()
		if tt.tenant != "" {
			ctx = core.WithIdentity(ctx, core.Identity{Tenant: tt.tenant})
		}
		want(t, ctx, w.source(t, tt.name), "", tt.want)
		if got := w.asked[len(w.asked)-1]; got != tt.asked {
			t.Errorf("%s: asked for %s, want %s", tt.name, got, tt.asked)
		}
	}
	for _, bad := range []string{"", "a b", "ssm:", "a#", "{user}", "a\n"} {
		if _, err := w.reader.Source(bad); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestWhatKeepsASecretFromBeingRead is named without quoting what came.
func TestWhatKeepsASecretFromBeingRead(t *testing.T) {
	tests := []struct {
		name, secret string
		status       int
		kind         string
		code         core.Code
		want         string
	}{
		{"missing", "k", 400, "ResourceNotFoundException", core.CodeInternal, "read secret k: status 400 ResourceNotFoundException"},
		{"denied", "ssm:/k", 400, "AccessDeniedException", core.CodeInternal, "read secret ssm:/k: status 400 AccessDeniedException"},
		{"throttled", "k", 400, "ThrottlingException", core.CodeUnavailable, "read secret k: status 400 ThrottlingException"},
		{"out of order", "k", 503, "", core.CodeUnavailable, "read secret k: status 503 "},
		{"no text", "empty", 0, "", core.CodeInternal, "read secret empty: it is empty"},
		{"no JSON", "k#key", 0, "", core.CodeInternal, `read secret k#key: it is not a JSON object with a string "key"`},
		{"no such field", "json#other", 0, "", core.CodeInternal, `read secret json#other: it is not a JSON object with a string "other"`},
		{"a field that is no text", "json#n", 0, "", core.CodeInternal, `read secret json#n: it is not a JSON object with a string "n"`},
		{"no tenant", "keys/{tenant}", 0, "", core.CodeInternal, "secret keys/{tenant}: its name needs a tenant, but the call has none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, map[string]string{"k": "key-1", "json": `{"key":"key-1","n":1}`})
			w.status, w.kind = tt.status, tt.kind
			got, err := w.source(t, tt.secret)(t.Context(), secret.String{})
			if !got.IsZero() || core.CodeOf(err) != tt.code || err.Error() != tt.want {
				t.Errorf("error %v (%s), want %s (%s)", err, core.CodeOf(err), tt.want, tt.code)
			}
		})
	}
}

// TestOneReadsForAll who want the secret at the same time, and nobody waits longer than
// their own context.
func TestOneReadsForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"k": "key-1"})
		w.wait = time.Second
		s := w.source(t, "k")
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				if got, err := s(t.Context(), secret.String{}); err != nil || got.Reveal() != "key-1" {
					t.Errorf("%q, %v", got.Reveal(), err)
				}
			})
		}
		synctest.Wait()
		soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := s(soon, secret.String{}); err != context.DeadlineExceeded {
			t.Errorf("who has no time got %v", err)
		}
		all.Wait()
		if len(w.asked) != 1 {
			t.Errorf("it was read %d times, want once", len(w.asked))
		}
	})
}

func TestKeptValuesAreBounded(t *testing.T) {
	w := newWorld(t, map[string]string{})
	s := w.source(t, "{tenant}")
	for i := range maxKept + 10 {
		tenant := fmt.Sprint("t", i)
		w.values[tenant] = tenant
		want(t, core.WithIdentity(t.Context(), core.Identity{Tenant: tenant}), s, "", tenant)
	}
	if len(w.reader.kept) != 10 {
		t.Errorf("%d values are kept, want 10", len(w.reader.kept))
	}
}

// What an invocation will use is read when it begins, beside it, and only where it would
// be read anyway; whoever uses it waits for that read and makes none of its own.
func TestRefreshReadsWhatIsMissingOrOld(t *testing.T) {
	const asked = "secretsmanager.GetSecretValue prod/openai"
	w := newWorld(t, map[string]string{"prod/openai": "key-1", "prod/t/openai": "key-t"})
	source := w.source(t, "prod/openai")
	w.source(t, "prod/{tenant}/openai") // nobody knows for whom
	steps := []struct {
		name  string
		later time.Duration
		value string // of the service; empty: it is away
		reads int    // of this step
		want  string
	}{
		{"at first", 0, "key-1", 1, "key-1"},
		{"young", 5*time.Minute - time.Second, "key-2", 0, "key-1"},
		{"five minutes old", time.Second, "key-2", 1, "key-2"},
		{"the service is away", 5 * time.Minute, "", 1, "key-2"},
		{"it failed just now", 9 * time.Second, "key-3", 0, "key-2"},
		{"it failed ten seconds ago", time.Second, "key-3", 1, "key-3"},
	}
	for _, step := range steps {
		w.now = w.now.Add(step.later)
		w.values["prod/openai"], w.status = step.value, 0
		if step.value == "" {
			w.status = http.StatusInternalServerError
		}
		before := len(w.asked)
		w.reader.Refresh(t.Context())()
		if got := len(w.asked) - before; got != step.reads {
			t.Errorf("%s: %d reads, want %d", step.name, got, step.reads)
		}
		key, err := source(t.Context(), secret.String{})
		if err != nil || key.Reveal() != step.want || len(w.asked) != before+step.reads {
			t.Errorf("%s: %q, %v after %d more reads, want %q after none", step.name, key.Reveal(), err, len(w.asked)-before-step.reads, step.want)
		}
	}
	for _, a := range w.asked {
		if a != asked {
			t.Errorf("asked for %s", a)
		}
	}
}

// The read begins with the invocation and outlives its context, but not its end.
func TestRefreshRunsBesideItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, map[string]string{"prod/openai": "key-1"})
		w.service.wait = time.Second
		source := w.source(t, "prod/openai")
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		wait := w.reader.Refresh(ctx)
		cancel()
		if took := time.Since(began); took != 0 {
			t.Errorf("Refresh returned after %s", took)
		}
		time.Sleep(400 * time.Millisecond) // the head is claimed, the log is read
		if key, err := source(t.Context(), secret.String{}); err != nil || key.Reveal() != "key-1" {
			t.Errorf("%q, %v", key.Reveal(), err)
		}
		wait()
		if took := time.Since(began); took != time.Second || len(w.asked) != 1 {
			t.Errorf("it took %s and %d reads, want 1 s and one", took, len(w.asked))
		}
	})
}
