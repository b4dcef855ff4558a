package dynamo

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// maxPayload is the largest payload that an item holds, in bytes after compression.
// With keys and attribute names the item stays under DynamoDB's 400 KB. maxObject is
// the largest of a record where there is a bucket, in bytes before compression.
const (
	maxPayload = 350 << 10
	maxObject  = maxUnpacked
)

// DynamoDB's limits of the two keys, in bytes.
const (
	maxPartitionKey = 2048
	maxSortKey      = 1024
)

// The attributes: see the package comment.
const (
	attrPK       = "pk"
	attrSK       = "sk"
	attrHead     = "h"
	attrVersion  = "v"
	attrShard    = "g"
	attrDue      = "d"
	attrPayload  = "p"
	attrPacked   = "z"
	attrFence    = "f"
	attrAt       = "s"
	attrExpires  = "x"
	attrRevision = "r"
	attrTenant   = "w"
	attrSince    = "o"
	attrList     = "l"
	attrPlace    = "m"
	attrObject   = "b"
	attrSize     = "n"

	attrQuarantined = "q"
)

// headName is the sort key of a HEAD, pointerName that of a pointer. No record
// kind has these names.
const (
	headName    = "H"
	pointerName = "N"
)

type item = map[string]types.AttributeValue

func text(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
func blob(v []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: v} }
func number[N int | int64 | uint32 | uint64](v N) types.AttributeValue {
	if v >= 0 {
		return &types.AttributeValueMemberN{Value: strconv.FormatUint(uint64(v), 10)}
	}
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(int64(v), 10)}
}

// partition is a thread's partition key. Its parts cannot contain the '#' that
// separates them: that is checked here once more, since a mistake would reach
// another tenant.
func partition(key core.ThreadKey) (types.AttributeValue, error) {
	if err := key.Check(); err != nil {
		return nil, err
	}
	return text("T#" + key.Tenant + "#" + key.Thread), nil
}

// threadKey is the inverse of partition.
func threadKey(it item) (core.ThreadKey, error) {
	pk := textOf(it, attrPK)
	if rest, ok := strings.CutPrefix(pk, "T#"); ok {
		tenant, name, _ := strings.Cut(rest, "#")
		if key := (core.ThreadKey{Tenant: tenant, Thread: name}); key.Check() == nil {
			return key, nil
		}
	}
	return core.ThreadKey{}, fmt.Errorf("%w: partition key %q names no thread", store.ErrCorrupt, core.Excerpt(pk))
}

func encodeHead(pk types.AttributeValue, key core.ThreadKey, h *store.Head) item {
	it := item{
		attrPK:      pk,
		attrSK:      text(headName),
		attrHead:    blob(h.AppendBinary(nil)),
		attrVersion: number(h.Version),
	}
	if h.DueAt > 0 {
		it[attrShard] = number(store.Overdue{Key: key}.Shard())
		it[attrDue] = number(h.DueAt)
	}
	if since := h.Run.WaitsSince; since > 0 {
		it[attrTenant] = text(waitingPartition(key.Tenant))
		it[attrSince] = text(waitingSort(store.Waiting{Thread: key.Thread, Since: since}))
	}
	return it
}

// decodeHead reads a HEAD item; nil is the zero Head.
func decodeHead(key core.ThreadKey, it item) (store.Head, error) {
	if len(it) == 0 {
		return store.Head{}, nil
	}
	var head store.Head
	err := head.UnmarshalBinary(blobOf(it, attrHead))
	if core.CodeOf(err) == core.CodeCorrupt { // thread's, which knows of no store
		return store.Head{}, damagedHead(key, it, fmt.Errorf("head of %s: %w: %w", key, store.ErrCorrupt, err))
	}
	if err != nil {
		return store.Head{}, fmt.Errorf("head of %s: %w", key, err)
	}
	version, err := numberOf(it, attrVersion)
	if err != nil || version != head.Version {
		return store.Head{}, damagedHead(key, it, fmt.Errorf("head of %s: %w: version is %d in the head and %d in the item", key, store.ErrCorrupt, head.Version, version))
	}
	return head, nil
}

func damagedHead(key core.ThreadKey, it item, cause error) error {
	return &store.DamagedError{Key: key, Quarantined: quarantined(it), Cause: cause}
}

// encodeRecord makes the item of a record whose payload has at most limit bytes after
// compression.
func encodeRecord(pk types.AttributeValue, r store.Record, limit int) (item, error) {
	if len(r.Name) > maxSortKey || !utf8.ValidString(r.Name) {
		return nil, core.Errorf(core.CodeInvalid, "record name %q: want at most %d bytes of UTF-8", core.Excerpt(r.Name), maxSortKey)
	}
	it := item{attrPK: pk, attrSK: text(r.Name)}
	kind := r.Kind()
	if kind != store.KindCreate || r.Fence != 0 {
		it[attrFence] = number(r.Fence)
	}
	if kind == store.KindRewrite || kind == store.KindLatest || r.Version != 0 {
		it[attrAt] = number(r.Version)
	}
	if r.Expires != 0 {
		it[attrExpires] = number(r.Expires)
	}
	if kind == store.KindLatest {
		if err := setPlace(it, r); err != nil {
			return nil, err
		}
	}
	return it, setPayload(it, "record "+r.Name, r.Payload, limit)
}

func decodeRecord(it item) (store.Record, error) {
	r := store.Record{Name: textOf(it, attrSK)}
	fence, errFence := numberOf(it, attrFence)
	version, errVersion := numberOf(it, attrAt)
	expires, errExpires := numberOf(it, attrExpires)
	if errFence != nil || errVersion != nil || errExpires != nil || expires > 1<<63-1 {
		return store.Record{}, fmt.Errorf("record %s: %w: fence, version or expiry is not a number in range", core.Excerpt(r.Name), store.ErrCorrupt)
	}
	payload, err := payloadOf(it)
	if err != nil {
		return store.Record{}, fmt.Errorf("record %s: %w", core.Excerpt(r.Name), err)
	}
	r.Fence, r.Version, r.Expires, r.Payload = fence, version, int64(expires), payload
	return r, nil
}

// setPayload stores a payload, compressed if that is smaller. An empty payload has no
// attribute.
func setPayload(it item, what string, payload []byte, limit int) error {
	if len(payload) > maxUnpacked {
		return fmt.Errorf("%w: %s has %d bytes, at most %d are allowed", store.ErrTooLarge, what, len(payload), maxUnpacked)
	}
	stored, packed := pack(payload)
	if len(stored) > limit {
		return fmt.Errorf("%w: %s of %d bytes has %d bytes compressed, at most %d are allowed", store.ErrTooLarge, what, len(payload), len(stored), limit)
	}
	if len(stored) > 0 {
		it[attrPayload] = blob(stored)
	}
	if packed {
		it[attrPacked] = &types.AttributeValueMemberBOOL{Value: true}
	}
	return nil
}

func payloadOf(it item) ([]byte, error) {
	stored := blobOf(it, attrPayload)
	if packed, ok := it[attrPacked].(*types.AttributeValueMemberBOOL); !ok || !packed.Value {
		return stored, nil
	}
	return unpack(stored)
}

// expired reports whether an item counts as gone at a time in unix seconds.
func expired(it item, now int64) bool {
	at, err := numberOf(it, attrExpires)
	return err == nil && at != 0 && int64(at) <= now
}

func textOf(it item, name string) string {
	if v, ok := it[name].(*types.AttributeValueMemberS); ok {
		return v.Value
	}
	return ""
}

// blobOf is empty, but never nil, for an attribute that is missing.
func blobOf(it item, name string) []byte {
	if v, ok := it[name].(*types.AttributeValueMemberB); ok && v.Value != nil {
		return v.Value
	}
	return []byte{}
}

// numberOf is 0 for an attribute that is missing.
func numberOf(it item, name string) (uint64, error) {
	value, ok := it[name]
	if !ok {
		return 0, nil
	}
	v, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseUint(v.Value, 10, 64)
}
