package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// parseFailure reads an error body, or the data of an error in a stream, whose status is
// 0. It keeps the start of any other text.
func parseFailure(status int, body []byte) (f wire.Failure, found bool) {
	f = wire.Failure{Status: status, Message: string(body)}
	var said struct {
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
			Details struct {
				Code string `json:"error_code"`
			} `json:"details"`
		} `json:"error"`
		RequestID string `json:"request_id"`
	}
	if json.Unmarshal(body, &said) != nil || said.Error.Type == "" && said.Error.Message == "" {
		return f, false
	}
	f.RequestID = said.RequestID
	if said.Error.Message != "" {
		f.Message = said.Error.Message
	}
	if status == 0 && said.Error.Message == "" {
		f.Message = said.Error.Type
	}
	f.Kind = kindOf(status, said.Error.Type, said.Error.Details.Code, said.Error.Message)
	return f, true
}

// kinds are the types that say more than the status does, or as much.
var kinds = map[string]model.ErrorKind{
	"authentication_error": model.KindUnauthorized,
	"permission_error":     model.KindUnauthorized,
	"billing_error":        model.KindQuota,
	"not_found_error":      model.KindNotFound,
	"request_too_large":    model.KindOverflow,
	"rate_limit_error":     model.KindRateLimited,
	"timeout_error":        model.KindTimeout,
	"overloaded_error":     model.KindOverloaded,
}

// spent are phrases of refusals, 400 among them, that more money cures and waiting does not.
var spent = []string{"credit balance is too low", "specified api usage limits", "specified workspace api usage limits"}

// kindOf classifies an error by its type, code and message; empty if the status and the
// message decide.
func kindOf(status int, errorType, code, message string) model.ErrorKind {
	if code == "enforced_spend_limit_reached" {
		return model.KindQuota
	}
	message = strings.ToLower(message)
	for _, phrase := range spent {
		if strings.Contains(message, phrase) {
			return model.KindQuota
		}
	}
	if kind := kinds[errorType]; kind != "" {
		return kind
	}
	if status == 0 && errorType == "invalid_request_error" {
		if kind := wire.Said(message); kind != "" {
			return kind
		}
		return model.KindInvalid
	}
	return ""
}
