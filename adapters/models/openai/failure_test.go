package openai

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/model"
)

func TestRefusals(t *testing.T) {
	tests := []struct {
		name   string
		status int
		header http.Header
		body   string
		want   model.Error
	}{
		{"rate limit", 429, http.Header{"Retry-After": {"20"}, "X-Request-Id": {"req_1"}}, `{"error":{"message":"Rate limit reached","type":"requests","code":"rate_limit_exceeded"}}`,
			model.Error{Kind: model.KindRateLimited, Status: 429, RetryAfter: 20 * time.Second, Message: "openai: status 429: Rate limit reached (request req_1)"}},
		{"milliseconds go first", 429, http.Header{"Retry-After": {"2"}, "Retry-After-Ms": {"1250.5"}}, `{"error":{"message":"slow"}}`,
			model.Error{Kind: model.KindRateLimited, Status: 429, RetryAfter: 1250500 * time.Microsecond, Message: "openai: status 429: slow"}},
		{"no quota", 429, nil, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
			model.Error{Kind: model.KindQuota, Status: 429, Message: "openai: status 429: You exceeded your current quota"}},
		{"no quota by type", 429, nil, `{"error":{"message":"x","type":"insufficient_quota","code":null}}`,
			model.Error{Kind: model.KindQuota, Status: 429, Message: "openai: status 429: x"}},
		{"no credit", 402, nil, `{"error":{"message":"Insufficient Balance","type":"unknown_error","code":"invalid_request_error"}}`,
			model.Error{Kind: model.KindQuota, Status: 402, Message: "openai: status 402: Insufficient Balance"}},
		{"wrong key, quoted", 401, nil, `{"error":{"message":"Incorrect API key provided: sk-secret-0123456789.","code":"invalid_api_key"}}`,
			model.Error{Kind: model.KindUnauthorized, Status: 401, Message: "openai: status 401: Incorrect API key provided: ***."}},
		{"forbidden", 403, nil, `{"error":{"message":"region"}}`, model.Error{Kind: model.KindUnauthorized, Status: 403, Message: "openai: status 403: region"}},
		{"moderated", 403, nil, `{"error":{"message":"Your chosen model requires moderation and your input was flagged","code":403}}`,
			model.Error{Kind: model.KindFiltered, Status: 403, Message: "openai: status 403: Your chosen model requires moderation and your input was flagged"}},
		{"unknown model", 404, nil, `{"error":{"message":"no such model","code":"model_not_found"}}`, model.Error{Kind: model.KindNotFound, Status: 404, Message: "openai: status 404: no such model"}},
		{"context by code", 400, nil, `{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`,
			model.Error{Kind: model.KindOverflow, Status: 400, Message: "openai: status 400: too long"}},
		{"context by text", 400, nil, `{"error":{"message":"This model's Maximum context length is 8192 tokens","code":400}}`,
			model.Error{Kind: model.KindOverflow, Status: 400, Message: "openai: status 400: This model's Maximum context length is 8192 tokens", Limit: 8192}},
		{"context as xAI says it", 400, nil, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 136973 tokens."}`,
			model.Error{Kind: model.KindOverflow, Status: 400, Message: "openai: status 400: This model's maximum prompt length is 131072 but the request contains 136973 tokens.", Limit: 131072}},
		{"context as llama.cpp says it", 400, nil, `{"error":{"code":400,"message":"too much","type":"exceed_context_size_error","n_prompt_tokens":13392,"n_ctx":8192}}`,
			model.Error{Kind: model.KindOverflow, Status: 400, Message: "openai: status 400: too much", Limit: 8192}},
		{"context as Z.ai says it", 400, nil, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`,
			model.Error{Kind: model.KindOverflow, Status: 400, Message: "openai: status 400: Prompt exceeds max length"}},
		{"a rate in tokens, whose text looks like a context", 429, nil, `{"error":{"message":"request too large: limit 6000 tokens a minute","type":"invalid_request_error"}}`,
			model.Error{Kind: model.KindRateLimited, Status: 429, Message: "openai: status 429: request too large: limit 6000 tokens a minute"}},
		{"a window that no model has", 400, nil, `{"error":{"code":400,"message":"too much","type":"exceed_context_size_error","n_ctx":255}}`,
			model.Error{Kind: model.KindOverflow, Status: 400, Message: "openai: status 400: too much"}},
		{"a window that is no number", 400, nil, `{"error":{"code":400,"message":"too much","type":"exceed_context_size_error","n_ctx":1e300}}`,
			model.Error{Kind: model.KindOverflow, Status: 400, Message: "openai: status 400: too much"}},
		{"too large", 413, nil, `too large`, model.Error{Kind: model.KindOverflow, Status: 413, Message: "openai: status 413: too large"}},
		{"filtered", 400, nil, `{"error":{"message":"blocked","code":"content_policy_violation"}}`, model.Error{Kind: model.KindFiltered, Status: 400, Message: "openai: status 400: blocked"}},
		{"invalid", 400, nil, `{"error":{"message":"bad safety_identifier","type":"invalid_request_error"}}`, model.Error{Kind: model.KindInvalid, Status: 400, Message: "openai: status 400: bad safety_identifier"}},
		{"a call that Groq refuses", 400, nil, `{"error":{"message":"Tool call validation failed: parameters for tool add did not match schema","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"{\"name\": \"add\", \"arguments\": {\"x\": 1}}"}}`,
			model.Error{Kind: model.KindInterrupted, Status: 400, Message: "openai: status 400: Tool call validation failed: parameters for tool add did not match schema"}},
		{"unprocessable, fields at the top", 422, nil, `{"object":"error","message":"extra field"}`, model.Error{Kind: model.KindInvalid, Status: 422, Message: "openai: status 422: extra field"}},
		{"timeout", 408, nil, ``, model.Error{Kind: model.KindTimeout, Status: 408, Message: "openai: status 408: "}},
		{"conflict", 409, nil, ``, model.Error{Kind: model.KindProvider, Status: 409, Message: "openai: status 409: "}},
		{"server error", 500, nil, `{"error":"oops"}`, model.Error{Kind: model.KindProvider, Status: 500, Message: "openai: status 500: oops"}},
		{"bad gateway in HTML", 502, http.Header{"Content-Type": {"text/html"}}, "<html>\n  <h1>502</h1>\n</html>\n", model.Error{Kind: model.KindProvider, Status: 502, Message: "openai: status 502: <html> <h1>502</h1> </html>"}},
		{"unavailable", 503, http.Header{"Retry-After": {"1.5"}}, `{"error":{"message":"busy"}}`, model.Error{Kind: model.KindOverloaded, Status: 503, RetryAfter: 1500 * time.Millisecond, Message: "openai: status 503: busy"}},
		{"gateway timeout", 504, nil, ``, model.Error{Kind: model.KindTimeout, Status: 504, Message: "openai: status 504: "}},
		{"overloaded", 529, nil, ``, model.Error{Kind: model.KindOverloaded, Status: 529, Message: "openai: status 529: "}},
		{"a redirect is not followed", 307, http.Header{"Location": {"/v2"}}, ``, model.Error{Kind: model.KindInvalid, Status: 307, Message: "openai: status 307: the server redirects to another path of the same host, and redirects are not followed: configure the final address as the provider's base URL"}},
		{"an error with 200", 200, http.Header{"Content-Type": {"application/json"}}, `{"error":{"message":"busy","code":503}}`, model.Error{Kind: model.KindOverloaded, Status: 503, Message: "openai: status 503: busy"}},
		{"a whole response, not a stream", 200, http.Header{"Content-Type": {"application/json; charset=utf-8"}}, `{"object":"chat.completion","choices":[]}`,
			model.Error{Kind: model.KindInvalid, Message: "openai: responded with application/json where a stream was asked for"}},
		{"a web page", 200, http.Header{"Content-Type": {"text/html"}}, `<html>`, model.Error{Kind: model.KindInvalid, Message: "openai: responded with text/html where a stream was asked for"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := serve(t, func(w http.ResponseWriter, _ *http.Request) {
				for name, values := range test.header {
					w.Header()[name] = values
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			if diff := cmp.Diff(&test.want, failed(t, m)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// failed returns the error of a stream that has nothing else.
func failed(t *testing.T, m *chatProvider) *model.Error {
	t.Helper()
	var e *model.Error
	for d, err := range m.Stream(t.Context(), request) {
		if err == nil {
			t.Fatalf("delta %+v, want an error", d)
		}
		if !errors.As(err, &e) {
			t.Fatalf("error %v is no *model.Error", err)
		}
	}
	return e
}

func TestErrorsInsideAStreamAreClassedWithoutAStatus(t *testing.T) {
	tests := []struct {
		name, body string
		want       model.ErrorKind
	}{
		{"server", `{"error":{"type":"server_error","message":"x"}}`, model.KindProvider},
		{"rate", `{"error":{"code":"rate_limit_exceeded","message":"x"}}`, model.KindRateLimited},
		{"overloaded", `{"error":{"type":"overloaded_error","message":"x"}}`, model.KindOverloaded},
		{"status in the code", `{"error":{"code":429,"message":"x"}}`, model.KindRateLimited},
		{"invalid", `{"error":{"type":"invalid_request_error","code":"bad","message":"x"}}`, model.KindInvalid},
		{"a call that Groq refuses", `{"error":{"type":"invalid_request_error","code":"tool_use_failed","failed_generation":"","status_code":400,"message":"x"}}`, model.KindInterrupted},
		{"context", `{"error":{"type":"invalid_request_error","message":"reduce the length of the messages"}}`, model.KindOverflow},
		{"unknown", `{"error":{"code":"weird","message":"x"}}`, model.KindProvider},
		{"text", `{"error":"x"}`, model.KindProvider},
		{"no message", `{"error":{"a":1}}`, model.KindProvider},
		{"no object", `{"error":[1]}`, model.KindProvider},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if e := failed(t, serve(t, replies(data(test.body)))); e.Kind != test.want {
				t.Errorf("kind %q, want %q", e.Kind, test.want)
			}
		})
	}
}
