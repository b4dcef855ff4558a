package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// What the caller has used must grow by what the runs say that they have.
func TestUsageHasTheTokensOfTheRuns(t *testing.T) {
	const run = "id: 1\ndata: {\"event_type\":\"run_start\",\"run_id\":\"01938a5e-7b4c-7def-8123-456789abcdef\"}\n\n" +
		"id: 2\ndata: {\"event_type\":\"run_finish\",\"response\":\"one\",\"usage\":{\"input\":7,\"output\":3},\"termination\":{\"type\":\"natural_end\"}}\n\n"
	row := func(input, output int) string {
		return fmt.Sprintf(`{"rows":[{"runs":1,"tokens":{"input":100,"output":50}},{"runs":1,"tokens":{"input":%d,"output":%d}}]}`, input, output)
	}
	tests := []struct {
		name    string
		reports []string // one after another; the last one stays; none: 404
		timeout string   // short only where the check must wait until it is over
		want    string
	}{
		{"the tokens of a run", []string{row(1, 1), row(8, 4)}, "30s", "usage: ok"},
		{"more, by others", []string{row(1, 1), row(80, 40)}, "30s", "usage: ok"},
		{"a moment later", []string{row(1, 1), row(1, 1), row(8, 4)}, "30s", "usage: ok"},
		{"no output", []string{row(1, 1), row(8, 3)}, "5s", "usage: FAILED: GET /v1/usage has 7 more input and 2 more output tokens, want 7 and 3 of the runs"},
		{"none", nil, "30s", "usage: skipped: the deployment records no usage"},
		{"no report", []string{"[]"}, "30s", "usage: FAILED: GET /v1/usage?from="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // one of them waits
			asked := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodDelete:
					w.WriteHeader(http.StatusNoContent)
				case r.URL.Path == "/v1/runs":
					_, _ = io.WriteString(w, run)
				case r.URL.Path == "/v1/usage" && len(tt.reports) > 0:
					_, _ = io.WriteString(w, tt.reports[min(asked, len(tt.reports)-1)])
					asked++
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			defer server.Close()
			if report, _ := smokes(t, "-url", server.URL, "-timeout", tt.timeout); len(report) != 7 || !strings.HasPrefix(report[6], tt.want) {
				t.Errorf("report %q, want %q at its end", report, tt.want)
			}
		})
	}
}

// The time may be over while a look is under way: what the one before has seen is told.
func TestUsageIsToldWhenTheLastLookIsCutOff(t *testing.T) {
	t.Parallel() // it waits between two looks
	for _, tt := range []struct {
		name     string
		answered int // looks; the time is over during the next one
		want     string
	}{
		{"the second", 1, "GET /v1/usage has 7 more input and 2 more output tokens, want 7 and 3 of the runs"},
		{"the first", 0, "context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			looks := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if looks++; looks > tt.answered {
					cancel()
					<-r.Context().Done()
					return
				}
				_, _ = io.WriteString(w, `{"rows":[{"runs":1,"tokens":{"input":7,"output":2}}]}`)
			}))
			defer server.Close()
			s := smoke{client: client{
				url: server.URL, http: server.Client(),
				identify: func(*http.Request, []byte) error { return nil },
				used:     map[core.ID]core.Usage{{1}: {Input: 7, Output: 3}},
			}}
			if err := s.checkUsage(ctx, ""); err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("error %v, want %q at its end", err, tt.want)
			}
		})
	}
}
