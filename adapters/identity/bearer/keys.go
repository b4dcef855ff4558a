package bearer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/reveille-run/reveille/adapters/internal/egress"
	"github.com/reveille-run/reveille/core/env"
)

// How often keys are fetched. The library fetches them for every token with an unknown
// key or a wrong signature, so for any token of a stranger, and never because keys are
// old.
const (
	leastInterval = time.Minute      // between two fetches, however many unknown keys are asked for
	afterFailure  = 5 * time.Second  // the same after a fetch that failed
	renewal       = 15 * time.Minute // after it keys are fetched again before they are used
	maximumAge    = time.Hour        // keys that could not be renewed are used until then
	fetchTime     = 5 * time.Second
	maxKeysSize   = 1 << 20 // bytes
)

// keys are an issuer's keys. It is also the transport of the library's key sets, and
// returns its cached keys to them when they ask too often.
type keys struct {
	env       *env.Env
	url       string
	transport http.RoundTripper

	mu      sync.Mutex // not held across a fetch
	current *oidc.RemoteKeySet
	made    time.Time // of current
	body    []byte    // the last good response
	fetched time.Time // when that came
	next    time.Time // no fetch before
	failure error     // of the last fetch
}

func newKeys(e *env.Env, url string, t http.RoundTripper) *keys {
	return &keys{env: e, url: url, transport: t}
}

// set returns the key set to verify with. One that is too old is replaced, so
// that a key that the issuer withdrew ends.
func (k *keys) set() *oidc.RemoteKeySet {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.env.Now()
	// Once only: who comes while the new set's keys are fetched waits for them there.
	end := k.fetched.Add(maximumAge)
	expired := k.body != nil && !now.Before(end) && k.made.Before(end)
	if k.current == nil || now.Sub(k.made) >= renewal || expired {
		client := &http.Client{Transport: k}
		// The context carries the client; its end is ignored by the library, since
		// several tokens may wait for one fetch.
		k.current, k.made = oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), client), k.url), now
	}
	return k.current
}

// unreachableError is a fetch that failed.
type unreachableError struct{ cause error }

func (e *unreachableError) Error() string { return e.cause.Error() }
func (e *unreachableError) Unwrap() error { return e.cause }

// unreachable returns why keys could not be fetched, nil when err has another
// reason.
func unreachable(err error) error {
	var u *unreachableError
	if errors.As(err, &u) {
		return u
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (k *keys) RoundTrip(r *http.Request) (*http.Response, error) {
	if k.mayFetch() {
		body, err := k.fetch(r)
		k.keep(body, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.body == nil || k.env.Now().Sub(k.fetched) >= maximumAge {
		return nil, &unreachableError{fmt.Errorf("fetch %s: %w", k.url, k.failure)}
	}
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(k.body)),
	}, nil
}

// mayFetch counts the fetch before it is made, so that there is one at a time.
func (k *keys) mayFetch() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.env.Now()
	if now.Before(k.next) {
		return false
	}
	k.next = now.Add(leastInterval)
	return true
}

func (k *keys) fetch(r *http.Request) ([]byte, error) {
	// Not the client's Timeout, which hides the error that RoundTrip returns.
	ctx, cancel := context.WithTimeout(r.Context(), fetchTime)
	defer cancel()
	response, err := k.transport.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxKeysSize+1))
	var set struct{ Keys []json.RawMessage }
	switch {
	case err != nil:
		return nil, err
	case egress.Redirect(response) != "":
		return nil, fmt.Errorf("status %d: %s", response.StatusCode, egress.Redirect(response))
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("status %d", response.StatusCode)
	case len(body) > maxKeysSize:
		return nil, fmt.Errorf("keys of more than %d bytes", maxKeysSize)
	case json.Unmarshal(body, &set) != nil || len(set.Keys) == 0:
		return nil, errors.New("the response is not a JSON Web Key Set")
	}
	return body, nil
}

func (k *keys) keep(body []byte, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.env.Now()
	if k.failure = err; err != nil {
		k.next = now.Add(afterFailure)
		return
	}
	k.body, k.fetched = body, now
}
