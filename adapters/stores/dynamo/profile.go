package dynamo

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// newRevision draws a revision. No two writers draw the same one, so that a write
// which meets its own is known to have been applied by an earlier try.
func newRevision() uint64 { return 1 + rand.Uint64N(math.MaxInt64) }

// profilePrefix begins the sort key of a profile; what follows is its key.
const profilePrefix = "K#"

// profileItem is the place of a profile: its partition is that of its namespace.
// Neither tenant nor namespace contains the '#' that separates them.
func profileItem(tenant string, name state.ProfileName) (item, error) {
	pk, err := profilePartition(tenant, name.Namespace)
	if err != nil {
		return nil, err
	}
	return item{attrPK: pk, attrSK: text(profilePrefix + name.Key)}, name.Check()
}

func profilePartition(tenant, namespace string) (types.AttributeValue, error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	if err := core.CheckName("profile namespace", namespace); err != nil {
		return nil, err
	}
	return text("P#" + tenant + "#" + namespace), nil
}

// ReadProfile implements [store.Backend].
func (s *Store) ReadProfile(ctx context.Context, tenant string, name state.ProfileName) (state.Profile, error) {
	key, err := profileItem(tenant, name)
	if err != nil {
		return state.Profile{}, err
	}
	doing := fmt.Sprintf("read profile %s of %s", name, tenant)
	it, err := s.config.get(ctx, doing, key[attrPK], key[attrSK])
	if err != nil || len(it) == 0 {
		return state.Profile{}, err
	}
	revision, err := profileRevision(it)
	if err != nil {
		return state.Profile{}, fmt.Errorf("%s: %w", doing, err)
	}
	value, err := payloadOf(it)
	if err != nil {
		return state.Profile{}, fmt.Errorf("%s: %w", doing, err)
	}
	return state.Profile{Value: value, Revision: revision}, nil
}

// profileRevision is 0 for nothing.
func profileRevision(it item) (uint64, error) {
	if len(it) == 0 {
		return 0, nil
	}
	revision, err := numberOf(it, attrRevision)
	if err != nil || revision == 0 || revision == state.AnyRevision {
		return 0, fmt.Errorf("%w: the revision is not a number in range", store.ErrCorrupt)
	}
	return revision, nil
}

// WriteProfile implements [store.Backend].
func (s *Store) WriteProfile(ctx context.Context, tenant string, name state.ProfileName, value json.RawMessage, revision uint64) (uint64, error) {
	it, err := profileItem(tenant, name)
	if err != nil {
		return 0, err
	}
	if err := name.CheckWrite(value); err != nil {
		return 0, err
	}
	doing := fmt.Sprintf("write profile %s of %s", name, tenant)
	next := s.revision()
	it[attrRevision] = number(next)
	if err := setPayload(it, doing, value, maxPayload); err != nil {
		return 0, err
	}
	input := &dynamodb.PutItemInput{Item: it}
	switch revision {
	case state.AnyRevision:
	case 0:
		input.ConditionExpression = aws.String("attribute_not_exists(pk)")
	default:
		input.ConditionExpression = aws.String("r = :r")
		input.ExpressionAttributeValues = item{":r": number(revision)}
	}
	met, err := s.config.put(ctx, doing, input)
	if err != nil {
		return 0, err
	}
	if met == nil {
		return next, nil
	}
	stored, err := profileRevision(met.item)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: %w", doing, err)
	case stored == next: // an earlier try was applied
		return next, nil
	}
	return 0, profileRefused(doing, met)
}

// DeleteProfile implements [store.Backend].
func (s *Store) DeleteProfile(ctx context.Context, tenant string, name state.ProfileName, revision uint64) error {
	key, err := profileItem(tenant, name)
	if err != nil {
		return err
	}
	doing := fmt.Sprintf("delete profile %s of %s", name, tenant)
	input := &dynamodb.DeleteItemInput{Key: key}
	switch revision {
	case state.AnyRevision:
	case 0:
		input.ConditionExpression = aws.String("attribute_not_exists(pk)")
	default:
		input.ConditionExpression = aws.String("attribute_not_exists(pk) OR r = :r")
		input.ExpressionAttributeValues = item{":r": number(revision)}
	}
	met, err := s.config.remove(ctx, doing, input)
	if err != nil || met == nil || len(met.item) == 0 { // another worker has deleted it
		return err
	}
	return profileRefused(doing, met)
}

// profileRefused is the error of a write or deletion that found another revision. That is
// a conflict only if no earlier attempt can have been applied and overwritten since: a
// caller that took it for a conflict would then write twice.
func profileRefused(doing string, met *refusal) error {
	if met.unanswered {
		return core.Errorf(core.CodeUnavailable, "%s: outcome unknown: found another revision", doing)
	}
	return fmt.Errorf("%s: %w", doing, state.ErrProfileConflict)
}

// ProfileKeys implements [store.Backend], strongly consistent. It costs the read
// units of the values that it passes.
func (s *Store) ProfileKeys(ctx context.Context, tenant, namespace, prefix, after string, limit int) ([]string, error) {
	pk, err := profilePartition(tenant, namespace)
	if err != nil {
		return nil, err
	}
	if err := (state.ProfileName{Namespace: namespace, Key: prefix}).CheckKeys(after); err != nil {
		return nil, err
	}
	if limit <= 0 || after > prefix && !strings.HasPrefix(after, prefix) {
		return nil, nil
	}
	input := &dynamodb.QueryInput{
		ConsistentRead:            aws.Bool(true),
		Limit:                     aws.Int32(int32(min(limit, math.MaxInt32))),
		ProjectionExpression:      aws.String(attrSK),
		KeyConditionExpression:    aws.String("pk = :pk AND begins_with(sk, :from)"),
		ExpressionAttributeValues: item{":pk": pk, ":from": text(profilePrefix + prefix)},
	}
	if after > prefix { // else it lies before them all, where no query may start
		input.ExclusiveStartKey = item{attrPK: pk, attrSK: text(profilePrefix + after)}
	}
	var keys []string
	for it, err := range s.config.items(ctx, fmt.Sprintf("list profiles %s of %s", namespace, tenant), input) {
		if err != nil {
			return nil, err
		}
		if keys = append(keys, strings.TrimPrefix(textOf(it, attrSK), profilePrefix)); len(keys) == limit {
			break
		}
	}
	return keys, nil
}
