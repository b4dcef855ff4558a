package sqs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/reveille-run/reveille/core"
)

// failure is one item of a batch that was not done.
type failure struct {
	Index int // in the slice that was passed
	Err   error
}

// batchFailure reports the items of a batch that were not done, in order of their
// index; all others were. Its code (see core.CodeOf) is that of the first.
type batchFailure struct {
	Failures []failure
	doing    string
}

// Error implements error.
func (e *batchFailure) Error() string {
	return fmt.Sprintf("%s: %d not done, the first at index %d: %v", e.doing, len(e.Failures), e.Failures[0].Index, e.Failures[0].Err)
}

// Failed is how many items were not done.
func (e *batchFailure) Failed() int { return len(e.Failures) }

// Unwrap returns the errors of all items.
func (e *batchFailure) Unwrap() []error {
	errs := make([]error, len(e.Failures))
	for i, f := range e.Failures {
		errs[i] = f.Err
	}
	return errs
}

func batchError(doing string, failures []failure) error {
	if len(failures) == 0 {
		return nil
	}
	slices.SortFunc(failures, func(a, b failure) int { return cmp.Compare(a.Index, b.Index) })
	return &batchFailure{Failures: failures, doing: doing}
}

// inBatches sends entries, whose ids are decimal indexes, ten at a time, and
// what was refused once more. A refusal that the service calls the sender's
// fault is final.
func inBatches[E any](ctx context.Context, entries []E, id func(E) string,
	send func(context.Context, []E) ([]types.BatchResultErrorEntry, error)) []failure {
	var failures []failure
	var again []E
	round := func(entries []E, last bool) {
		for batch := range slices.Chunk(entries, batchSize) {
			refused, err := send(ctx, batch)
			for _, e := range batch {
				index, _ := strconv.Atoi(id(e))
				at := slices.IndexFunc(refused, func(r types.BatchResultErrorEntry) bool { return aws.ToString(r.Id) == id(e) })
				switch {
				case err != nil && last:
					failures = append(failures, failure{Index: index, Err: err})
				case err != nil:
					again = append(again, e)
				case at >= 0 && (last || refused[at].SenderFault):
					failures = append(failures, failure{Index: index, Err: refusal(refused[at])})
				case at >= 0:
					again = append(again, e)
				}
			}
		}
	}
	round(entries, false)
	round(again, true)
	return failures
}

func refusal(r types.BatchResultErrorEntry) error {
	code := core.CodeUnavailable
	switch {
	case throttles(aws.ToString(r.Code)):
		code = core.CodeThrottled
	case r.SenderFault:
		code = core.CodeInternal
	}
	return core.Errorf(code, "queue refuses: %s %s", aws.ToString(r.Code), aws.ToString(r.Message))
}
