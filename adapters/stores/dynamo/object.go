package dynamo

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// overflowOver is the largest payload in an item if there is a bucket, in bytes after
// compression: a larger one becomes an object. Without a bucket the limit is
// [maxPayload].
const overflowOver = 32 << 10

// Objects is a bucket; adapters/stores/s3 implements it. A Get after a Put must return
// the new object.
type Objects interface {
	// Put stores an object, or replaces it.
	Put(ctx context.Context, key string, content []byte) error
	// Get reads an object that should have at most so many bytes, and may truncate a longer
	// one after one more byte; ok is false if the object does not exist.
	Get(ctx context.Context, key string, most int) (content []byte, ok bool, err error)
	// Erase deletes every object whose key begins with a prefix. When it returns nil,
	// there was a moment without such an object.
	Erase(ctx context.Context, prefix string) error
}

// object is what an item says of a payload that is not in it.
type object struct {
	name string // <incarnation>/<sha256 of its bytes>, both in hexadecimal
	size int    // of its bytes
}

// objectOf names the stored bytes of a payload.
func objectOf(incarnation uint64, stored []byte) object {
	sum := sha256.Sum256(stored)
	return object{fmt.Sprintf("%016x/%s", incarnation, hex.EncodeToString(sum[:])), len(stored)}
}

// set makes the item name the object.
func (o object) set(it item) {
	it[attrObject] = text(o.name)
	it[attrSize] = number(o.size)
}

// namedBy reads the object that an item names; ok is false when its payload is in it.
func namedBy(it item) (o object, ok bool, err error) {
	if it[attrObject] == nil {
		return object{}, false, nil
	}
	o.name = textOf(it, attrObject)
	size, err := numberOf(it, attrSize)
	incarnation, hash, _ := strings.Cut(o.name, "/")
	_, errIncarnation := strconv.ParseUint(incarnation, 16, 64)
	sum, errHash := hex.DecodeString(hash)
	if err != nil || errIncarnation != nil || errHash != nil || len(sum) != sha256.Size || len(incarnation) != 16 || size == 0 || size > maxUnpacked {
		return object{}, true, fmt.Errorf("%w: it names the object %q of %d bytes", store.ErrCorrupt, core.Excerpt(o.name), size)
	}
	o.size = int(size)
	return o, true, nil
}

// holds reports whether content is the object's.
func (o object) holds(content []byte) bool {
	sum := sha256.Sum256(content)
	return len(content) == o.size && o.hash() == hex.EncodeToString(sum[:])
}

// folder is what the keys of a thread's objects begin with. No part of it can contain the
// slash, and none is one that vanishes from a path: see core.CheckName.
func folder(key core.ThreadKey) string { return key.Tenant + "/" + key.Thread + "/" }

// overflow moves a payload out of the item when it is too large for it; content is then
// what to put. The incarnation is asked for only then.
func overflow(it item, incarnation func() (uint64, error)) (content []byte, err error) {
	content = blobOf(it, attrPayload)
	if len(content) <= overflowOver {
		return nil, nil
	}
	n, err := incarnation()
	if err != nil {
		return nil, err
	}
	objectOf(n, content).set(it)
	delete(it, attrPayload)
	return content, nil
}

// putObject stores what the record's item names, before the item.
func (s *Store) putObject(ctx context.Context, p recordPut) error {
	if p.content == nil {
		return nil
	}
	return during(p.doing, s.objects.Put(ctx, folder(p.key)+textOf(p.item, attrObject), p.content))
}

// during adds what was being done.
func during(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// fetch puts the payload into an item that names an object; ok is false if the item is
// gone, too, since then both were erased in between.
func (s *Store) fetch(ctx context.Context, doing string, it item) (ok bool, err error) {
	o, named, err := namedBy(it)
	if err != nil || !named {
		return true, during(doing, err)
	}
	if s.objects == nil {
		return true, core.Errorf(core.CodeInternal, "%s: its payload is an object, but no bucket is configured", doing)
	}
	key, err := threadKey(it)
	if err != nil {
		return true, during(doing, err)
	}
	content, found, err := s.objects.Get(ctx, folder(key)+o.name, o.size)
	switch {
	case err != nil:
		return true, during(doing, err)
	case found && o.holds(content):
		it[attrPayload] = blob(content)
		delete(it, attrObject)
		delete(it, attrSize)
		return true, nil
	case !found:
		stands, err := s.threads.get(ctx, doing, it[attrPK], it[attrSK])
		if err != nil || len(stands) == 0 {
			return false, err
		}
		return true, fmt.Errorf("%s: %w: its object %s is missing", doing, store.ErrCorrupt, o.name)
	}
	return true, fmt.Errorf("%s: %w: its object %s differs, it has %d bytes", doing, store.ErrCorrupt, o.name, len(content))
}

// ahead bounds the objects that are fetched at the same time, and before they are asked
// for: [atOnce] of them, and the bytes that they may have together unless it is one.
const ahead = 8 << 20

// fetched puts their payloads into the items of a query, in order, fetching objects
// concurrently. It omits items that were erased in between, and items that keep refuses.
func (s *Store) fetched(ctx context.Context, doing string, pages iter.Seq2[[]item, error], keep func(item) bool) iter.Seq2[item, error] {
	return func(yield func(item, error) bool) {
		for page, err := range pages {
			if err != nil {
				yield(nil, err)
				return
			}
			for rest := page; len(rest) > 0; {
				n := window(rest)
				if !s.fetchAll(ctx, doing, rest[:n], keep, yield) {
					return
				}
				rest = rest[n:]
			}
		}
	}
}

// window is how many items of a page, one at least, are fetched together.
func window(items []item) int {
	objects, total := 0, 0
	for i, it := range items {
		size, err := numberOf(it, attrSize)
		if it[attrObject] == nil || err != nil {
			continue
		}
		objects, total = objects+1, total+int(min(size, maxUnpacked))
		if i > 0 && objects > 1 && (objects > atOnce || total > ahead) {
			return i
		}
	}
	return len(items)
}

// fetchAll yields items with their payloads; false: the caller has enough.
func (s *Store) fetchAll(ctx context.Context, doing string, items []item, keep func(item) bool, yield func(item, error) bool) bool {
	var kept []item
	var named []int
	for i, it := range items {
		items[i] = nil // the page outlives what is fetched
		if !keep(it) {
			continue
		}
		if it[attrObject] != nil {
			named = append(named, len(kept))
		}
		kept = append(kept, it)
	}
	gone, errs := make([]bool, len(kept)), make([]error, len(kept))
	sideBySide(len(named), func(n int) {
		i := named[n]
		ok, err := s.fetch(ctx, doing, kept[i])
		gone[i], errs[i] = !ok, err
	})
	for i, it := range kept {
		kept[i] = nil
		switch {
		case errs[i] != nil:
			yield(nil, errs[i])
			return false
		case gone[i]:
		case !yield(it, nil):
			return false
		}
	}
	return true
}

// meet puts the payload into an item that prevents the write of a record: our own payload
// if both name the same bytes, so that no read is needed to compare them.
func (s *Store) meet(ctx context.Context, p recordPut, met item) (ok bool, err error) {
	if met[attrObject] != nil && p.content != nil && met[attrPacked] != nil == (p.item[attrPacked] != nil) {
		ours, _, errOurs := namedBy(p.item)
		theirs, _, errTheirs := namedBy(met)
		if errOurs == nil && errTheirs == nil && ours.size == theirs.size && ours.hash() == theirs.hash() {
			met[attrPayload] = blob(p.content)
			return true, nil
		}
	}
	return s.fetch(ctx, p.doing, met)
}

// hash is the hexadecimal one in its name.
func (o object) hash() string {
	_, hash, _ := strings.Cut(o.name, "/")
	return hash
}
