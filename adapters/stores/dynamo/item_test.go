package dynamo

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// noise is n bytes that no compression makes smaller.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b) // never fails, says its documentation
	return b
}

var diffItems = cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{},
	types.AttributeValueMemberB{}, types.AttributeValueMemberBOOL{})

func TestRecordsAsItems(t *testing.T) {
	tests := []struct {
		name   string
		record store.Record
		want   item
	}{
		{"log", store.Record{Name: "M#000000000001", Fence: 18446744073709551615, Payload: []byte("hi")},
			item{"pk": text("T#acme#t1"), "sk": text("M#000000000001"), "f": &types.AttributeValueMemberN{Value: "18446744073709551615"}, "p": blob([]byte("hi"))}},
		{"no claim yet", store.Record{Name: "M#000000000001", Payload: []byte("hi")},
			item{"pk": text("T#acme#t1"), "sk": text("M#000000000001"), "f": &types.AttributeValueMemberN{Value: "0"}, "p": blob([]byte("hi"))}},
		{"create-only, expiring", store.Record{Name: "Q#q", Payload: []byte("hi"), Expires: 4102444800},
			item{"pk": text("T#acme#t1"), "sk": text("Q#q"), "p": blob([]byte("hi")), "x": &types.AttributeValueMemberN{Value: "4102444800"}}},
		{"rewritable, no bytes", store.Record{Name: "R#r", Fence: 1, Version: 18446744073709551615, Payload: []byte{}},
			item{"pk": text("T#acme#t1"), "sk": text("R#r"), "f": &types.AttributeValueMemberN{Value: "1"}, "s": &types.AttributeValueMemberN{Value: "18446744073709551615"}}},
		{"listed", store.Record{Name: "L#", Fence: 1, Version: 2, Payload: []byte(`{"list":"threads:ann","at":1700000000000}`)},
			item{"pk": text("T#acme#t1"), "sk": text("L#"), "f": &types.AttributeValueMemberN{Value: "1"}, "s": &types.AttributeValueMemberN{Value: "2"},
				"l": text("T#acme#threads:ann"), "m": text("0000001700000000000#t1#L#"), "p": blob([]byte(`{"list":"threads:ann","at":1700000000000}`))}},
		{"512 bytes are not compressed", store.Record{Name: "Q#a", Payload: bytes.Repeat([]byte("a"), 512)},
			item{"pk": text("T#acme#t1"), "sk": text("Q#a"), "p": blob(bytes.Repeat([]byte("a"), 512))}},
		{"513 bytes are", store.Record{Name: "Q#a", Payload: bytes.Repeat([]byte("a"), 513)},
			item{"pk": text("T#acme#t1"), "sk": text("Q#a"), "z": &types.AttributeValueMemberBOOL{Value: true},
				"p": blob([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x40, 0x00, 0x01, 0x01, 0x0b, 0x10, 0x00, 0x61})}},
		{"unless that makes them larger", store.Record{Name: "Q#a", Payload: noise(600)},
			item{"pk": text("T#acme#t1"), "sk": text("Q#a"), "p": blob(noise(600))}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := encodeRecord(text("T#acme#t1"), tt.record, maxPayload)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got, diffItems); diff != "" {
				t.Errorf("item (-want +got):\n%s", diff)
			}
			back, err := decodeRecord(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.record, back); diff != "" {
				t.Errorf("read back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodedPayloadIsBounded(t *testing.T) {
	bomb := encoder().EncodeAll(make([]byte, 16<<20+1), nil)
	if len(bomb) > 4096 {
		t.Fatalf("the bomb has %d bytes", len(bomb))
	}
	if _, err := unpack(bomb); core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("decoding 16 MB and a byte returns the error %v, want code %q", err, core.CodeCorrupt)
	}
	if got, err := unpack(encoder().EncodeAll(make([]byte, 16<<20), nil)); err != nil || len(got) != 16777216 {
		t.Errorf("decoding 16 MB returns %d bytes, %v", len(got), err)
	}
}

func TestKeysOfOtherPartitionsAreRefused(t *testing.T) {
	s, _ := scripted(t) // no request is allowed
	for _, k := range []core.ThreadKey{{}, {Tenant: "a#b", Thread: "t"}, {Tenant: "a", Thread: "t#M"}, {Tenant: "a"}} {
		if _, err := s.Head(context.Background(), k); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("Head(%q) returns the error %v, want code %q", k, err, core.CodeInvalid)
		}
	}
	for _, name := range []string{"", strings.Repeat("x", 2042), "\xff"} {
		if _, _, err := s.Pointer(context.Background(), "acme", name); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("Pointer of a name of %d bytes returns the error %v, want code %q", len(name), err, core.CodeInvalid)
		}
	}
	for _, name := range []string{"D#\xff", "D#" + strings.Repeat("x", 1023)} {
		err := s.Put(context.Background(), key, store.Record{Name: name})
		if core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("Put of a name of %d bytes returns the error %v, want code %q", len(name), err, core.CodeInvalid)
		}
	}
}

func TestExpiredItemsAreGone(t *testing.T) {
	ctx := context.Background()
	const old, fresh = `"x":{"N":"1000000"}`, `"x":{"N":"1000001"}`
	record := func(name, expires string) string {
		return `{"pk":{"S":"T#acme#t1"},"sk":{"S":"` + name + `"},` + expires + `}`
	}
	s, _ := scripted(t,
		reply{body: `{"Item":` + record("D#1", old) + `}`}, reply{body: `{"Item":` + record("D#1", fresh) + `}`},
		reply{body: `{"Item":` + record("N", old) + `}`}, reply{body: `{"Item":` + record("N", fresh) + `}`},
		reply{body: `{"Items":[` + record("D#1", old) + `,` + record("D#2", fresh) + `]}`},
	)
	for _, want := range []bool{false, true} {
		if _, ok, err := s.Get(ctx, key, "D#1"); ok != want || err != nil {
			t.Errorf("Get returns ok=%v, %v, want %v", ok, err, want)
		}
	}
	for _, want := range []bool{false, true} {
		if _, ok, err := s.Pointer(ctx, "acme", "k"); ok != want || err != nil {
			t.Errorf("Pointer returns ok=%v, %v, want %v", ok, err, want)
		}
	}
	records, err := s.Records(ctx, key, "D#", "", 10)
	if err != nil || len(records) != 1 || records[0].Name != "D#2" || records[0].Expires != 1_000_001 {
		t.Errorf("Records returns %v, %v, want D#2 only", records, err)
	}
}

func TestQueriesGoOnToTheNextPage(t *testing.T) {
	s, w := scripted(t,
		reply{body: `{"Items":[{"sk":{"S":"M#000000000001"},"f":{"N":"1"}}],"LastEvaluatedKey":{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#000000000001"}}}`},
		reply{body: `{"Items":[],"LastEvaluatedKey":{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#000000000001x"}}}`},
		reply{body: `{"Items":[{"sk":{"S":"M#000000000001x"},"f":{"N":"1"}},{"sk":{"S":"M#000000000002"},"f":{"N":"2"}}]}`},
	)
	var names []string
	for record, err := range s.Log(context.Background(), key, 1, 18446744073709551615) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, record.Name)
	}
	if diff := cmp.Diff([]string{"M#000000000001", "M#000000000002"}, names); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	wantJSON(t, `{"TableName":"threads","ConsistentRead":true,
	  "KeyConditionExpression":"pk = :pk AND sk BETWEEN :from AND :to",
	  "ExpressionAttributeValues":{":pk":{"S":"T#acme#t1"},":from":{"S":"M#000000000001"},":to":{"S":"M#999999999999"}},
	  "ExclusiveStartKey":{"pk":{"S":"T#acme#t1"},"sk":{"S":"M#000000000001"}}}`, w.requests[1].body)
}

// TestOnlyAnEmptyIndexIsQuiet: an empty page that others follow says nothing.
func TestOnlyAnEmptyIndexIsQuiet(t *testing.T) {
	const last = `"LastEvaluatedKey":{"pk":{"S":"T#acme#t1"}}`
	for body, want := range map[string]bool{
		`{"Items":[]}`: true, `{}`: true,
		`{"Items":[{"pk":{"S":"T#acme#t1"}}]}`:              false,
		`{"Items":[{"pk":{"S":"T#acme#t1"}}],` + last + `}`: false,
		`{"Items":[],` + last + `}`:                         false,
	} {
		s, _ := scripted(t, reply{body: body})
		if got, err := s.NothingDue(context.Background()); got != want || err != nil {
			t.Errorf("after %s NothingDue returns %v, %v, want %v", body, got, err, want)
		}
	}
}

func TestForeignKeyInTheIndexIsCorrupt(t *testing.T) {
	for _, pk := range []string{"", "T#acme", "N#acme#k", "T#acme#t1#x"} {
		s, _ := scripted(t, reply{body: `{"Items":[{"pk":{"S":"` + pk + `"}}]}`})
		if _, err := s.Overdue(context.Background(), 0, 1, nil, 10); core.CodeOf(err) != core.CodeCorrupt {
			t.Errorf("Overdue with the key %q returns the error %v, want code %q", pk, err, core.CodeCorrupt)
		}
	}
}

func TestForeignKeyAmongWhatWaitsIsCorrupt(t *testing.T) {
	for _, sorted := range []string{"", "7", "7#", "x#t1", "7#a#b", "-#t1", "99999999999999999999#t1"} {
		s, _ := scripted(t, reply{body: `{"Items":[{"o":{"S":"` + sorted + `"}}]}`})
		if _, err := s.Waiting(context.Background(), "acme", nil, 10); core.CodeOf(err) != core.CodeCorrupt {
			t.Errorf("Waiting with the key %q returns the error %v, want code %q", sorted, err, core.CodeCorrupt)
		}
	}
}

func TestDuePolicyIsTwoMinutesRoundedToTheMinute(t *testing.T) {
	if p := New(nil, Options{}).DuePolicy(); p.Grace != 120_000 || p.Round != 60_000 {
		t.Errorf("grace %d ms, round %d ms, want 120000 and 60000", p.Grace, p.Round)
	}
}
