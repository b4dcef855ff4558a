package protocol_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
)

func TestRefusalsHaveAStatusAndAText(t *testing.T) {
	const again, internal = "the service cannot answer now, try again", "internal error"
	tests := []struct {
		err    error
		status int
		body   string
		logged bool
	}{
		{core.Errorf(core.CodeInvalid, "x is wrong"), 400, `{"error":"x is wrong","code":"invalid"}`, false},
		{core.Errorf(core.CodeUnsupported, "not yet"), 400, `{"error":"not yet","code":"unsupported"}`, false},
		{core.Errorf(core.CodeUnauthorized, "who?"), 401, `{"error":"who?","code":"unauthorized"}`, false},
		{core.Errorf(core.CodeForbidden, "bob's"), 404, `{"error":"not found","code":"not_found"}`, false},
		{core.Errorf(core.CodeNotFound, "no t1"), 404, `{"error":"no t1","code":"not_found"}`, false},
		{core.Errorf(core.CodeMethod, "no PUT"), 405, `{"error":"no PUT","code":"method_not_allowed"}`, false},
		{core.Errorf(core.CodeNotAcceptable, "no"), 406, `{"error":"no","code":"not_acceptable"}`, false},
		{core.Errorf(core.CodeConflict, "other"), 409, `{"error":"other","code":"conflict"}`, false},
		{core.Errorf(core.CodeBusy, "busy"), 409, `{"error":"busy","code":"busy"}`, false},
		{core.Errorf(core.CodeDecided, "late"), 409, `{"error":"late","code":"decided"}`, false},
		{core.Errorf(core.CodeStale, "old"), 409, `{"error":"old","code":"stale"}`, false},
		{core.Errorf(core.CodeSuperseded, "old"), 409, `{"error":"old","code":"superseded"}`, false},
		{core.Errorf(core.CodeClosing, "over"), 409, `{"error":"over","code":"closing"}`, false},
		{core.Errorf(core.CodeDeleted, "gone"), 410, `{"error":"gone","code":"deleted"}`, false},
		{core.Errorf(core.CodeTooLarge, "big"), 413, `{"error":"big","code":"too_large"}`, false},
		{core.Errorf(core.CodeInvalid, "read: %w", &http.MaxBytesError{Limit: 1}), 413, `{"error":"request body is larger than 1 bytes","code":"too_large"}`, false},
		{core.Errorf(core.CodeFull, "full"), 429, `{"error":"full","code":"full"}`, false},
		{core.Errorf(core.CodeThrottled, "table x"), 503, `{"error":"` + again + `","code":"throttled"}`, true},
		{core.Errorf(core.CodeUnavailable, "10.0.0.1"), 503, `{"error":"` + again + `","code":"unavailable"}`, true},
		{core.Errorf(core.CodeFenced, "fence 3"), 503, `{"error":"` + again + `","code":"unavailable"}`, true},
		{core.Errorf(core.CodeSuspect, "alone"), 503, `{"error":"` + again + `","code":"unavailable"}`, true},
		{core.Errorf(core.CodeApplied, "twice"), 503, `{"error":"` + again + `","code":"unavailable"}`, true},
		{core.Errorf(core.CodeSchema, "v9"), 503, `{"error":"` + again + `","code":"unavailable"}`, true},
		{fmt.Errorf("get: %w", context.DeadlineExceeded), 503, `{"error":"` + again + `","code":"unavailable"}`, true},
		{fmt.Errorf("put: %w", context.Canceled), 503, `{"error":"` + again + `","code":"unavailable"}`, false},
		{core.Errorf(core.CodeInternal, "secret"), 500, `{"error":"` + internal + `","code":"internal"}`, true},
		{core.Errorf(core.CodeCorrupt, "M#1"), 500, `{"error":"` + internal + `","code":"internal"}`, true},
		{fmt.Errorf("read: %w", &store.DamagedError{Key: core.ThreadKey{Tenant: "acme", Thread: "t1"}, Cause: errors.New("M#1")}), 409, `{"error":"thread t1 is damaged and cannot be used or deleted by a client: the operator can run doctor release t1 after a repair, or doctor delete t1","code":"corrupt"}`, false},
		{&store.DamagedError{Key: core.ThreadKey{Tenant: "acme", Thread: "t1"}, Quarantined: 1, Cause: errors.New("M#1")}, 409, `{"error":"thread t1 is damaged and quarantined and cannot be used or deleted by a client: the operator can run doctor release t1 after a repair, or doctor delete t1","code":"corrupt"}`, false},
		{errors.New("anything"), 500, `{"error":"` + internal + `","code":"internal"}`, true},
	}
	for _, test := range tests {
		t.Run(test.err.Error(), func(t *testing.T) {
			rec, logged := httptest.NewRecorder(), &bytes.Buffer{}
			protocol.Refuse(rec, slog.New(slog.NewTextHandler(logged, nil)), test.err)
			if rec.Code != test.status || strings.TrimSpace(rec.Body.String()) != test.body {
				t.Errorf("response %d %s, want %d %s", rec.Code, rec.Body, test.status, test.body)
			}
			if got := rec.Header().Get("Content-Type"); got != "application/json" {
				t.Errorf("content type %q", got)
			}
			if got := strings.Contains(logged.String(), test.err.Error()); got != test.logged {
				t.Errorf("log %q, want the error there: %t", logged, test.logged)
			}
			if got := rec.Header().Get("Retry-After"); (got == "1") != (test.status == 503) {
				t.Errorf("Retry-After %q with status %d", got, test.status)
			}
		})
	}
}

func TestALimitSaysWhichItIsAndWhenItEnds(t *testing.T) {
	ends := time.Date(2126, 11, 23, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		err    *account.ReachedError
		status int
		body   string
		after  time.Time // about; zero: 5 s
	}{
		{&account.ReachedError{Limit: account.TokensADay, Allowed: "10", Used: "12", Ends: ends.UnixMilli()}, 429,
			`{"error":"submit: limit tokens_a_day of the tenant is reached: 12 of 10, until 2126-11-23T00:00:00Z","code":"tenant_limit","limit":"tokens_a_day","allowed":"10","used":"12","ends_at":"2126-11-23T00:00:00Z"}`, ends},
		{&account.ReachedError{Limit: account.SpendADay, Allowed: "0.5", Used: "0.51", Ends: ends.UnixMilli()}, 402,
			`{"error":"submit: limit spend_a_day_usd of the tenant is reached: 0.51 of 0.5, until 2126-11-23T00:00:00Z","code":"tenant_spend_limit","limit":"spend_a_day_usd","allowed":"0.5","used":"0.51","ends_at":"2126-11-23T00:00:00Z"}`, ends},
		{&account.ReachedError{Limit: account.ConcurrentRuns, Allowed: "2", Used: "2"}, 429,
			`{"error":"submit: limit concurrent_runs of the tenant is reached: 2 of 2, until a run waits or ends","code":"tenant_limit","limit":"concurrent_runs","allowed":"2","used":"2"}`, time.Time{}},
	} {
		t.Run(string(tt.err.Limit), func(t *testing.T) {
			rec := httptest.NewRecorder()
			protocol.Refuse(rec, slog.New(slog.DiscardHandler), fmt.Errorf("submit: %w", tt.err))
			if rec.Code != tt.status || strings.TrimSpace(rec.Body.String()) != tt.body {
				t.Errorf("response %d %s, want %d %s", rec.Code, rec.Body, tt.status, tt.body)
			}
			seconds, err := strconv.Atoi(rec.Header().Get("Retry-After"))
			if off := time.Until(tt.after) - time.Duration(seconds)*time.Second; err != nil || tt.after.IsZero() && seconds != 5 || !tt.after.IsZero() && off.Abs() > time.Minute {
				t.Errorf("Retry-After %q", rec.Header().Get("Retry-After"))
			}
		})
	}
}

func TestAPanicsStackGoesToTheLogOnly(t *testing.T) {
	rec, logged := httptest.NewRecorder(), &bytes.Buffer{}
	err := env.Protect(func() error { panic("secret") })
	protocol.Refuse(rec, slog.New(slog.NewTextHandler(logged, nil)), err)
	if rec.Code != 500 || strings.Contains(rec.Body.String(), "secret") {
		t.Errorf("response %d %s", rec.Code, rec.Body)
	}
	if !strings.Contains(logged.String(), "refuse_test.go") {
		t.Errorf("log %s, want the stack", logged)
	}
}

func TestAValueThatIsNoJSONIsAnInternalError(t *testing.T) {
	rec := httptest.NewRecorder()
	protocol.JSON(rec, 200, func() {})
	if rec.Code != 500 || rec.Body.String() != "{\"error\":\"internal error\",\"code\":\"internal\"}\n" {
		t.Errorf("response %d %s", rec.Code, rec.Body)
	}
}

func TestOnlyAStreamIsDemanded(t *testing.T) {
	tests := []struct {
		accept []string
		want   bool
	}{
		{nil, false},
		{[]string{"text/event-stream"}, true},
		{[]string{"text/event-stream; charset=utf-8"}, true},
		{[]string{"text/html, text/event-stream"}, true},
		{[]string{"text/event-stream, application/json"}, false},
		{[]string{"text/event-stream", "application/json"}, false},
		{[]string{"text/event-stream, application/json;q=0"}, true},
		{[]string{"text/event-stream, */*;q=0.1"}, false},
		{[]string{"application/*, text/event-stream"}, false},
		{[]string{"*/*"}, false},
	}
	for _, test := range tests {
		t.Run(strings.Join(test.accept, " + "), func(t *testing.T) {
			r := httptest.NewRequest("POST", "/", nil)
			r.Header["Accept"] = test.accept
			if got := protocol.Demanded(r); got != test.want {
				t.Errorf("demanded %t, want %t", got, test.want)
			}
		})
	}
}

func ExampleRefuse() {
	rec := httptest.NewRecorder()
	protocol.Refuse(rec, slog.Default(), core.Errorf(core.CodeBusy, "thread t1 has an open run"))
	body, _ := io.ReadAll(rec.Body)
	fmt.Printf("%d %s", rec.Code, body)
	// Output: 409 {"error":"thread t1 has an open run","code":"busy"}
}
