package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core/model"
)

const (
	maxErrorBody    = 64 << 10       // bytes of a refusal's body that are read
	maxErrorMessage = 500            // bytes of a provider's message that are kept
	maxRetryAfter   = 24 * time.Hour // a longer one is a mistake
)

// failure is what a server said went wrong.
type failure struct {
	found      bool   // the body was an error of the API's form
	status     int    // HTTP status, or the one that an error in a stream names
	code       string // the first known of its code and type
	message    string
	requestID  string
	retryAfter time.Duration
}

// parseFailure reads an error body: {"error": {...}}, {"error": "text"}, or the
// fields of the error at the top. Of any other text it keeps the beginning.
func parseFailure(body []byte) failure {
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return failure{message: string(body)}
	}
	inner := []byte(outer.Error)
	var text string
	if json.Unmarshal(inner, &text) == nil && text != "" {
		return failure{found: true, message: text}
	}
	if len(inner) == 0 || string(inner) == "null" {
		inner = body
	}
	var said struct {
		Message    looseText `json:"message"`
		Type       looseText `json:"type"`
		Code       any       `json:"code"` // text, or an HTTP status
		StatusCode any       `json:"status_code"`
	}
	if json.Unmarshal(inner, &said) != nil {
		return failure{message: string(body)}
	}
	f := failure{message: string(said.Message), found: said.Message != "" || said.Type != "" || said.Code != nil}
	for _, v := range []any{said.Code, said.StatusCode} {
		if n, ok := v.(float64); ok && n >= 400 && n < 600 {
			f.status = int(n)
		}
	}
	if code, ok := said.Code.(string); ok && kinds[code] != "" {
		f.code = code
	} else {
		f.code = string(said.Type)
	}
	if f.message == "" {
		f.message = string(body)
	}
	return f
}

// err returns the failure as a *model.Error.
func (f failure) err(redact func(string) string) error {
	text := "openai: "
	if f.status != 0 {
		text += fmt.Sprintf("status %d: ", f.status)
	}
	text += bounded(redact(f.message), maxErrorMessage)
	if f.requestID != "" {
		text += " (request " + bounded(redact(f.requestID), 100) + ")"
	}
	return &model.Error{Kind: f.kind(), Message: text, Status: f.status, RetryAfter: f.retryAfter}
}

// kinds are the codes and types that say more than the status does.
var kinds = map[string]model.ErrorKind{
	"insufficient_quota":         model.KindQuota,
	"billing_hard_limit_reached": model.KindQuota,
	"billing_not_active":         model.KindQuota,
	"context_length_exceeded":    model.KindOverflow,
	"content_filter":             model.KindFiltered,
	"content_policy_violation":   model.KindFiltered,
	"model_not_found":            model.KindNotFound,
	"invalid_api_key":            model.KindUnauthorized,
	"authentication_error":       model.KindUnauthorized,
	"permission_error":           model.KindUnauthorized,
	"rate_limit_exceeded":        model.KindRateLimited,
	"rate_limit_error":           model.KindRateLimited,
	"overloaded_error":           model.KindOverloaded,
	"timeout":                    model.KindTimeout,
	"server_error":               model.KindProvider,
	"invalid_request_error":      model.KindInvalid,
}

// kind classes a failure: a code that no status has a word for first, then the
// status, and without one the code or type.
func (f failure) kind() model.ErrorKind {
	named := kinds[f.code]
	switch named {
	case model.KindQuota, model.KindOverflow, model.KindFiltered, model.KindNotFound:
		return named
	}
	switch {
	case f.status == 0:
		if named == "" || named == model.KindInvalid {
			return f.said(named)
		}
		return named
	case f.status == http.StatusBadRequest, f.status == http.StatusForbidden, f.status == http.StatusUnprocessableEntity:
		return f.said(ofStatus(f.status))
	}
	return ofStatus(f.status)
}

func ofStatus(status int) model.ErrorKind {
	switch status {
	case http.StatusPaymentRequired:
		return model.KindQuota
	case http.StatusTooManyRequests:
		return model.KindRateLimited
	case http.StatusServiceUnavailable, 529:
		return model.KindOverloaded
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return model.KindTimeout
	case http.StatusUnauthorized, http.StatusForbidden:
		return model.KindUnauthorized
	case http.StatusNotFound:
		return model.KindNotFound
	case http.StatusRequestEntityTooLarge:
		return model.KindOverflow
	case http.StatusConflict: // a lock of theirs, OpenAI's own clients retry it
		return model.KindProvider
	}
	if status >= 500 {
		return model.KindProvider
	}
	return model.KindInvalid
}

var (
	overflowPhrases = []string{
		"prompt is too long", "context_length_exceeded", "context length", "input is too long",
		"maximum context", "reduce the length", "too many tokens", "request too large", "exceeds the available context size",
	}
	filterPhrases = []string{"content filter", "content_filter", "content policy", "content management policy", "safety system", "flagged"}
)

// said refines a kind by the message, for servers that send no code.
func (f failure) said(kind model.ErrorKind) model.ErrorKind {
	message := strings.ToLower(f.message)
	has := func(phrases []string) bool {
		for _, phrase := range phrases {
			if strings.Contains(message, phrase) {
				return true
			}
		}
		return false
	}
	switch {
	case has(filterPhrases):
		return model.KindFiltered
	case f.status != http.StatusForbidden && has(overflowPhrases):
		return model.KindOverflow
	case kind == "":
		return model.KindProvider
	}
	return kind
}

// retryAfter reads how long a server asks to wait: retry-after-ms, or
// Retry-After in seconds or as a date. 0: it does not ask.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := h.Get("Retry-After")
	for _, form := range []struct {
		text string
		unit time.Duration
	}{{h.Get("Retry-After-Ms"), time.Millisecond}, {text, time.Second}} {
		if n, err := strconv.ParseFloat(form.text, 64); err == nil && !math.IsNaN(n) {
			return time.Duration(min(max(n*float64(form.unit), 0), float64(maxRetryAfter)))
		}
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}

// unreachable is the error of a request that got no response.
func unreachable(err error, redact func(string) string) error {
	kind := model.KindProvider
	var u *url.Error
	if errors.As(err, &u) {
		if u.Timeout() {
			kind = model.KindTimeout
		}
		err = u.Err
	}
	return &model.Error{Kind: kind, Message: "openai: no response: " + bounded(redact(err.Error()), maxErrorMessage)}
}

// bounded makes one line of text, of at most limit bytes.
func bounded(text string, limit int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "?")), " ")
	if len(text) <= limit {
		return text
	}
	cut := limit - len("...")
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "..."
}
