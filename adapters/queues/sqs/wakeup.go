package sqs

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
)

// encode returns a hint's message body, which adapters/aws/lambda reads. An
// invalid hint is an error with code core.CodeInvalid.
func encode(w core.WakeUp) (string, error) {
	if err := w.Check(); err != nil {
		return "", err
	}
	body, err := json.Marshal(w)
	if err != nil {
		return "", core.Errorf(core.CodeInternal, "encode wake-up: %w", err)
	}
	return string(body), nil
}
