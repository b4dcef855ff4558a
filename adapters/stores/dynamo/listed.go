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

const listedIndex = "listed"

// listPartition is the index's hash key, and begins as the keys of a tenant's
// partitions do; no part has the separator.
func listPartition(tenant, list string) string { return "T#" + tenant + "#" + list }

// placeSort is the index's range key, which sorts as places do.
func placeSort(p store.Place) string { return fmt.Sprintf("%019d#%s#%s", p.At, p.Thread, p.Name) }

func parsePlaceSort(s string) (p store.Place, err error) {
	digits, rest, ok := strings.Cut(s, "#")
	name, record, cut := strings.Cut(rest, "#")
	at, err := strconv.ParseInt(digits, 10, 64)
	if !ok || !cut || err != nil || core.CheckName("thread", name) != nil {
		return p, fmt.Errorf("%w: index key %q names no record that is listed", store.ErrCorrupt, core.Excerpt(s))
	}
	return store.Place{At: at, Thread: name, Name: record}, nil
}

// setPlace gives a record that is listed its key in the index.
func setPlace(it item, r store.Record) error {
	key, err := threadKey(it)
	if err != nil {
		return err
	}
	list, place, err := r.Place(key.Thread)
	if err != nil {
		return err
	}
	it[attrList] = text(listPartition(key.Tenant, list))
	it[attrPlace] = text(placeSort(place))
	return nil
}

// Listed implements [store.Backend] on the sparse index, which lags a little and has the
// payloads of the listed records.
func (s *Store) Listed(ctx context.Context, tenant, list string, before *store.Place, limit int) ([]store.Listed, error) {
	if err := store.CheckListed(tenant, list); err != nil {
		return nil, err
	}
	if limit <= 0 {
		return nil, nil
	}
	doing := fmt.Sprintf("list %s of %s", list, tenant)
	input := &dynamodb.QueryInput{
		IndexName:                 aws.String(listedIndex),
		Limit:                     aws.Int32(int32(min(limit, math.MaxInt32))),
		ScanIndexForward:          aws.Bool(false),
		KeyConditionExpression:    aws.String("l = :l"),
		ExpressionAttributeValues: item{":l": text(listPartition(tenant, list))},
	}
	if before != nil { // it need not be there any more, so no ExclusiveStartKey
		input.KeyConditionExpression = aws.String("l = :l AND m < :m")
		input.ExpressionAttributeValues[":m"] = text(placeSort(*before))
	}
	var all []store.Listed
	for it, err := range s.threads.items(ctx, doing, input) {
		if err != nil {
			return nil, err
		}
		place, err := parsePlaceSort(textOf(it, attrPlace))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		payload, err := payloadOf(it)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		if all = append(all, store.Listed{Place: place, Payload: payload}); len(all) == limit {
			break
		}
	}
	return all, nil
}
