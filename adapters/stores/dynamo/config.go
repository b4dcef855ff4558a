package dynamo

import (
	"bytes"
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// snapshotName is the sort key of a configuration snapshot.
const snapshotName = "G"

func snapshotItem(hash string) (item, error) {
	if err := core.CheckName("hash of a snapshot", hash); err != nil {
		return nil, err
	}
	return item{attrPK: text("G#" + hash), attrSK: text(snapshotName)}, nil
}

// PutSnapshot implements [store.Backend].
func (s *Store) PutSnapshot(ctx context.Context, hash string, content []byte) error {
	it, err := snapshotItem(hash)
	if err != nil {
		return err
	}
	doing := fmt.Sprintf("put snapshot %s", hash)
	if err := setPayload(it, "snapshot "+hash, content, maxPayload); err != nil {
		return err
	}
	met, err := s.config.put(ctx, doing, &dynamodb.PutItemInput{Item: it, ConditionExpression: aws.String("attribute_not_exists(pk)")})
	if err != nil || met == nil {
		return err
	}
	if len(met.item) == 0 {
		return core.Errorf(core.CodeUnavailable, "%s: the stored item changed during the write", doing)
	}
	stored, err := payloadOf(met.item)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	if !bytes.Equal(stored, content) {
		return fmt.Errorf("%s: %w", doing, &store.RefusedError{Name: hash, Cause: store.ErrConflict})
	}
	return nil
}

// Snapshot implements [store.Backend].
func (s *Store) Snapshot(ctx context.Context, hash string) ([]byte, bool, error) {
	key, err := snapshotItem(hash)
	if err != nil {
		return nil, false, err
	}
	doing := fmt.Sprintf("read snapshot %s", hash)
	it, err := s.config.get(ctx, doing, key[attrPK], key[attrSK])
	if err != nil || len(it) == 0 {
		return nil, false, err
	}
	content, err := payloadOf(it)
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", doing, err)
	}
	return content, true, nil
}
