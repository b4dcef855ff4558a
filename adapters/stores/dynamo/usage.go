package dynamo

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func hourText(hour int64) string { return fmt.Sprintf("%010d", hour) }

func usagePartition(tenant string, hour int64) types.AttributeValue {
	return text("U#" + tenant + "#" + hourText(hour))
}

func totalsPartition(tenant string) types.AttributeValue { return text("V#" + tenant) }

func marksPartition(shard int) types.AttributeValue { return text("W#" + strconv.Itoa(shard)) }

func markName(tenant string, hour int64) string { return tenant + "#" + hourText(hour) }

// usagePut is a usage record that is ready to be sent.
type usagePut struct {
	doing string
	usage store.Usage
	item  item
}

func (s *Store) prepareUsage(key core.ThreadKey, usage *store.Usage) (*usagePut, error) {
	if usage == nil {
		return nil, nil
	}
	if _, err := usage.AdmitUsage(nil); err != nil {
		return nil, err
	}
	u := usage.Record
	it := item{attrPK: usagePartition(key.Tenant, usage.Hour), attrSK: text(u.Name), attrFence: number(u.Fence), attrAt: number(u.Version)}
	if u.Expires != 0 {
		it[attrExpires] = number(u.Expires)
	}
	doing := fmt.Sprintf("put %s of %s", u.Name, key)
	return &usagePut{doing, *usage, it}, setPayload(it, doing, u.Payload, maxPayload)
}

// putUsage sends a usage record.
func (s *Store) putUsage(ctx context.Context, p *usagePut) error {
	input := &dynamodb.PutItemInput{Item: p.item}
	s.condition(input, store.KindRewrite)
	for range 2 { // as in putRecord
		met, err := s.threads.put(ctx, p.doing, input)
		if err != nil || met == nil {
			return err
		}
		if len(met.item) == 0 {
			continue
		}
		stored, err := decodeRecord(met.item)
		if err != nil {
			return fmt.Errorf("%s: %w", p.doing, err)
		}
		if write, err := p.usage.AdmitUsage(&stored); err != nil || !write {
			return err
		}
	}
	return core.Errorf(core.CodeUnavailable, "%s: the stored item changed during the write", p.doing)
}

// marked remembers the marks of an hour that this process has set: they are valid until
// the hour has passed.
type marked struct {
	mu      sync.Mutex
	hour    int64
	tenants map[string]struct{}
}

// maxMarked bounds what is remembered; a tenant beyond it is marked again.
const maxMarked = 10_000

func (m *marked) has(tenant string, hour int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, ok := m.tenants[tenant]
	return ok && m.hour == hour
}

func (m *marked) note(tenant string, hour int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hour != hour || len(m.tenants) >= maxMarked {
		m.hour, m.tenants = hour, map[string]struct{}{}
	}
	m.tenants[tenant] = struct{}{}
}

// mark marks the hour of a record that is stored. The time is read after the put: if the
// hour has passed by then, the worker that sums it has seen the record.
func (s *Store) mark(ctx context.Context, tenant string, hour int64) error {
	current := s.now().UnixMilli()/time.Hour.Milliseconds() == hour
	if current && s.marked.has(tenant, hour) {
		return nil
	}
	it := item{attrPK: marksPartition(store.UsageMark{Tenant: tenant}.Shard()), attrSK: text(markName(tenant, hour)), attrRevision: number(s.revision())}
	_, err := s.threads.put(ctx, "mark usage of "+tenant, &dynamodb.PutItemInput{Item: it})
	if err == nil && current {
		s.marked.note(tenant, hour)
	}
	return err
}

// UsageRecords implements [store.Backend].
func (s *Store) UsageRecords(ctx context.Context, tenant string, hour int64, after string, limit int) ([]store.Record, error) {
	if err := core.CheckName("tenant", tenant); err != nil || limit <= 0 {
		return nil, err
	}
	doing := fmt.Sprintf("read usage of %s", tenant)
	var records []store.Record
	for it, err := range s.threads.items(ctx, doing, usageQuery(usagePartition(tenant, hour), after, lastRune, limit)) {
		if err != nil {
			return nil, err
		}
		if textOf(it, attrSK) == after || expired(it, s.now().Unix()) {
			continue
		}
		record, err := decodeRecord(it)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
		if records = append(records, record); len(records) == limit {
			break
		}
	}
	return records, nil
}

// usageQuery reads a partition strongly consistent, from a name on: one more than limit,
// since the first may be the one that the reader has.
func usageQuery(pk types.AttributeValue, from, to string, limit int) *dynamodb.QueryInput {
	if from == "" {
		from = "!" // before every name: a key cannot be empty
	}
	return &dynamodb.QueryInput{
		ConsistentRead:            aws.Bool(true),
		Limit:                     aws.Int32(int32(min(limit, math.MaxInt32-1)) + 1),
		KeyConditionExpression:    aws.String(betweenSKs),
		ExpressionAttributeValues: item{":pk": pk, ":from": text(from), ":to": text(to)},
	}
}

// UsageMarks implements [store.Backend].
func (s *Store) UsageMarks(ctx context.Context, shard int, tenant string, after *store.UsageMark, limit int) ([]store.UsageMark, error) {
	if err := (store.UsageMark{Tenant: tenant}).CheckShard(shard); err != nil || limit <= 0 {
		return nil, err
	}
	from, to, behind := "", lastRune, ""
	if tenant != "" {
		from, to = tenant+"#", tenant+"#"+lastRune
	}
	if after != nil {
		behind = markName(after.Tenant, after.Hour)
		from = max(from, behind)
	}
	const doing = "list marks of usage"
	var marks []store.UsageMark
	for it, err := range s.threads.items(ctx, doing, usageQuery(marksPartition(shard), from, to, limit)) {
		if err != nil {
			return nil, err
		}
		name := textOf(it, attrSK)
		if name == behind {
			continue
		}
		own, hour, _ := strings.Cut(name, "#")
		n, errHour := strconv.ParseInt(hour, 10, 64)
		revision, errRevision := numberOf(it, attrRevision)
		if errHour != nil || errRevision != nil {
			return nil, fmt.Errorf("%s: %w: %q names no hour, or has no revision", doing, store.ErrCorrupt, core.Excerpt(name))
		}
		if marks = append(marks, store.UsageMark{Tenant: own, Hour: n, Revision: revision}); len(marks) == limit {
			break
		}
	}
	return marks, nil
}

// SumUsage implements [store.Backend]: the total first, then the mark.
func (s *Store) SumUsage(ctx context.Context, mark store.UsageMark, total store.UsageTotal) error {
	if err := mark.CheckSum(total); err != nil {
		return err
	}
	doing, next := fmt.Sprintf("sum usage of %s", mark.Tenant), s.revision()
	it := item{attrPK: totalsPartition(mark.Tenant), attrSK: text(hourText(total.Hour)), attrRevision: number(next)}
	if total.Expires != 0 {
		it[attrExpires] = number(total.Expires)
	}
	if err := setPayload(it, doing, total.Payload, maxPayload); err != nil {
		return err
	}
	input := &dynamodb.PutItemInput{Item: it, ConditionExpression: aws.String("attribute_not_exists(pk)")}
	if total.Revision != 0 {
		input.ConditionExpression = aws.String("r = :r")
		input.ExpressionAttributeValues = item{":r": number(total.Revision)}
	}
	met, err := s.threads.put(ctx, doing, input)
	if err != nil {
		return err
	}
	if met != nil {
		stored, err := numberOf(met.item, attrRevision)
		if err != nil || stored != next { // else an earlier try was applied
			return fmt.Errorf("%s: %w", doing, store.ErrConflict)
		}
	}
	_, err = s.threads.remove(ctx, doing, &dynamodb.DeleteItemInput{
		Key:                       item{attrPK: marksPartition(mark.Shard()), attrSK: text(markName(mark.Tenant, mark.Hour))},
		ConditionExpression:       aws.String("r = :r"),
		ExpressionAttributeValues: item{":r": number(mark.Revision)},
	})
	return err // a mark that was set again, or is gone, stays as it is
}

// UsageTotals implements [store.Backend].
func (s *Store) UsageTotals(ctx context.Context, tenant string, from, to int64, limit int) ([]store.UsageTotal, error) {
	if err := core.CheckName("tenant", tenant); err != nil || limit <= 0 || from > to {
		return nil, err
	}
	doing := fmt.Sprintf("read totals of usage of %s", tenant)
	var totals []store.UsageTotal
	for it, err := range s.threads.items(ctx, doing, usageQuery(totalsPartition(tenant), hourText(max(from, 0)), hourText(max(to, 0)), limit)) {
		if err != nil {
			return nil, err
		}
		if expired(it, s.now().Unix()) {
			continue
		}
		hour, errHour := strconv.ParseInt(textOf(it, attrSK), 10, 64)
		revision, errRevision := numberOf(it, attrRevision)
		payload, errPayload := payloadOf(it)
		expires, errExpires := numberOf(it, attrExpires)
		if errHour != nil || errRevision != nil || errPayload != nil || errExpires != nil || expires > math.MaxInt64 {
			return nil, fmt.Errorf("%s: %w: hour %q", doing, store.ErrCorrupt, core.Excerpt(textOf(it, attrSK)))
		}
		if totals = append(totals, store.UsageTotal{Hour: hour, Revision: revision, Payload: payload, Expires: int64(expires)}); len(totals) == limit {
			break
		}
	}
	return totals, nil
}
