package dynamo

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

const (
	lastSeq    = 999_999_999_999 // the last that a log record's name can hold
	lastRune   = "\U0010FFFF"    // sorts after all text that may follow in a name
	firstName  = "A"             // record names begin with a capital letter
	dueIndex   = "due"
	betweenSKs = "pk = :pk AND sk BETWEEN :from AND :to"
)

// Log implements [store.Backend]. It reads pages of 1 MB, as many as the caller consumes.
func (s *Store) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return s.log(ctx, "read log of %s", key, from, to, true, nil)
}

// LogBackwards implements [store.Backend]. It reads pages of 1 MB, as Log does.
func (s *Store) LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return s.log(ctx, "read log of %s backwards", key, from, to, true, aws.Bool(false))
}

// LogBackwardsEventually implements [store.EventualLog]: for half of the read units of
// LogBackwards. It reads pages of 1 MB, as Log does.
func (s *Store) LogBackwardsEventually(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return s.log(ctx, "read log of %s backwards", key, from, to, false, aws.Bool(false))
}

// log reads a range in pages of 1 MB; forward nil is true.
func (s *Store) log(ctx context.Context, doing string, key core.ThreadKey, from, to uint64, strong bool, forward *bool) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		pk, err := partition(key)
		if err != nil {
			yield(store.Record{}, err)
			return
		}
		to := min(to, lastSeq)
		if from > to {
			return
		}
		input := &dynamodb.QueryInput{
			ConsistentRead:            aws.Bool(strong),
			ScanIndexForward:          forward,
			KeyConditionExpression:    aws.String(betweenSKs),
			ExpressionAttributeValues: item{":pk": pk, ":from": text(store.LogName(from)), ":to": text(store.LogName(to))},
		}
		for record, err := range s.records(ctx, fmt.Sprintf(doing, key), input) {
			if _, ok := record.LogSeq(); !ok && err == nil {
				continue
			}
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// Records implements [store.Backend], eventually consistent.
func (s *Store) Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
	pk, err := partition(key)
	if err != nil {
		return nil, err
	}
	from, to := max(prefix, after, firstName), prefix+lastRune
	if limit <= 0 || from > to {
		return nil, nil
	}
	input := &dynamodb.QueryInput{
		Limit:                     aws.Int32(int32(min(limit, math.MaxInt32-1)) + 1), // one may be after itself
		KeyConditionExpression:    aws.String(betweenSKs),
		ExpressionAttributeValues: item{":pk": pk, ":from": text(from), ":to": text(to)},
	}
	var records []store.Record
	for record, err := range s.records(ctx, fmt.Sprintf("list %s of %s", prefix, key), input) {
		if err != nil {
			return nil, err
		}
		if record.Name == after || !strings.HasPrefix(record.Name, prefix) {
			continue
		}
		if records = append(records, record); len(records) == limit {
			break
		}
	}
	return records, nil
}

// RecordsBackwards implements [store.Backend], eventually consistent.
func (s *Store) RecordsBackwards(ctx context.Context, key core.ThreadKey, prefix, before string, limit int) ([]store.Record, error) {
	pk, err := partition(key)
	if err != nil {
		return nil, err
	}
	from, to := max(prefix, firstName), prefix+lastRune
	if before != "" {
		to = min(to, before)
	}
	if limit <= 0 || from > to {
		return nil, nil
	}
	input := &dynamodb.QueryInput{
		Limit:                     aws.Int32(int32(min(limit, math.MaxInt32-1)) + 1), // one may be before itself
		ScanIndexForward:          aws.Bool(false),
		KeyConditionExpression:    aws.String(betweenSKs),
		ExpressionAttributeValues: item{":pk": pk, ":from": text(from), ":to": text(to)},
	}
	var records []store.Record
	for record, err := range s.records(ctx, fmt.Sprintf("list %s of %s backwards", prefix, key), input) {
		if err != nil {
			return nil, err
		}
		if record.Name == before || !strings.HasPrefix(record.Name, prefix) {
			continue
		}
		if records = append(records, record); len(records) == limit {
			break
		}
	}
	return records, nil
}

// Overdue implements [store.Backend] on the sparse index, which lags a little. Threads
// that are due in the same minute have no particular order, but they have the same order
// on every page.
func (s *Store) Overdue(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) ([]store.Overdue, error) {
	if shard < 0 || shard >= store.Shards {
		return nil, core.Errorf(core.CodeInvalid, "shard %d is not in 0..%d", shard, store.Shards-1)
	}
	doing := fmt.Sprintf("list what is due in shard %d", shard)
	input := &dynamodb.QueryInput{
		IndexName:                 aws.String(dueIndex),
		Limit:                     aws.Int32(int32(min(limit, math.MaxInt32))),
		KeyConditionExpression:    aws.String("g = :g AND d <= :until"),
		ExpressionAttributeValues: item{":g": number(shard), ":until": number(until)},
	}
	if after != nil {
		pk, err := partition(after.Key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		input.ExclusiveStartKey = item{attrShard: number(shard), attrDue: number(after.At), attrPK: pk, attrSK: text(headName)}
	}
	if limit <= 0 || after != nil && after.At > until {
		return nil, nil
	}
	var list []store.Overdue
	for it, err := range s.threads.items(ctx, doing, input) {
		if err != nil {
			return nil, err
		}
		key, err := threadKey(it)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		at, err := numberOf(it, attrDue)
		if err != nil || at > math.MaxInt64 {
			return nil, fmt.Errorf("%s: %w: the time of %s is not a number in range", doing, store.ErrCorrupt, key)
		}
		if list = append(list, store.Overdue{Key: key, At: int64(at)}); len(list) == limit {
			break
		}
	}
	return list, nil
}

// NothingDue implements [store.QuietDue]: half a read unit in place of the queries of all
// shards. An empty page that is not the index's last, as one of several partitions may
// have, decides nothing.
func (s *Store) NothingDue(ctx context.Context) (bool, error) {
	out, err := s.threads.scan(ctx, "look whether anything is due", &dynamodb.ScanInput{IndexName: aws.String(dueIndex), Limit: aws.Int32(1)})
	if err != nil {
		return false, err
	}
	return len(out.Items) == 0 && len(out.LastEvaluatedKey) == 0, nil
}

// records decodes what a query finds in a thread's partition, without the HEAD
// and without what has expired.
func (s *Store) records(ctx context.Context, doing string, input *dynamodb.QueryInput) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		now := s.now().Unix()
		keep := func(it item) bool { return textOf(it, attrSK) != headName && !expired(it, now) }
		for it, err := range s.fetched(ctx, doing, s.threads.pages(ctx, doing, input), keep) {
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			record, err := decodeRecord(it)
			if err != nil {
				err = fmt.Errorf("%s: %w", doing, err)
			}
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}
