package keys

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/internal/cloud"
)

// store is a Secrets Manager that counts how often it is asked.
func store(t *testing.T) *atomic.Int32 {
	t.Helper()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = io.WriteString(w, `{"SecretString":"key-1"}`)
	}))
	t.Cleanup(server.Close)
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_SECRETS_MANAGER": server.URL, "AWS_REGION": "eu-north-1", "AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s",
	} {
		t.Setenv(name, value)
	}
	return &asked
}

// open is the keys of a function that names a secret.
func open(t *testing.T) *Keys {
	t.Helper()
	var k Keys
	if _, err := k.Settings(&cloud.Function{Env: env.System()}).OpenSecret("prod/openai"); err != nil {
		t.Fatal(err)
	}
	return &k
}

func TestAnInvocationReadsWhatItWillUse(t *testing.T) {
	asked := store(t)
	handler := func(_ context.Context, in string) (string, error) { return in + "!", nil }
	if got, err := Invocation(&Keys{}, handler)(t.Context(), "a"); got != "a!" || err != nil || asked.Load() != 0 {
		t.Errorf("without a secret: %q, %v, asked %d times", got, err, asked.Load())
	}
	invoke := Invocation(open(t), handler)
	for range 2 {
		if got, err := invoke(t.Context(), "a"); got != "a!" || err != nil || asked.Load() != 1 {
			t.Errorf("with one: %q, %v, asked %d times, want once", got, err, asked.Load())
		}
	}
}

func TestOnlyRequestsThatMayStartARunRead(t *testing.T) {
	asked := store(t)
	handler := Request(open(t), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for _, test := range []struct {
		method string
		asked  int32
	}{{http.MethodGet, 0}, {http.MethodOptions, 0}, {http.MethodPost, 1}, {http.MethodPost, 1}} {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(test.method, "/v1/runs", nil))
		if w.Code != http.StatusTeapot || asked.Load() != test.asked {
			t.Errorf("%s: status %d, asked %d times, want %d", test.method, w.Code, asked.Load(), test.asked)
		}
	}
}
