package dynamo

import (
	"context"
	"fmt"
	"iter"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reveille-run/reveille/core"
)

// activityName is the sort key of the record that lists a thread by its last activity.
const activityName = "L#"

// Threads lists the threads of all tenants whose last activity was at or after since, in
// unix milliseconds; 0: all threads that have had a run, without deleted ones. They have no
// order. An error is the last that it yields.
//
// It scans the index "listed", which lags a little. A scan is billed for the whole index,
// half a read unit for 4 KB, with any value of since: it is for operators, not for requests.
func (s *Store) Threads(ctx context.Context, since int64) iter.Seq2[core.ThreadKey, error] {
	return func(yield func(core.ThreadKey, error) bool) {
		const doing = "list active threads"
		input := &dynamodb.ScanInput{
			IndexName:                 aws.String(listedIndex),
			FilterExpression:          aws.String("sk = :activity AND m >= :since"),
			ProjectionExpression:      aws.String(attrPK),
			ExpressionAttributeValues: item{":activity": text(activityName), ":since": text(fmt.Sprintf("%019d", since))},
		}
		for {
			out, err := s.threads.scan(ctx, doing, input)
			if err != nil {
				yield(core.ThreadKey{}, err)
				return
			}
			for _, it := range out.Items {
				key, err := threadKey(it)
				if err != nil {
					err = fmt.Errorf("%s: %w", doing, err)
				}
				if !yield(key, err) || err != nil {
					return
				}
			}
			if len(out.LastEvaluatedKey) == 0 {
				return
			}
			input.ExclusiveStartKey = out.LastEvaluatedKey
		}
	}
}
