package dynamo

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// FuzzDecodeItem reads arbitrary attributes as a head and as a record: there
// must be an error with a code or a value that is stored the same way again,
// never a panic or an unbounded allocation.
func FuzzDecodeItem(f *testing.F) {
	h := testHead(2, 0)
	f.Add("M#000000000001", []byte("hi"), h.AppendBinary(nil), false, "3", "4", "0", "2")
	f.Add("Q#q", encoder().EncodeAll(make([]byte, 1000), nil), []byte{1}, true, "", "", "1", "")
	f.Add("R#r", []byte{0x28, 0xb5, 0x2f, 0xfd, 0xff}, []byte{}, true, "-1", "1e9", "x", "18446744073709551616")
	f.Fuzz(func(t *testing.T, sk string, payload, head []byte, packed bool, fence, version, expires, headVersion string) {
		it := item{attrSK: text(sk), attrPayload: blob(payload), attrHead: blob(head), attrPacked: &types.AttributeValueMemberBOOL{Value: packed}}
		for name, value := range map[string]string{attrFence: fence, attrAt: version, attrExpires: expires, attrVersion: headVersion} {
			if value != "" {
				it[name] = &types.AttributeValueMemberN{Value: value}
			}
		}
		expired(it, 1)
		if _, err := threadKey(it); core.CodeOf(err) != core.CodeCorrupt {
			t.Fatalf("an item without a partition key names a thread: %v", err)
		}
		if h, err := decodeHead(key, it); err != nil {
			if code := core.CodeOf(err); code != core.CodeCorrupt && code != core.CodeSchema {
				t.Fatalf("head: error %v has code %q", err, code)
			}
		} else if again, err := decodeHead(key, encodeHead(text("T#acme#t1"), key, &h)); err != nil || again.Version != h.Version {
			t.Fatalf("a head that was read cannot be read again: %v", err)
		}
		r, err := decodeRecord(it)
		if err != nil {
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Fatalf("record: error %v has no code", err)
			}
			return
		}
		if len(r.Payload) > 16<<20 {
			t.Fatalf("payload has %d bytes", len(r.Payload))
		}
		again, err := encodeRecord(text("T#acme#t1"), r, maxPayload)
		if err != nil {
			return // over a limit, or a name that is never written
		}
		if back, err := decodeRecord(again); err != nil || !same(r, back) {
			t.Fatalf("a record that was read comes back as %v, %v", back, err)
		}
	})
}

func same(a, b store.Record) bool {
	return a.Name == b.Name && a.Fence == b.Fence && a.Version == b.Version && a.Expires == b.Expires && string(a.Payload) == string(b.Payload)
}

func FuzzParsePlaceSort(f *testing.F) {
	for _, seed := range []string{"0000001700000000000#t1#L#", "1#t#", "#", "-1#t#L#a", "0000000000000000005#t1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, key string) {
		place, err := parsePlaceSort(key)
		if err != nil {
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Fatalf("%q: %v", key, err)
			}
			return
		}
		again, err := parsePlaceSort(placeSort(place))
		if err != nil || again != place {
			t.Fatalf("%q is %+v, and that %+v, %v", key, place, again, err)
		}
	})
}
