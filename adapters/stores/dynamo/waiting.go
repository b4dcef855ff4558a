package dynamo

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

const waitingIndex = "waiting"

// waitingPartition is the index's hash key: what a policy that fences a tenant's
// partitions allows is allowed here.
func waitingPartition(tenant string) string { return "T#" + tenant + "#" }

// waitingSort is the index's range key, which sorts as the times do.
func waitingSort(w store.Waiting) string { return fmt.Sprintf("%019d#%s", w.Since, w.Thread) }

func parseWaitingSort(s string) (store.Waiting, error) {
	digits, name, ok := strings.Cut(s, "#")
	since, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || core.CheckName("thread", name) != nil {
		return store.Waiting{}, fmt.Errorf("%w: index key %q names no thread that waits", store.ErrCorrupt, core.Excerpt(s))
	}
	return store.Waiting{Thread: name, Since: since}, nil
}

// Waiting implements [store.Backend] on the sparse index, which lags a little.
func (s *Store) Waiting(ctx context.Context, tenant string, after *store.Waiting, limit int) ([]store.Waiting, error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	if limit <= 0 {
		return nil, nil
	}
	doing := fmt.Sprintf("list what waits of %s", tenant)
	input := &dynamodb.QueryInput{
		IndexName:                 aws.String(waitingIndex),
		Limit:                     aws.Int32(int32(min(limit, math.MaxInt32))),
		KeyConditionExpression:    aws.String("w = :w"),
		ExpressionAttributeValues: item{":w": text(waitingPartition(tenant))},
	}
	if after != nil { // it need not be there any more, so no ExclusiveStartKey
		input.KeyConditionExpression = aws.String("w = :w AND o > :o")
		input.ExpressionAttributeValues[":o"] = text(waitingSort(*after))
	}
	var list []store.Waiting
	for it, err := range s.threads.items(ctx, doing, input) {
		if err != nil {
			return nil, err
		}
		w, err := parseWaitingSort(textOf(it, attrSince))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		if list = append(list, w); len(list) == limit {
			break
		}
	}
	return list, nil
}
