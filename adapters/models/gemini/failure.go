package gemini

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// refusal is a google.rpc.Status as the API writes it.
type refusal struct {
	Code    int      `json:"code"` // HTTP's
	Message string   `json:"message"`
	Status  string   `json:"status"` // the name of the RPC code
	Details []detail `json:"details"`
}

// detail is one of the messages of google.rpc that come with a refusal. Their fields
// do not overlap, so that the type need not be looked at.
type detail struct {
	Reason     string `json:"reason"`     // ErrorInfo
	RetryDelay string `json:"retryDelay"` // RetryInfo, such as 8.27s
	Violations []struct {
		QuotaID string `json:"quotaId"`
	} `json:"violations"` // QuotaFailure
}

// statuses are the HTTP statuses of RPC codes, for errors that name no other.
var statuses = map[string]int{
	"INVALID_ARGUMENT":    http.StatusBadRequest,
	"FAILED_PRECONDITION": http.StatusBadRequest,
	"OUT_OF_RANGE":        http.StatusBadRequest,
	"UNAUTHENTICATED":     http.StatusUnauthorized,
	"PERMISSION_DENIED":   http.StatusForbidden,
	"NOT_FOUND":           http.StatusNotFound,
	"ABORTED":             http.StatusConflict,
	"RESOURCE_EXHAUSTED":  http.StatusTooManyRequests,
	"CANCELLED":           statusCancelled,
	"INTERNAL":            http.StatusInternalServerError,
	"UNKNOWN":             http.StatusInternalServerError,
	"DATA_LOSS":           http.StatusInternalServerError,
	"UNAVAILABLE":         http.StatusServiceUnavailable,
	"DEADLINE_EXCEEDED":   http.StatusGatewayTimeout,
}

// statusCancelled is Google's status of a call that one of its servers gave up.
const statusCancelled = 499

// parseFailure reads the body of a refusal, and an error in a stream: {"error": status},
// or a list of one of them. It implements wire.Parse.
func parseFailure(status int, body []byte) (wire.Failure, bool) {
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	inner := bytes.TrimSpace(body)
	if list := []json.RawMessage(nil); json.Unmarshal(inner, &list) == nil && len(list) > 0 {
		inner = list[0]
	}
	var said refusal
	ok := json.Unmarshal(inner, &outer) == nil
	_ = json.Unmarshal(outer.Error, &said) // fields of another form stay empty
	if !ok || said.Message == "" && said.Status == "" && said.Code == 0 {
		return wire.Failure{Status: status, Message: string(body)}, false
	}
	f := wire.Failure{Status: status, Message: said.Message}
	if f.Status == 0 && said.Code >= 400 { // smaller ones are RPC's
		f.Status = said.Code
	}
	if f.Status == 0 {
		f.Status = statuses[said.Status]
	}
	if f.Message == "" {
		f.Message = said.Status
	}
	for _, d := range said.Details {
		if wait, err := time.ParseDuration(d.RetryDelay); err == nil && wait > 0 {
			f.RetryAfter = wait
		}
	}
	f.Kind = said.kind(f.Status)
	return f, true
}

// kind is what the details say beyond the status, empty for nothing.
func (r refusal) kind(status int) model.ErrorKind {
	message := strings.ToLower(r.Message)
	if status == statusCancelled {
		return model.KindInterrupted
	}
	if status == http.StatusBadRequest && strings.Contains(message, "input token count") {
		return model.KindOverflow
	}
	for _, d := range r.Details {
		if strings.HasPrefix(d.Reason, "API_KEY_") { // an invalid key is a 400
			return model.KindUnauthorized
		}
		for _, v := range d.Violations {
			if status == http.StatusTooManyRequests && strings.Contains(v.QuotaID, "PerDay") {
				return model.KindQuota
			}
		}
	}
	return ""
}
