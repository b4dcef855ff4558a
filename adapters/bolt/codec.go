package bolt

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// separator stands between the parts of a key; core.CheckName lets it into no
// id, so two different keys never read the same.
const separator = "\x00"

// itemFormat is the first byte of every record and pointer, headFormat that of
// every head.
const (
	itemFormat = 2
	headFormat = 2
)

// A checksum (CRC-32C) stands behind the format byte. It covers the key too, so
// that a value which a damaged page shows under another key is found.
const (
	checksumSize = 4
	headerSize   = 1 + checksumSize
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(key, content []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, content)
}

// seal fills the header of a value, whose content follows it.
func seal(value []byte, format byte, key []byte) []byte {
	value[0] = format
	binary.BigEndian.PutUint32(value[1:], checksum(key, value[headerSize:]))
	return value
}

// unseal returns the content of a value, which is not copied.
func unseal(value []byte, format byte, key []byte) ([]byte, error) {
	corrupt := func(what string) ([]byte, error) {
		return nil, core.Errorf(core.CodeCorrupt, "value of %d bytes %s", len(value), what)
	}
	switch {
	case len(value) < headerSize:
		return corrupt("is too short")
	case value[0] != format:
		return corrupt("has an unknown format")
	case binary.BigEndian.Uint32(value[1:]) != checksum(key, value[headerSize:]):
		return corrupt("does not match its checksum")
	}
	return value[headerSize:], nil
}

// indexValue is the value of an entry of an index, whose key says everything.
func indexValue(key []byte) []byte { return seal(make([]byte, headerSize), itemFormat, key) }

// inOrder reports whether an entry of an index is as it was written.
func inOrder(key, value []byte) bool {
	_, err := unseal(value, itemFormat, key)
	return err == nil
}

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

// dueKey sorts the threads of a shard by time, then by key.
func dueKey(shard int, at int64, key core.ThreadKey) []byte {
	b := binary.BigEndian.AppendUint64([]byte{byte(shard)}, uint64(at))
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

// item is the value of a record or, with neither fence nor version, of a pointer.
type item struct {
	fence, version uint64
	expires        int64 // unix seconds; 0: never
	payload        []byte
}

func (i item) encode(key []byte) []byte {
	b := make([]byte, headerSize, headerSize+3*binary.MaxVarintLen64+len(i.payload))
	b = binary.AppendUvarint(b, i.fence)
	b = binary.AppendUvarint(b, i.version)
	b = binary.AppendVarint(b, i.expires)
	return seal(append(b, i.payload...), itemFormat, key)
}

// decodeItem reads what encode wrote; the payload is a copy and never nil.
func decodeItem(key, value []byte) (item, error) {
	rest, err := unseal(value, itemFormat, key)
	if err != nil {
		return item{}, err
	}
	i, bad := item{}, false
	number := func(n int) {
		if bad = bad || n <= 0; !bad {
			rest = rest[n:]
		}
	}
	var n int
	i.fence, n = binary.Uvarint(rest)
	number(n)
	i.version, n = binary.Uvarint(rest)
	number(n)
	i.expires, n = binary.Varint(rest)
	number(n)
	if bad {
		return item{}, core.Errorf(core.CodeCorrupt, "value of %d bytes ends in its numbers", len(value))
	}
	i.payload = append([]byte{}, rest...)
	return i, nil
}

// expired reports whether what is stored counts as absent.
func (i item) expired(now int64) bool { return i.expires != 0 && now > i.expires }

func (i item) record(name string) store.Record {
	return store.Record{Name: name, Fence: i.fence, Version: i.version, Payload: i.payload, Expires: i.expires}
}

// nameOf is the record's name in a key of the records bucket.
func nameOf(prefix, key []byte) string { return string(bytes.TrimPrefix(key, prefix)) }
