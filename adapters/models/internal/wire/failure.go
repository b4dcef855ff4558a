package wire

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/internal/egress"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

const (
	maxErrorBody    = 64 << 10       // bytes of a refusal's body that are read
	maxErrorMessage = 500            // bytes of a provider's message that are kept
	maxRetryAfter   = 24 * time.Hour // a longer one is a mistake
)

// Failure is an error that a provider reported, or an error of the connection to it.
type Failure struct {
	Kind       model.ErrorKind // empty: [KindOf] the status and the message
	Status     int             // HTTP status, or the status in an error of a stream; 0: none
	Message    string          // the provider's text, of any length: it is shortened and the key removed
	RequestID  string          // by which the provider finds the request; may be empty
	RetryAfter time.Duration   // as the provider asked; 0: it did not ask
	Limit      int             // the tokens that a request may have, of a field; 0, or out of bounds: see the message
}

// Error implements error.
func (f Failure) Error() string { return f.Message }

// named returns the failure as a *model.Error of an adapter.
func (f Failure) named(adapter string, key secret.String) error {
	text := adapter + ": "
	if f.Status != 0 {
		text += fmt.Sprintf("status %d: ", f.Status)
	}
	text += OneLine(Redact(f.Message, key.Reveal()), maxErrorMessage)
	if f.RequestID != "" {
		text += " (request " + OneLine(Redact(f.RequestID, key.Reveal()), 100) + ")"
	}
	kind := cmp.Or(f.Kind, KindOf(f.Status, f.Message))
	e := &model.Error{Kind: kind, Message: text, Status: f.Status, RetryAfter: min(f.RetryAfter, maxRetryAfter)}
	if kind == model.KindOverflow {
		e.Limit = cmp.Or(believed(f.Limit), LimitIn(f.Message))
	}
	return e
}

// KindOf classifies a failure by its HTTP status, 0 for an error in a stream without a
// status, and by its message if the status is ambiguous.
func KindOf(status int, message string) model.ErrorKind {
	said := Said(message)
	switch status {
	case 0:
		return cmp.Or(said, model.KindProvider)
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		return cmp.Or(said, model.KindInvalid)
	case http.StatusForbidden:
		if said == model.KindFiltered {
			return said
		}
	}
	return ofStatus(status)
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
		"prompt is too long", "context_length_exceeded", "context length", "context window", "input is too long",
		"maximum context", "reduce the length", "too many tokens", "request too large", "exceeds the available context size",
		"exceeds the maximum number of tokens", "exceed context limit",
		"maximum prompt length", "prompt exceeds max length", "too many input tokens", "maximum model length",
	}
	filterPhrases = []string{"content filter", "content_filter", "content policy", "content management policy", "safety system", "flagged"}
)

// Said classifies the message of a provider that sends no code: KindFiltered,
// KindOverflow, or empty for any other.
func Said(message string) model.ErrorKind {
	message = strings.ToLower(message)
	has := func(phrase string) bool { return strings.Contains(message, phrase) }
	switch {
	case slices.ContainsFunc(filterPhrases, has):
		return model.KindFiltered
	case slices.ContainsFunc(overflowPhrases, has):
		return model.KindOverflow
	}
	return ""
}

// requestID reads the id under which the provider logs the request.
func requestID(h http.Header) string {
	return cmp.Or(h.Get("X-Request-Id"), h.Get("Request-Id"))
}

// RetryAfter reads the wait that a server asks for: retry-after-ms, or Retry-After in
// seconds or as a date, 24 h at most. 0: it does not ask.
func RetryAfter(h http.Header, now time.Time) time.Duration {
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

// unreachable is the failure of a request that got no response.
func unreachable(err error) Failure {
	kind := model.KindProvider
	var u *url.Error
	if errors.As(err, &u) {
		if u.Timeout() {
			kind = model.KindTimeout
		}
		err = u.Err
	}
	if errors.Is(err, egress.ErrRefused) { // another attempt would be refused, too
		return Failure{Kind: model.KindInvalid, Message: err.Error()}
	}
	return Failure{Kind: kind, Message: "no response: " + err.Error()}
}
