package dynamo

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func testHead(version uint64, due int64) store.Head {
	return store.Head{Layout: 1, Schema: 1, Version: version, CommitID: core.ID{0xc0, 0x01}, Seq: 5, DueAt: due}
}

// TestWriteRequests pins every kind of write to the byte: its key, its
// attributes and its condition.
func TestWriteRequests(t *testing.T) {
	ctx := context.Background()
	tests := []struct {
		name  string
		write func(s *Store) error
		want  string
	}{
		{
			"the first head asks for none",
			func(s *Store) error { _, err := s.Commit(ctx, key, store.Commit{Head: testHead(1, 0)}); return err },
			`{"TableName":"threads",
			  "Item":{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"},"h":{"B":"` + head1 + `"},"v":{"N":"1"}},
			  "ConditionExpression":"attribute_not_exists(pk)",
			  "ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`,
		},
		{
			"a later head asks for the version before it, and is in the index while it is due",
			func(s *Store) error {
				_, err := s.Commit(ctx, key, store.Commit{Head: testHead(2, 120_000)})
				return err
			},
			`{"TableName":"threads",
			  "Item":{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"},"h":{"B":"` + head2Due + `"},"v":{"N":"2"},"g":{"N":"7"},"d":{"N":"120000"}},
			  "ConditionExpression":"v = :v",
			  "ExpressionAttributeValues":{":v":{"N":"1"}},
			  "ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`,
		},
		{
			"a log record asks for a lower fence",
			func(s *Store) error {
				return s.Put(ctx, key, store.Record{Name: "M#000000000006", Fence: 3, Payload: []byte("hi")})
			},
			`{"TableName":"threads",
			  "Item":{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#000000000006"},"f":{"N":"3"},"p":{"B":"aGk="}},
			  "ConditionExpression":"attribute_not_exists(pk) OR f < :f",
			  "ExpressionAttributeValues":{":f":{"N":"3"}},
			  "ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`,
		},
		{
			"a create-only record asks for none, or an expired one",
			func(s *Store) error {
				return s.Put(ctx, key, store.Record{Name: "D#d1", Payload: []byte("hi"), Expires: 1_000_500})
			},
			`{"TableName":"threads",
			  "Item":{"pk":{"S":"T#acme#t1"},"sk":{"S":"D#d1"},"p":{"B":"aGk="},"x":{"N":"1000500"}},
			  "ConditionExpression":"attribute_not_exists(pk) OR x <= :now",
			  "ExpressionAttributeValues":{":now":{"N":"1000000"}},
			  "ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`,
		},
		{
			"a rewritable record asks for a lower fence, or the same at a lower version",
			func(s *Store) error {
				return s.Put(ctx, key, store.Record{Name: "R#r1", Fence: 3, Version: 18446744073709551615})
			},
			`{"TableName":"threads",
			  "Item":{"pk":{"S":"T#acme#t1"},"sk":{"S":"R#r1"},"f":{"N":"3"},"s":{"N":"18446744073709551615"}},
			  "ConditionExpression":"attribute_not_exists(pk) OR f < :f OR (f = :f AND s < :s)",
			  "ExpressionAttributeValues":{":f":{"N":"3"},":s":{"N":"18446744073709551615"}},
			  "ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`,
		},
		{
			"a pointer has a partition of its own; its time to live is rounded up",
			func(s *Store) error {
				p, err := s.preparePointer("acme", store.Pointer{Name: "key#1", Value: []byte("hi"), TTL: 1500 * time.Millisecond})
				if err != nil {
					return err
				}
				_, err = s.putPointer(ctx, p)
				return err
			},
			`{"TableName":"threads",
			  "Item":{"pk":{"S":"N#acme#key#1"},"sk":{"S":"N"},"p":{"B":"aGk="},"x":{"N":"1000002"}},
			  "ConditionExpression":"attribute_not_exists(pk) OR x <= :now",
			  "ExpressionAttributeValues":{":now":{"N":"1000000"}},
			  "ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, w := scripted(t, done)
			if err := tt.write(s); err != nil {
				t.Fatal(err)
			}
			wantJSON(t, tt.want, w.requests[0].body)
		})
	}
}

func TestReadRequests(t *testing.T) {
	ctx := context.Background()
	tests := []struct {
		name string
		read func(s *Store) error
		want string
	}{
		{
			"the head is read strongly",
			func(s *Store) error { _, err := s.Head(ctx, key); return err },
			`{"TableName":"threads","Key":{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"}},"ConsistentRead":true}`,
		},
		{
			"a record is read strongly",
			func(s *Store) error { _, _, err := s.Get(ctx, key, "D#d1"); return err },
			`{"TableName":"threads","Key":{"pk":{"S":"T#acme#t1"},"sk":{"S":"D#d1"}},"ConsistentRead":true}`,
		},
		{
			"the log is read strongly, between names",
			func(s *Store) error { return drain(s.Log(ctx, key, 3, 3)) },
			`{"TableName":"threads","ConsistentRead":true,
			  "KeyConditionExpression":"pk = :pk AND sk BETWEEN :from AND :to",
			  "ExpressionAttributeValues":{":pk":{"S":"T#acme#t1"},":from":{"S":"M#000000000003"},":to":{"S":"M#000000000003"}}}`,
		},
		{
			"a list may lag and goes on behind a name",
			func(s *Store) error { _, err := s.Records(ctx, key, "R#", "R#b", 10); return err },
			`{"TableName":"threads","Limit":11,
			  "KeyConditionExpression":"pk = :pk AND sk BETWEEN :from AND :to",
			  "ExpressionAttributeValues":{":pk":{"S":"T#acme#t1"},":from":{"S":"R#b"},":to":{"S":"R#\udbff\udfff"}}}`,
		},
		{
			"what is due comes from the index",
			func(s *Store) error { _, err := s.Overdue(ctx, 7, 60_000, nil, 100); return err },
			`{"TableName":"threads","IndexName":"due","Limit":100,
			  "KeyConditionExpression":"g = :g AND d <= :until",
			  "ExpressionAttributeValues":{":g":{"N":"7"},":until":{"N":"60000"}}}`,
		},
		{
			"and goes on behind a thread",
			func(s *Store) error {
				_, err := s.Overdue(ctx, 7, 60_000, &store.Overdue{Key: key, At: 59_000}, 100)
				return err
			},
			`{"TableName":"threads","IndexName":"due","Limit":100,
			  "KeyConditionExpression":"g = :g AND d <= :until",
			  "ExpressionAttributeValues":{":g":{"N":"7"},":until":{"N":"60000"}},
			  "ExclusiveStartKey":{"g":{"N":"7"},"d":{"N":"59000"},"pk":{"S":"T#acme#t1"},"sk":{"S":"H"}}}`,
		},
		{
			"whether anything is due is one item of the index",
			func(s *Store) error { _, err := s.NothingDue(ctx); return err },
			`{"TableName":"threads","IndexName":"due","Limit":1}`,
		},
		{
			"what waits comes from its index",
			func(s *Store) error { _, err := s.Waiting(ctx, "acme", nil, 100); return err },
			`{"TableName":"threads","IndexName":"waiting","Limit":100,
			  "KeyConditionExpression":"w = :w","ExpressionAttributeValues":{":w":{"S":"T#acme#"}}}`,
		},
		{
			"and goes on behind a thread that may wait no more",
			func(s *Store) error {
				_, err := s.Waiting(ctx, "acme", &store.Waiting{Thread: "t1", Since: 1_700_000_000_000}, 100)
				return err
			},
			`{"TableName":"threads","IndexName":"waiting","Limit":100,
			  "KeyConditionExpression":"w = :w AND o > :o",
			  "ExpressionAttributeValues":{":w":{"S":"T#acme#"},":o":{"S":"0000001700000000000#t1"}}}`,
		},
		{
			"the log is read backwards",
			func(s *Store) error { return drain(s.LogBackwards(ctx, key, 3, 18446744073709551615)) },
			`{"TableName":"threads","ConsistentRead":true,"ScanIndexForward":false,
			  "KeyConditionExpression":"pk = :pk AND sk BETWEEN :from AND :to",
			  "ExpressionAttributeValues":{":pk":{"S":"T#acme#t1"},":from":{"S":"M#000000000003"},":to":{"S":"M#999999999999"}}}`,
		},
		{
			"the log is read backwards for half of the units",
			func(s *Store) error { return drain(s.LogBackwardsEventually(ctx, key, 3, 4)) },
			`{"TableName":"threads","ConsistentRead":false,"ScanIndexForward":false,
			  "KeyConditionExpression":"pk = :pk AND sk BETWEEN :from AND :to",
			  "ExpressionAttributeValues":{":pk":{"S":"T#acme#t1"},":from":{"S":"M#000000000003"},":to":{"S":"M#000000000004"}}}`,
		},
		{
			"what is to be erased is read strongly, by name alone",
			func(s *Store) error { _, err := s.Erase(ctx, key, 10); return err },
			`{"TableName":"threads","ConsistentRead":true,"Limit":11,"KeyConditionExpression":"pk = :pk","ProjectionExpression":"sk",
			  "ExpressionAttributeValues":{":pk":{"S":"T#acme#t1"}}}`,
		},
		{
			"a pointer is read strongly",
			func(s *Store) error { _, _, err := s.Pointer(ctx, "acme", "k"); return err },
			`{"TableName":"threads","Key":{"pk":{"S":"N#acme#k"},"sk":{"S":"N"}},"ConsistentRead":true}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, w := scripted(t, done)
			if err := tt.read(s); err != nil {
				t.Fatal(err)
			}
			wantJSON(t, tt.want, w.requests[0].body)
		})
	}
}

func drain(log iter.Seq2[store.Record, error]) error {
	for _, err := range log {
		if err != nil {
			return err
		}
	}
	return nil
}
