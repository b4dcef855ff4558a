package dynamo

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/dynamo/dynamotest"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

var locale = state.ProfileName{Namespace: "locale", Key: "user#1"}

// scriptedProfiles is a store whose next revision is 77.
func scriptedProfiles(t *testing.T, replies ...reply) (*Store, *wire) {
	t.Helper()
	s, w := scripted(t, replies...)
	s.revision = func() uint64 { return 77 }
	return s, w
}

func writeLocale(s *Store, revision uint64) (uint64, error) {
	return s.WriteProfile(context.Background(), "acme", locale, json.RawMessage("123"), revision)
}

// TestProfileRequests pins every request of the config table to the byte.
func TestProfileRequests(t *testing.T) {
	ctx := context.Background()
	keys := func(prefix, after string) func(s *Store) error {
		return func(s *Store) error {
			_, err := s.ProfileKeys(ctx, "acme", "locale", prefix, after, 10)
			return err
		}
	}
	write := func(revision uint64) func(s *Store) error {
		return func(s *Store) error { _, err := writeLocale(s, revision); return err }
	}
	erase := func(revision uint64) func(s *Store) error {
		return func(s *Store) error { return s.DeleteProfile(ctx, "acme", locale, revision) }
	}
	const profile = `"Item":{"pk":{"S":"P#acme#locale"},"sk":{"S":"K#user#1"},"p":{"B":"MTIz"},"r":{"N":"77"}}`
	const place = `"Key":{"pk":{"S":"P#acme#locale"},"sk":{"S":"K#user#1"}}`
	tests := []struct {
		name string
		call func(s *Store) error
		want string
	}{
		{"the first write asks for none", write(0),
			`{"TableName":"config",` + profile + `,"ConditionExpression":"attribute_not_exists(pk)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
		{"a later one for the revision", write(12),
			`{"TableName":"config",` + profile + `,"ConditionExpression":"r = :r","ExpressionAttributeValues":{":r":{"N":"12"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
		{"the last one wins", write(state.AnyRevision), `{"TableName":"config",` + profile + `}`},
		{"a deletion asks for the revision, or none", erase(12),
			`{"TableName":"config",` + place + `,"ConditionExpression":"attribute_not_exists(pk) OR r = :r","ExpressionAttributeValues":{":r":{"N":"12"}},"ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
		{"a deletion of what must not be there", erase(0),
			`{"TableName":"config",` + place + `,"ConditionExpression":"attribute_not_exists(pk)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
		{"a deletion of whatever stands there", erase(state.AnyRevision), `{"TableName":"config",` + place + `}`},
		{"a profile is read strongly", func(s *Store) error { _, err := s.ReadProfile(ctx, "acme", locale); return err },
			`{"TableName":"config",` + place + `,"ConsistentRead":true}`},
		{"keys are listed strongly", keys("user#", ""),
			`{"TableName":"config","ConsistentRead":true,"Limit":10,"ProjectionExpression":"sk","KeyConditionExpression":"pk = :pk AND begins_with(sk, :from)",
			  "ExpressionAttributeValues":{":pk":{"S":"P#acme#locale"},":from":{"S":"K#user#"}}}`},
		{"behind a key", keys("user#", "user#1"),
			`{"TableName":"config","ConsistentRead":true,"Limit":10,"ProjectionExpression":"sk","KeyConditionExpression":"pk = :pk AND begins_with(sk, :from)",
			  "ExpressionAttributeValues":{":pk":{"S":"P#acme#locale"},":from":{"S":"K#user#"}},"ExclusiveStartKey":{"pk":{"S":"P#acme#locale"},"sk":{"S":"K#user#1"}}}`},
		{"from their beginning when the key lies before", keys("user#", "a"),
			`{"TableName":"config","ConsistentRead":true,"Limit":10,"ProjectionExpression":"sk","KeyConditionExpression":"pk = :pk AND begins_with(sk, :from)",
			  "ExpressionAttributeValues":{":pk":{"S":"P#acme#locale"},":from":{"S":"K#user#"}}}`},
		{"a snapshot is put where none is", func(s *Store) error { return s.PutSnapshot(ctx, "abc", []byte("123")) },
			`{"TableName":"config","Item":{"pk":{"S":"G#abc"},"sk":{"S":"G"},"p":{"B":"MTIz"}},"ConditionExpression":"attribute_not_exists(pk)","ReturnValuesOnConditionCheckFailure":"ALL_OLD"}`},
		{"a snapshot is read strongly", func(s *Store) error { _, _, err := s.Snapshot(ctx, "abc"); return err },
			`{"TableName":"config","Key":{"pk":{"S":"G#abc"},"sk":{"S":"G"}},"ConsistentRead":true}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, w := scriptedProfiles(t, done)
			if err := tt.call(s); err != nil {
				t.Fatal(err)
			}
			wantJSON(t, tt.want, w.requests[0].body)
		})
	}
}

// Stored profiles: ours is what the write under test stores.
const (
	ourProfile   = `{"pk":{"S":"P#acme#locale"},"sk":{"S":"K#user#1"},"p":{"B":"MTIz"},"r":{"N":"77"}}`
	theirProfile = `{"pk":{"S":"P#acme#locale"},"sk":{"S":"K#user#1"},"p":{"B":"MTIz"},"r":{"N":"12"}}`
)

// TestProfileWriteUnderFaults: a conflict says that nothing was written, so a
// try without a response lets no conflict be said.
func TestProfileWriteUnderFaults(t *testing.T) {
	tests := []struct {
		name    string
		replies []reply
		want    uint64
		code    core.Code
	}{
		{"written", []reply{done}, 77, ""},
		{"lost race", []reply{conflict(theirProfile)}, 0, core.CodeConflict},
		{"there is none", []reply{conflict(""), done}, 0, core.CodeConflict},
		{"no response, but applied", []reply{lost, conflict(ourProfile)}, 77, ""},
		{"5xx, applied, and the item is not returned", []reply{broken, conflict(""), {body: `{"Item":` + ourProfile + `}`}}, 77, ""},
		{"no response, and another wrote", []reply{lost, conflict(theirProfile)}, 0, core.CodeUnavailable},
		{"no response, and another deleted", []reply{lost, conflict(""), done}, 0, core.CodeUnavailable},
		{"throttled, then a lost race", []reply{throttle, conflict(theirProfile)}, 0, core.CodeConflict},
		{"never a response", []reply{lost, lost, lost}, 0, core.CodeUnavailable},
		{"throttled for good", []reply{throttle, throttle2, throttle3}, 0, core.CodeThrottled},
		{"no revision is stored", []reply{conflict(`{"pk":{"S":"P#acme#locale"},"sk":{"S":"K#user#1"}}`)}, 0, core.CodeCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := scriptedProfiles(t, tt.replies...)
			got, err := writeLocale(s, 11)
			if got != tt.want || core.CodeOf(err) != tt.code || (tt.code == core.CodeConflict) != errors.Is(err, state.ErrProfileConflict) {
				t.Errorf("returns %d, %v, want %d, code %q", got, err, tt.want, tt.code)
			}
		})
	}
}

func TestProfileDeletionUnderFaults(t *testing.T) {
	tests := []struct {
		name    string
		replies []reply
		code    core.Code
	}{
		{"deleted", []reply{done}, ""},
		{"lost race", []reply{conflict(theirProfile)}, core.CodeConflict},
		{"another deleted it meanwhile", []reply{conflict(""), done}, ""},
		{"no response, but applied", []reply{lost, done}, ""},
		{"no response, and another wrote", []reply{lost, conflict(theirProfile)}, core.CodeUnavailable},
		{"never a response", []reply{lost, lost, lost}, core.CodeUnavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := scriptedProfiles(t, tt.replies...)
			if err := s.DeleteProfile(context.Background(), "acme", locale, 11); core.CodeOf(err) != tt.code {
				t.Errorf("returns %v, want code %q", err, tt.code)
			}
		})
	}
}

func TestSnapshotPutUnderFaults(t *testing.T) {
	const same, other = `{"pk":{"S":"G#abc"},"sk":{"S":"G"},"p":{"B":"MTIz"}}`, `{"pk":{"S":"G#abc"},"sk":{"S":"G"},"p":{"B":"MTI0"}}`
	tests := []struct {
		name    string
		replies []reply
		code    core.Code
	}{
		{"written", []reply{done}, ""},
		{"stored already", []reply{conflict(same)}, ""},
		{"no response, but applied", []reply{lost, conflict(same)}, ""},
		{"other bytes", []reply{conflict(other)}, core.CodeConflict},
		{"gone before it was read", []reply{conflict(""), done}, core.CodeUnavailable},
		{"never a response", []reply{lost, broken, lost}, core.CodeUnavailable},
		{"does not decompress", []reply{conflict(`{"pk":{"S":"G#abc"},"sk":{"S":"G"},"p":{"B":"MTIz"},"z":{"BOOL":true}}`)}, core.CodeCorrupt},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := scripted(t, tt.replies...)
			err := s.PutSnapshot(context.Background(), "abc", []byte("123"))
			if core.CodeOf(err) != tt.code || (tt.code == core.CodeConflict) != errors.Is(err, store.ErrConflict) {
				t.Errorf("returns %v, want code %q", err, tt.code)
			}
		})
	}
}

func TestProfileReads(t *testing.T) {
	ctx := context.Background()
	s, _ := scripted(t, reply{body: `{"Item":` + theirProfile + `}`}, done, reply{body: `{"Item":{"r":{"S":"12"}}}`})
	for i, want := range []state.Profile{{Value: json.RawMessage("123"), Revision: 12}, {}} {
		got, err := s.ReadProfile(ctx, "acme", locale)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("read %d: %v (-want +got):\n%s", i+1, err, diff)
		}
	}
	if _, err := s.ReadProfile(ctx, "acme", locale); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("a revision that is no number: %v, want ErrCorrupt", err)
	}
}

func TestRevisionsAreInRange(t *testing.T) {
	for range 1000 {
		if r := newRevision(); r == 0 || r > 1<<63 {
			t.Fatalf("revision %d", r)
		}
	}
}

func TestMeterCountsProfilesAndSnapshots(t *testing.T) {
	ctx := context.Background()
	s, m := metered(t, done, done, done, done, done, conflict(theirProfile))
	for _, call := range []func() error{
		func() error { _, err := writeLocale(s, state.AnyRevision); return err },
		func() error { return s.DeleteProfile(ctx, "acme", locale, state.AnyRevision) },
		func() error { return s.PutSnapshot(ctx, "abc", noise(2000)) },
		func() error { _, err := s.ReadProfile(ctx, "acme", locale); return err },
		func() error { _, err := s.ProfileKeys(ctx, "acme", "locale", "", "", 1); return err },
		func() error { _ = s.DeleteProfile(ctx, "acme", locale, 5); return nil },
	} {
		if err := call(); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]dynamotest.Units{"profile": {Write: 3, Read: 2, Calls: 5}, "config": {Write: 2, Calls: 1}}
	if diff := cmp.Diff(want, m.Units()); diff != "" {
		t.Errorf("units (-want +got):\n%s", diff)
	}
}
