package dynamo

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// history remembers how the tries inside one SDK call ended. The SDK reports
// only the last: a throttled third try says nothing of a first that timed out
// after the write was applied.
type history struct{ unanswered bool }

// watch makes the call's retryer report to the history.
func (h *history) watch(o *dynamodb.Options) {
	if r, ok := o.Retryer.(aws.RetryerV2); ok {
		o.Retryer = &watched{RetryerV2: r, history: h}
	}
}

type watched struct {
	aws.RetryerV2
	history *history
}

// IsErrorRetryable is called for every attempt that ended in an error.
func (w *watched) IsErrorRetryable(err error) bool {
	if !refused(err) {
		w.history.unanswered = true
	}
	return w.RetryerV2.IsErrorRetryable(err)
}

// outcome gives the error of a whole call its meaning.
func (h *history) outcome(doing string, err error) error {
	switch {
	case h.unanswered || !refused(err):
		return core.Errorf(core.CodeUnavailable, "%s: outcome unknown: %w", doing, err)
	case throttled(err):
		return fmt.Errorf("%s: %w: %w", doing, store.ErrThrottled, err)
	}
	return core.Errorf(core.CodeInternal, "%s: %w", doing, err)
}

// refused reports whether the service refused the request, so that nothing
// was written. Anything else (no response, a 5xx, a response that cannot be read)
// leaves the outcome open.
func refused(err error) bool {
	var refusal smithy.APIError
	if !errors.As(err, &refusal) {
		return false
	}
	var response interface{ HTTPStatusCode() int }
	if !errors.As(err, &response) {
		return throttled(err)
	}
	status := response.HTTPStatusCode()
	return status >= 400 && status < 500 || throttled(err)
}

func throttled(err error) bool {
	var refusal smithy.APIError
	if !errors.As(err, &refusal) {
		return false
	}
	switch refusal.ErrorCode() {
	case "ProvisionedThroughputExceededException", "RequestLimitExceeded", "ThrottlingException", "Throttling":
		return true
	}
	return false
}
