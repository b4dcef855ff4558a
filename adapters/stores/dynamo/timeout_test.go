package dynamo

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// silent never responds to its first requests.
type silent struct {
	requests int
	wire     *wire
}

func (s *silent) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.requests--; s.requests < 0 {
		return s.wire.RoundTrip(r)
	}
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestSilentTriesAreGivenUp(t *testing.T) {
	tests := []struct {
		name    string
		silent  int
		replies []reply
		within  time.Duration // of the caller
		written bool
		code    core.Code
		took    time.Duration
	}{
		{"the second try gets a response, and finds that the first was applied", 1, []reply{conflict(ours)}, time.Minute, true, "", 5 * time.Second},
		{"none gets a response", 3, nil, time.Minute, false, core.CodeUnavailable, 15 * time.Second},
		{"the caller has less time", 1, nil, 2 * time.Second, false, core.CodeUnavailable, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(testClient(t, &silent{tt.silent, &wire{t: t, replies: tt.replies}}), Options{})
				ctx, cancel := context.WithTimeout(t.Context(), tt.within)
				defer cancel()
				start := time.Now()
				got, err := s.Commit(ctx, key, store.Commit{Head: testHead(2, 0)})
				if got.Written != tt.written || core.CodeOf(err) != tt.code {
					t.Errorf("written=%v, error %v; want %v, code %q", got.Written, err, tt.written, tt.code)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
			})
		})
	}
}

func TestErrorNamesWhatWasBeingDone(t *testing.T) {
	s, _ := scripted(t, throttle, throttle, throttle)
	_, err := s.Commit(context.Background(), key, store.Commit{Head: testHead(2, 0)})
	const want = "write head of acme/t1 version 2: store is throttling: "
	if err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("error %v, want one that begins with %q", err, want)
	}
}
