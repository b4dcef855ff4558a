package bolt

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// separator is between the parts of a key; core.CheckName allows it in no id, so two
// different keys are never equal.
const separator = "\x00"

// maxKeySize bounds a key, in bytes; a page has room for several.
const maxKeySize = 16 << 10

// itemFormat is the first byte of every record and pointer, headFormat that of
// every head, and quarantineFormat that of a quarantined one.
const (
	itemFormat       = 2
	headFormat       = 3
	quarantineFormat = 4
)

// A checksum (CRC-32C) follows the format byte. It also covers the key, so that a value
// which a damaged page shows under another key is found.
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

// headKey is the key of a thread's head. It is that of a record without a name, so a
// thread's head and its records lie together, mostly in one page.
func headKey(key core.ThreadKey) []byte { return recordKey(key, "") }

func parseHeadKey(b []byte) (core.ThreadKey, error) {
	tenant, rest, _ := strings.Cut(string(b), separator)
	name, ok := strings.CutSuffix(rest, separator)
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
	i, err := openItem(key, value)
	i.payload = append([]byte{}, i.payload...)
	return i, err
}

// openItem is decodeItem with a payload that is a part of value.
func openItem(key, value []byte) (item, error) {
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
		return item{}, core.Errorf(core.CodeCorrupt, "value of %d bytes is truncated", len(value))
	}
	i.payload = rest
	return i, nil
}

// payloads copies payloads into memory that they share: a log has many small ones, which are
// read together and dropped together.
type payloads struct {
	free []byte
	read int // bytes so far
}

// mostShared is the most memory that payloads share, in bytes.
const mostShared = 16 << 10

// copied returns a copy. If there is no room for it, room is made for as many bytes as were
// read so far.
func (p *payloads) copied(payload []byte) []byte {
	p.read += len(payload)
	if p.free == nil || len(payload) > len(p.free) {
		size := min(p.read, mostShared)
		if size < 2*len(payload) { // it is large, or the first
			own := make([]byte, len(payload))
			copy(own, payload)
			return own
		}
		p.free = make([]byte, size)
	}
	n := copy(p.free, payload)
	own := p.free[:n:n]
	p.free = p.free[n:]
	return own
}

// expired reports whether the item counts as absent.
func (i item) expired(now int64) bool { return i.expires != 0 && now > i.expires }

func (i item) record(name string) store.Record {
	return store.Record{Name: name, Fence: i.fence, Version: i.version, Payload: i.payload, Expires: i.expires}
}

// nameOf is the record's name in a key of the records bucket.
func nameOf(prefix, key []byte) string { return string(bytes.TrimPrefix(key, prefix)) }
