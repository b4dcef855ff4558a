package bolt

import (
	"bytes"
	"encoding/binary"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// separator stands between the parts of a key; core.CheckName lets it into no
// id, so two different keys never read the same.
const separator = "\x00"

// valueFormat is the first byte of every record and pointer.
const valueFormat = 1

func threadKey(key core.ThreadKey) []byte {
	return []byte(key.Tenant + separator + key.Thread)
}

func parseThreadKey(b []byte) (core.ThreadKey, error) {
	tenant, name, ok := strings.Cut(string(b), separator)
	key := core.ThreadKey{Tenant: tenant, Thread: name}
	if err := key.Check(); !ok || err != nil {
		return core.ThreadKey{}, core.Errorf(core.CodeCorrupt, "key %q names no thread", core.Excerpt(string(b)))
	}
	return key, nil
}

// recordKey is also the prefix of all records whose name starts with name.
func recordKey(key core.ThreadKey, name string) []byte {
	return []byte(key.Tenant + separator + key.Thread + separator + name)
}

func pointerKey(tenant, name string) []byte { return []byte(tenant + separator + name) }

// dueKey sorts the threads of a shard by time.
func dueKey(key core.ThreadKey, at int64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{byte(store.Shard(key))}, uint64(at))
	return append(b, threadKey(key)...)
}

func parseDueKey(b []byte) (at int64, key core.ThreadKey, err error) {
	if len(b) < 9 {
		return 0, core.ThreadKey{}, core.Errorf(core.CodeCorrupt, "due index has the key %x", b)
	}
	key, err = parseThreadKey(b[9:])
	return int64(binary.BigEndian.Uint64(b[1:9])), key, err
}

// What an entry of the expiry index is about.
const (
	expiryOfRecord  = 'r'
	expiryOfPointer = 'p'
)

// expiryKey sorts what can expire by its time.
func expiryKey(expires int64, of byte, key []byte) []byte {
	b := binary.BigEndian.AppendUint64(nil, uint64(max(expires, 0)))
	return append(append(b, of), key...)
}

func parseExpiryKey(b []byte) (expires int64, of byte, key []byte, err error) {
	if len(b) < 9 || b[8] != expiryOfRecord && b[8] != expiryOfPointer {
		return 0, 0, nil, core.Errorf(core.CodeCorrupt, "expiry index has the key %x", b)
	}
	return int64(binary.BigEndian.Uint64(b)), b[8], b[9:], nil
}

// item is the value of a record or, with neither fence nor step, of a pointer.
type item struct {
	fence   uint64
	step    uint32
	expires int64 // unix seconds; 0: never
	payload []byte
}

func (i item) encode() []byte {
	b := make([]byte, 0, 1+3*binary.MaxVarintLen64+len(i.payload))
	b = append(b, valueFormat)
	b = binary.AppendUvarint(b, i.fence)
	b = binary.AppendUvarint(b, uint64(i.step))
	b = binary.AppendVarint(b, i.expires)
	return append(b, i.payload...)
}

// decodeItem reads what encode wrote; the payload is a copy and never nil.
func decodeItem(b []byte) (item, error) {
	corrupt := func(what string) (item, error) {
		return item{}, core.Errorf(core.CodeCorrupt, "value of %d bytes %s", len(b), what)
	}
	if len(b) == 0 {
		return corrupt("is empty")
	}
	if b[0] != valueFormat {
		return corrupt("has an unknown format")
	}
	rest := b[1:]
	fence, n := binary.Uvarint(rest)
	if n <= 0 {
		return corrupt("ends in its fence")
	}
	rest = rest[n:]
	step, n := binary.Uvarint(rest)
	if n <= 0 || step > 1<<32-1 {
		return corrupt("ends in its step")
	}
	rest = rest[n:]
	expires, n := binary.Varint(rest)
	if n <= 0 {
		return corrupt("ends in its expiry")
	}
	return item{fence: fence, step: uint32(step), expires: expires, payload: append([]byte{}, rest[n:]...)}, nil
}

// expired reports whether what is stored counts as absent.
func (i item) expired(now int64) bool { return i.expires != 0 && now > i.expires }

func (i item) record(name string) store.Record {
	return store.Record{Name: name, Fence: i.fence, Step: i.step, Payload: i.payload, Expires: i.expires}
}

// nameOf is the record's name in a key of the records bucket.
func nameOf(prefix, key []byte) string { return string(bytes.TrimPrefix(key, prefix)) }
