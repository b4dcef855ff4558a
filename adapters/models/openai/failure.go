package openai

import (
	"encoding/json"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// parseFailure reads an error body: {"error": {...}}, {"error": "text"}, or the fields of
// the error at the top. It keeps the start of any other text. status is that of the
// response, 0 for an error in a stream, which may name a status itself.
func parseFailure(status int, body []byte) (f wire.Failure, found bool) {
	f = wire.Failure{Status: status, Message: string(body)}
	var outer struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return f, false
	}
	inner := []byte(outer.Error)
	var text string
	if json.Unmarshal(inner, &text) == nil && text != "" {
		f.Message = text
		return f, true
	}
	if len(inner) == 0 || string(inner) == "null" {
		inner = body
	}
	var said failure
	if json.Unmarshal(inner, &said) != nil {
		return f, false
	}
	if said.Message != "" {
		f.Message = string(said.Message)
	}
	if status == 0 {
		f.Status = said.status()
	}
	f.Kind = said.kind(f.Status)
	if n, ok := said.Window.(float64); ok {
		f.Limit = int(n)
	}
	return f, said.Message != "" || said.Type != "" || said.Code != nil
}

// failure is what the API says of an error.
type failure struct {
	Message    looseText `json:"message"`
	Type       looseText `json:"type"`
	Code       any       `json:"code"` // text, or an HTTP status
	StatusCode any       `json:"status_code"`
	Window     any       `json:"n_ctx"` // llama.cpp, which refuses a longer request
}

// status is the HTTP status that the error names, 0 if none.
func (f failure) status() int {
	status := 0
	for _, v := range []any{f.Code, f.StatusCode} {
		if n, ok := v.(float64); ok && n >= 400 && n < 600 {
			status = int(n)
		}
	}
	return status
}

// kind is the kind that the error's code or type adds to its status, otherwise empty. An
// error in a stream has no status; but "invalid request" is too general to count.
func (f failure) kind(status int) model.ErrorKind {
	code, _ := f.Code.(string)
	named, known := kinds[code]
	if !known {
		named = kinds[string(f.Type)]
	}
	switch named {
	case model.KindQuota, model.KindOverflow, model.KindFiltered, model.KindNotFound, model.KindInterrupted:
		return named
	case model.KindInvalid:
		if said := wire.Said(string(f.Message)); status == 0 && said != "" {
			return said
		}
	}
	if status == 0 {
		return named
	}
	return ""
}

// kinds are the codes and types that say more than the status does.
var kinds = map[string]model.ErrorKind{
	"insufficient_quota":         model.KindQuota,
	"billing_hard_limit_reached": model.KindQuota,
	"billing_not_active":         model.KindQuota,
	"context_length_exceeded":    model.KindOverflow,
	"exceed_context_size_error":  model.KindOverflow,
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
	"server_is_overloaded":       model.KindOverloaded,
	"slow_down":                  model.KindOverloaded,
	"server_error":               model.KindProvider,
	"invalid_prompt":             model.KindInvalid,
	"invalid_request_error":      model.KindInvalid,
	"tool_use_failed":            model.KindInterrupted, // Groq: the model's call does not match the tool; asked again, it most often writes another
}
