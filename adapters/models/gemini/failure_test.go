package gemini

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// The bodies have the form of google.rpc.Status; the quota's are those that users of
// google-gemini/gemini-cli and vercel/ai report.
func TestFailures(t *testing.T) {
	const (
		perDay    = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"},{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}`
		perMinute = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier"}]}`
		retry     = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.4s"}`
		badKey    = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}`
	)
	tests := []struct {
		name   string
		status int
		body   string
		want   wire.Failure
		found  bool
	}{
		{"a minute's quota", 429, `{"error":{"code":429,"message":"Slow.","status":"RESOURCE_EXHAUSTED","details":[` + perMinute + `,` + retry + `]}}`,
			wire.Failure{Status: 429, Message: "Slow.", RetryAfter: 34400 * time.Millisecond}, true},
		{"a day's quota", 429, `{"error":{"code":429,"message":"Enough.","details":[` + retry + `,` + perDay + `]}}`,
			wire.Failure{Kind: model.KindQuota, Status: 429, Message: "Enough.", RetryAfter: 34400 * time.Millisecond}, true},
		{"a wait that is none", 429, `{"error":{"code":429,"message":"Slow.","details":[{"retryDelay":"-3s"},{"retryDelay":"soon"}]}}`,
			wire.Failure{Status: 429, Message: "Slow."}, true},
		{"a wrong key", 400, `{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[` + badKey + `]}}`,
			wire.Failure{Kind: model.KindUnauthorized, Status: 400, Message: "API key not valid."}, true},
		{"too many tokens, as Vertex AI says it", 400, `{"error":{"code":400,"message":"Unable to submit request because the input token count is 1055186 but model only supports up to 1048576.","status":"INVALID_ARGUMENT"}}`,
			wire.Failure{Kind: model.KindOverflow, Status: 400, Message: "Unable to submit request because the input token count is 1055186 but model only supports up to 1048576."}, true},
		{"a list", 503, ` [{"error":{"code":503,"message":"Full.","status":"UNAVAILABLE"}}]`, wire.Failure{Status: 503, Message: "Full."}, true},
		{"in a stream", 0, `{"error":{"code":503,"message":"Full.","status":"UNAVAILABLE"}}`, wire.Failure{Status: 503, Message: "Full."}, true},
		{"in a stream, without a name", 0, `{"error":{"code":400}}`, wire.Failure{Status: 400}, true},
		{"a message alone", 502, `{"error":{"message":"Full."}}`, wire.Failure{Status: 502, Message: "Full."}, true},
		{"in a stream, an RPC code", 0, `{"error":{"code":14,"message":"Full.","status":"UNAVAILABLE"}}`, wire.Failure{Status: 503, Message: "Full."}, true},
		{"in a stream, given up", 0, `{"error":{"code":499,"status":"CANCELLED"}}`, wire.Failure{Kind: model.KindInterrupted, Status: 499, Message: "CANCELLED"}, true},
		{"the HTTP status counts", 500, `{"error":{"code":503,"message":"Full."}}`, wire.Failure{Status: 500, Message: "Full."}, true},
		{"no error", 400, `{"x":1}`, wire.Failure{Status: 400, Message: `{"x":1}`}, false},
		{"a code that is a text", 429, `{"error":{"code":"rate_limit","message":"Slow.","status":"RESOURCE_EXHAUSTED"}}`, wire.Failure{Status: 429, Message: "Slow."}, true},
		{"an error that is a text", 400, `{"error":"no"}`, wire.Failure{Status: 400, Message: `{"error":"no"}`}, false},
		{"an error that says nothing", 400, `{"error":{}}`, wire.Failure{Status: 400, Message: `{"error":{}}`}, false},
		{"an empty list", 400, `[]`, wire.Failure{Status: 400, Message: `[]`}, false},
		{"text", 502, `Bad Gateway`, wire.Failure{Status: 502, Message: "Bad Gateway"}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, found := parseFailure(test.status, []byte(test.body))
			if diff := cmp.Diff(test.want, got); diff != "" || found != test.found {
				t.Errorf("found %v\n%s", found, diff)
			}
		})
	}
}

func TestKindsOfRPCCodes(t *testing.T) {
	tests := []struct {
		code string
		want model.ErrorKind
	}{
		{"INVALID_ARGUMENT", model.KindInvalid},
		{"FAILED_PRECONDITION", model.KindInvalid},
		{"OUT_OF_RANGE", model.KindInvalid},
		{"UNAUTHENTICATED", model.KindUnauthorized},
		{"PERMISSION_DENIED", model.KindUnauthorized},
		{"NOT_FOUND", model.KindNotFound},
		{"ABORTED", model.KindProvider},
		{"RESOURCE_EXHAUSTED", model.KindRateLimited},
		{"INTERNAL", model.KindProvider},
		{"UNKNOWN", model.KindProvider},
		{"DATA_LOSS", model.KindProvider},
		{"UNAVAILABLE", model.KindOverloaded},
		{"DEADLINE_EXCEEDED", model.KindTimeout},
		{"SOMETHING_NEW", model.KindProvider},
	}
	for _, test := range tests {
		f, _ := parseFailure(0, []byte(`{"error":{"status":"`+test.code+`"}}`))
		if got := wire.KindOf(f.Status, f.Message); f.Kind != "" || got != test.want {
			t.Errorf("%s: %s, %q, want %s", test.code, got, f.Kind, test.want)
		}
	}
}

func FuzzFailure(f *testing.F) {
	f.Add(429, []byte(`[{"error":{"code":429,"details":[{"violations":[{"quotaId":"PerDay"}]},{"retryDelay":"3s"}]}}]`))
	f.Add(0, []byte(`{"error":null}`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		failure, found := parseFailure(status, body)
		if failure.RetryAfter < 0 || found && failure.Message == "" && failure.Status == 0 {
			t.Errorf("%+v", failure)
		}
	})
}
