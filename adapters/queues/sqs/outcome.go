package sqs

import (
	"errors"

	"github.com/aws/smithy-go"

	"github.com/reveille-run/reveille/core"
)

// outcome gives an error its code: throttled, internal if the queue refuses the request
// permanently, otherwise unavailable.
func outcome(doing string, err error) error {
	var refused smithy.APIError
	var response interface{ HTTPStatusCode() int }
	switch {
	case !errors.As(err, &refused):
		return core.Errorf(core.CodeUnavailable, "%s: %w", doing, err)
	case throttles(refused.ErrorCode()):
		return core.Errorf(core.CodeThrottled, "%s: %w", doing, err)
	case errors.As(err, &response) && response.HTTPStatusCode() >= 500:
		return core.Errorf(core.CodeUnavailable, "%s: %w", doing, err)
	}
	return core.Errorf(core.CodeInternal, "%s: %w", doing, err)
}

func throttles(code string) bool {
	switch code {
	case "RequestThrottled", "ThrottlingException", "Throttling", "OverLimit", "KmsThrottled":
		return true
	}
	return false
}
