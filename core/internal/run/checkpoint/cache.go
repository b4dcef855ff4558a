package checkpoint

import (
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// cache keeps the conversations of the threads that this process stepped last,
// up to a number of bytes. They are prefixes of committed logs, which never
// change: an old one is only short. mu guards the tables; conversations are
// shared without it.
type cache struct {
	mu    sync.Mutex
	limit int
	used  int
	byKey map[core.ThreadKey]*cacheEntry
	ring  cacheEntry // of all that are kept: next is the one that was used least lately, before the one that was used last
}

// cacheEntry is a conversation in the ring, which needs no additional memory: a
// process keeps tens of thousands.
type cacheEntry struct {
	c            *Conversation
	key          core.ThreadKey
	size         int
	next, before *cacheEntry
}

// newCache returns a cache of so many bytes.
func newCache(limit int) *cache {
	c := &cache{limit: limit, byKey: map[core.ThreadKey]*cacheEntry{}}
	c.ring.next, c.ring.before = &c.ring, &c.ring
	return c
}

// get returns the thread's conversation if it is one of this incarnation and
// not ahead of the head, nil otherwise.
func (c *cache) get(key core.ThreadKey, head *thread.Head) *Conversation {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := c.byKey[key]
	if found == nil {
		return nil
	}
	if found.c.incarnation != head.Incarnation || found.c.Seq > head.Seq {
		c.remove(found)
		return nil
	}
	c.touch(found)
	return found.c
}

// peek returns the conversation kept of a thread, at any age, and changes nothing:
// a reader's head may be older than a step's entry.
func (c *cache) peek(key core.ThreadKey) *Conversation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.byKey[key]; found != nil {
		return found.c
	}
	return nil
}

// put keeps a conversation, and drops those that were not used for the longest
// time. One that is larger than the whole cache is not kept.
func (c *cache) put(key core.ThreadKey, v *Conversation) {
	if v.short { // a step that found it would show its model too little
		return
	}
	size := v.bytes() // before the lock: it looks at every message
	c.mu.Lock()
	defer c.mu.Unlock()
	entry := c.byKey[key]
	switch {
	case entry == nil:
		entry = &cacheEntry{key: key}
		entry.next, entry.before = entry, entry
		c.byKey[key] = entry
	case entry.c.incarnation == v.incarnation && entry.c.Seq > v.Seq:
		return // another step of this process went further
	}
	c.used += size - entry.size
	entry.c, entry.size = v, size
	c.touch(entry)
	if size > c.limit {
		c.remove(entry)
	}
	for c.used > c.limit {
		c.remove(c.ring.next)
	}
}

// drop forgets a thread. A step that still runs may put it again: then it goes with age.
func (c *cache) drop(key core.ThreadKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.byKey[key]; found != nil {
		c.remove(found)
	}
}

// remove drops a thread that is kept; the caller holds mu.
func (c *cache) remove(e *cacheEntry) {
	c.used -= e.size
	delete(c.byKey, e.key)
	e.unlink()
}

// touch makes a thread the one that was used last; the caller holds mu.
func (c *cache) touch(e *cacheEntry) {
	e.unlink()
	last := c.ring.before
	e.before, e.next = last, &c.ring
	last.next, c.ring.before = e, e
}

// unlink removes the thread from the ring.
func (e *cacheEntry) unlink() {
	e.before.next, e.next.before = e.next, e.before
}
