//go:build aws

package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// A quarantined head whose bytes an operator has put back is read again, and its release puts
// the thread into the index of due threads.
func TestARestoredHeadIsReleased(t *testing.T) {
	c, table := client(t)
	ctx, s := t.Context(), dynamo.New(c, dynamo.Options{Table: table})
	key := core.ThreadKey{Tenant: "acme", Thread: "t1"}
	if out, err := s.Commit(ctx, key, store.Commit{Head: store.Head{Version: 1, Owner: "person", DueAt: 5}}); err != nil || !out.Written {
		t.Fatal(out, err)
	}
	name := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "T#acme#t1"}, "sk": &types.AttributeValueMemberS{Value: "H"}}
	got, err := c.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: name})
	if err != nil {
		t.Fatal(err)
	}
	put := func(item map[string]types.AttributeValue, h types.AttributeValue) {
		t.Helper()
		item["h"] = h
		if _, err := c.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item}); err != nil {
			t.Fatal(err)
		}
	}
	stored := func() store.StoredHead {
		t.Helper()
		stored, err := s.StoredHead(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		return stored
	}
	due := func() int {
		t.Helper()
		list, err := s.Overdue(ctx, store.Overdue{Key: key}.Shard(), 10, nil, 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	intact := got.Item["h"]
	put(got.Item, &types.AttributeValueMemberS{Value: "a text"}) // of a wrong type
	if done, err := s.QuarantineHead(ctx, key, stored(), 7); !done || err != nil || due() != 0 {
		t.Fatal(done, err, due())
	}
	if got, err = c.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: name}); err != nil {
		t.Fatal(err)
	}
	put(got.Item, intact)
	if h, err := s.Head(ctx, key); err != nil || h.Owner != "person" || stored().Quarantined != 7 || due() != 0 {
		t.Errorf("with its bytes the head is %+v, %v, stored as %+v, and %d threads are due", h, err, stored(), due())
	}
	if done, err := s.ReleaseHead(ctx, key, stored()); !done || err != nil || stored().Quarantined != 0 || due() != 1 {
		t.Errorf("released: %v, %v, stored as %+v, and %d threads are due", done, err, stored(), due())
	}
	if keys, err := s.Quarantined(ctx, nil, 10); err != nil || len(keys) != 0 {
		t.Errorf("quarantined are %v, %v", keys, err)
	}
}
