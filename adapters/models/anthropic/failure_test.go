package anthropic

import (
	"cmp"
	"testing"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// The bodies are shaped after the API's page on errors and on spend limits.
func TestFailures(t *testing.T) {
	tests := []struct {
		name    string
		status  int
		body    string
		kind    model.ErrorKind
		message string
		found   bool
	}{
		{"rate limit", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"},"request_id":"r1"}`, model.KindRateLimited, "slow down", true},
		{"the spend cap", 429, `{"type":"error","error":{"type":"rate_limit_error","message":"m","details":{"error_code":"enforced_spend_limit_reached"}},"request_id":"r1"}`, model.KindQuota, "m", true},
		{"a spend limit", 400, `{"error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2026-12-01."},"request_id":"r1"}`, model.KindQuota, "You have reached your specified API usage limits. You will regain access on 2026-12-01.", true},
		{"a workspace's", 400, `{"error":{"type":"invalid_request_error","message":"You have reached your specified workspace API usage limits."},"request_id":"r1"}`, model.KindQuota, "You have reached your specified workspace API usage limits.", true},
		{"no credit", 400, `{"error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."},"request_id":"r1"}`, model.KindQuota, "Your credit balance is too low to access the API.", true},
		{"no credit, in a stream", 0, `{"type":"error","error":{"type":"billing_error","message":"m"},"request_id":"r1"}`, model.KindQuota, "m", true},
		{"too long a prompt", 400, `{"error":{"type":"invalid_request_error","message":"prompt is too long: 2 > 1"},"request_id":"r1"}`, model.KindOverflow, "prompt is too long: 2 > 1", true},
		{"prompt and limit together", 400, "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 1 + 2 > 2\"},\"request_id\":\"r1\"}", model.KindOverflow, "input length and `max_tokens` exceed context limit: 1 + 2 > 2", true},
		{"too large a body", 413, `{"error":{"type":"request_too_large","message":"Request exceeds the maximum size"},"request_id":"r1"}`, model.KindOverflow, "Request exceeds the maximum size", true},
		{"invalid", 400, `{"error":{"type":"invalid_request_error","message":"max_tokens: 2 > 1"},"request_id":"r1"}`, model.KindInvalid, "max_tokens: 2 > 1", true},
		{"thinking of another conversation", 400, "{\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Invalid `signature` in `thinking` block.\"},\"request_id\":\"r1\"}", model.KindInvalid, "Invalid `signature` in `thinking` block.", true},
		{"a key", 401, `{"error":{"type":"authentication_error","message":"m"},"request_id":"r1"}`, model.KindUnauthorized, "m", true},
		{"a permission", 403, `{"error":{"type":"permission_error","message":"m"},"request_id":"r1"}`, model.KindUnauthorized, "m", true},
		{"no such model", 404, `{"error":{"type":"not_found_error","message":"model: x"},"request_id":"r1"}`, model.KindNotFound, "model: x", true},
		{"payment", 402, `{"error":{"type":"billing_error","message":"m"},"request_id":"r1"}`, model.KindQuota, "m", true},
		{"internal", 500, `{"error":{"type":"api_error","message":"m"},"request_id":"r1"}`, model.KindProvider, "m", true},
		{"timeout", 504, `{"error":{"type":"timeout_error","message":"m"},"request_id":"r1"}`, model.KindTimeout, "m", true},
		{"overloaded", 529, `{"error":{"type":"overloaded_error","message":"m"},"request_id":"r1"}`, model.KindOverloaded, "m", true},
		{"overloaded, in a stream", 0, `{"error":{"type":"overloaded_error","message":"m"},"request_id":"r1"}`, model.KindOverloaded, "m", true},
		{"internal, in a stream", 0, `{"error":{"type":"api_error","message":"m"},"request_id":"r1"}`, model.KindProvider, "m", true},
		{"a timeout, in a stream", 0, `{"error":{"type":"timeout_error","message":"m"},"request_id":"r1"}`, model.KindTimeout, "m", true},
		{"invalid, in a stream", 0, `{"error":{"type":"invalid_request_error","message":"m"},"request_id":"r1"}`, model.KindInvalid, "m", true},
		{"too long a prompt, in a stream", 0, `{"error":{"type":"invalid_request_error","message":"prompt is too long"},"request_id":"r1"}`, model.KindOverflow, "prompt is too long", true},
		{"only a type", 503, `{"error":{"type":"a_new_error"},"request_id":"r1"}`, model.KindOverloaded, `{"error":{"type":"a_new_error"},"request_id":"r1"}`, true},
		{"a page", 502, `<html>Bad Gateway</html>`, model.KindProvider, `<html>Bad Gateway</html>`, false},
		{"another object", 500, `{"detail":"x"}`, model.KindProvider, `{"detail":"x"}`, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f, found := parseFailure(test.status, []byte(test.body))
			if kind := cmp.Or(f.Kind, wire.KindOf(f.Status, f.Message)); kind != test.kind || f.Message != test.message || found != test.found {
				t.Errorf("kind %s, found %v, message %q", kind, found, f.Message)
			}
			if found && f.RequestID != "r1" || f.Status != test.status {
				t.Errorf("request %q, status %d", f.RequestID, f.Status)
			}
		})
	}
}
