package sim

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// maxRecord is the store's limit of a payload, in bytes: small, so that it can
// be met.
const maxRecord = 80 << 10

// partition is what the store holds of one thread: bytes, and the head decoded.
type partition struct {
	key     core.ThreadKey
	shard   int
	encoded []byte
	head    thread.Head
	log     []store.Record // from sequence 1; no name: a gap
	before  []store.Record // what was there before the last change; no name: nothing
	putAt   []time.Duration
	lost    []bool // whether it was put under a claim that another had followed
	records map[string]store.Record
	changed time.Duration // when the head was written last
	listed  int64         // DueAt that a stale index still shows
	lag     time.Duration // until when it does
	writer  *host         // of the head
	state   *threadState
}

func (p *partition) record(name string) (store.Record, bool) {
	if seq, ok := (store.Record{Name: name}).LogSeq(); ok {
		if seq == 0 || seq > uint64(len(p.log)) || p.log[seq-1].Name == "" {
			return store.Record{}, false
		}
		return p.log[seq-1], true
	}
	r, ok := p.records[name]
	return r, ok
}

func (p *partition) keep(r store.Record, at time.Duration) {
	seq, ok := r.LogSeq()
	if !ok {
		p.records[r.Name] = r
		return
	}
	for uint64(len(p.log)) < seq {
		p.log, p.before, p.putAt, p.lost = append(p.log, store.Record{}), append(p.before, store.Record{}), append(p.putAt, 0), append(p.lost, false)
	}
	if was := p.log[seq-1]; was.Name == "" || !bytes.Equal(was.Payload, r.Payload) {
		lost := r.Fence < p.head.Fence || p.lost[seq-1] && p.tellsSame(was, r)
		p.putAt[seq-1], p.lost[seq-1], p.before[seq-1] = at, lost, was
	}
	p.log[seq-1] = r
}

// putLost reports whether a claim that was lost has put the record at a sequence.
func (p *partition) putLost(seq uint64) bool { return seq <= uint64(len(p.lost)) && p.lost[seq-1] }

// tellsSame reports whether two records have the result of one execution of a tool. A claim that
// adopts the result of another may give it another place in the line, or make it an error whose
// change does not apply. It keeps the decision, and the times of the claim that ran the tool.
func (p *partition) tellsSame(a, b store.Record) bool {
	x, errX := p.state.w.checks.DecodeEntry(a.Payload)
	y, errY := p.state.w.checks.DecodeEntry(b.Payload)
	return errX == nil && errY == nil && x.At == y.At && x.Decision == y.Decision
}

// backend is a process's way to the store. It behaves as DynamoDB does: the
// records of a commit are put side by side, then the head is set.
type backend struct{ host *host }

var _ store.Backend = backend{}

func (b backend) one(ctx context.Context, p Site, name string, do func()) error {
	return b.host.ask(ctx, request{site: p, name: name, do: do})
}

// Head implements [store.Backend].
func (b backend) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	var encoded []byte
	err := b.one(ctx, SiteHead, key.Thread, func() { encoded = b.host.world.partition(key).encoded })
	b.host.looked()
	if err != nil {
		return thread.Head{}, err
	}
	head, err := decodeHead(encoded)
	b.host.see(key, &head)
	return head, err
}

func decodeHead(encoded []byte) (thread.Head, error) {
	if encoded == nil {
		return thread.Head{}, nil
	}
	return thread.Decode(encoded)
}

// Commit implements [store.Backend].
func (b backend) Commit(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
	w := b.host.world
	b.host.checkForking(key)
	for _, r := range c.Records {
		if len(r.Payload) > w.auditor.mostBytes(r) {
			return store.Outcome{}, w.tooLarge(r)
		}
	}
	taken, err := b.putPointers(ctx, key.Tenant, c.Pointers)
	if err != nil || len(taken) > 0 {
		return store.Outcome{Taken: taken}, err
	}
	if err := b.putRecords(ctx, key, c.Records); err != nil {
		return store.Outcome{}, err
	}
	if err := b.putUsage(ctx, key.Tenant, c.Usage); err != nil {
		return store.Outcome{}, err
	}
	if err := w.people.speakUp(ctx, key, &c.Head); err != nil {
		return store.Outcome{}, err
	}
	encoded := c.Head.AppendBinary(nil)
	var refused []byte
	written, t := false, w.current()
	th := w.partition(key).state
	claims := c.Head.Claim.Fence > w.partition(key).head.Claim.Fence && c.Head.HolderCommitID != c.Head.CommitID
	var was thread.Head
	err = b.host.ask(ctx, request{
		site: SiteCommit, name: key.Thread, claims: claims, holder: c.Head.HolderCommitID == c.Head.CommitID, person: t.deed != nil, keyed: len(c.Pointers) > 0,
		cut: th.runs.cutsOff(&c.Head),
		unheard: func() {
			if written {
				w.unheard(t, th.p, &was, &c.Head)
			}
		},
		// A claim whose response is lost counts when its hint is delivered again: then
		// the thread is the sweep's.
		sure: w.config.Processes.Unswept && c.Head.Claim.Fence > w.partition(key).head.Claim.Fence,
		do: func() {
			was = w.partition(key).head
			th.p.writer = b.host
			if refused, written = w.setHead(key, c.Head.Version, encoded); written {
				t.noteClaim(th, &was, &c.Head)
				t.deed.note(&was, &c.Head)
				b.host.endsOwn(th, &was, &c.Head)
				b.host.owe(key, &was, &c.Head)
				b.host.startsWait(th.p, &was, &c.Head)
				b.host.dieAtTheEnd(&was, &c.Head)
			}
		},
	})
	if err != nil {
		return store.Outcome{}, err
	}
	if written {
		b.host.heard(t, th, &c.Head, claims)
		w.people.endBeforeChild(ctx, th, &was, &c.Head)
		return store.Outcome{Written: true}, nil
	}
	stored, err := decodeHead(refused)
	b.host.see(key, &stored)
	if c.Head.Claim.Worker == b.host.name && stored.Fence >= c.Head.Claim.Fence { // another has claimed what this process wrote and would have
		delete(b.host.owes, key)
	}
	return store.Outcome{Head: stored}, err
}

func (b backend) putPointers(ctx context.Context, tenant string, pointers []store.Pointer) ([]store.Pointer, error) {
	if len(pointers) == 0 {
		return nil, nil
	}
	w := b.host.world
	var taken []store.Pointer
	requests := make([]request, len(pointers))
	for i, p := range pointers {
		requests[i] = request{site: SitePointer, name: p.Name, do: func() {
			w.foldBytes(p.Value)
			id := tenant + "#" + p.Name
			switch was, ok := w.storage.pointers[id]; {
			case !ok:
				w.storage.pointers[id] = p.Value
			case !bytes.Equal(was, p.Value):
				taken = append(taken, store.Pointer{Name: p.Name, Value: was})
			}
		}}
	}
	err := b.host.ask(ctx, requests...)
	return taken, err
}

func (b backend) putRecords(ctx context.Context, key core.ThreadKey, records []store.Record) error {
	if len(records) == 0 {
		return nil
	}
	b.host.checkForking(key)
	var refusal error
	requests := make([]request, len(records))
	for to, from := range b.host.world.random.shuffle(len(records)) {
		requests[to] = b.putting(key, records[from], &refusal)
	}
	if err := b.host.ask(ctx, requests...); err != nil {
		return err
	}
	return refusal
}

func (b backend) putting(key core.ThreadKey, r store.Record, refusal *error) request {
	site := SiteRewrite
	switch r.Kind() {
	case store.KindLog:
		site = SiteLogPut
	case store.KindCreate:
		site = SiteCreate
	}
	return request{site: site, name: r.Name, do: func() {
		if err := b.host.world.put(key, r); err != nil && *refusal == nil {
			*refusal = err
		}
	}}
}

// Put implements [store.Backend].
func (b backend) Put(ctx context.Context, key core.ThreadKey, r store.Record) error {
	if len(r.Payload) > b.host.world.auditor.mostBytes(r) {
		return b.host.world.tooLarge(r)
	}
	return b.putRecords(ctx, key, []store.Record{r})
}

func (w *World) tooLarge(r store.Record) error {
	w.auditor.noteTooLarge(r)
	return fmt.Errorf("record %s of %d bytes: %w", r.Name, len(r.Payload), store.ErrTooLarge)
}

// Get implements [store.Backend].
func (b backend) Get(ctx context.Context, key core.ThreadKey, name string) (r store.Record, ok bool, err error) {
	err = b.one(ctx, SiteGet, name, func() { r, ok = b.host.world.partition(key).record(name) })
	if err != nil {
		return store.Record{}, false, err
	}
	return r, ok, nil
}

// page is how many log records one request reads.
const page = 24

// Log implements [store.Backend].
func (b backend) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for at := max(from, 1); at <= to; at += page {
			records, more, err := b.page(ctx, key, at, min(to, at+page-1), func(*partition, []store.Record) {})
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			for _, r := range records {
				if r.Name != "" && !yield(r, nil) {
					return
				}
			}
			if !more {
				return
			}
		}
	}
}

// LogBackwards implements [store.Backend].
func (b backend) LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return b.backwards(ctx, key, from, to, func(*partition, []store.Record) {})
}

// backwards reads page by page, each as change leaves it.
func (b backend) backwards(ctx context.Context, key core.ThreadKey, from, to uint64, change func(*partition, []store.Record)) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for end := to; end >= max(from, 1); {
			begin := max(from, 1)
			if end > page {
				begin = max(begin, end-page+1)
			}
			records, _, err := b.page(ctx, key, begin, end, change)
			if err != nil {
				yield(store.Record{}, err)
				return
			}
			for _, r := range slices.Backward(records) {
				if r.Name != "" && !yield(r, nil) {
					return
				}
			}
			end = begin - 1
		}
	}
}

func (b backend) page(ctx context.Context, key core.ThreadKey, from, to uint64, change func(*partition, []store.Record)) (records []store.Record, more bool, err error) {
	err = b.one(ctx, SiteLog, key.Thread, func() {
		p := b.host.world.partition(key)
		log := p.log
		end := min(to, uint64(len(log)))
		if from <= end {
			records = slices.Clone(log[from-1 : end])
			change(p, records)
		}
		more = uint64(len(log)) > to
	})
	return records, more, err
}

// Pointer implements [store.Backend].
func (b backend) Pointer(ctx context.Context, tenant, name string) (value []byte, ok bool, err error) {
	err = b.one(ctx, SitePointer, name, func() { value, ok = b.host.world.storage.pointers[tenant+"#"+name] })
	return value, ok && err == nil, err
}

// DuePolicy implements [store.Backend]: the index is exact.
func (b backend) DuePolicy() thread.DuePolicy { return thread.DuePolicy{} }

// Overdue implements [store.Backend].
func (b backend) Overdue(ctx context.Context, shard int, until int64, after *store.Overdue, limit int) (found []store.Overdue, err error) {
	if len(b.host.world.storage.shards[shard]) == 0 {
		return nil, nil // most shards are empty: there is nothing to go wrong
	}
	err = b.one(ctx, SiteDue, "", func() {
		for _, p := range b.host.world.storage.shards[shard] {
			due := b.host.world.dueOf(p)
			if due == 0 || due > until {
				continue
			}
			if o := (store.Overdue{Key: p.key, At: due}); after == nil || later(o, *after) > 0 {
				found = append(found, o)
			}
		}
	})
	slices.SortFunc(found, later)
	return found[:min(len(found), limit)], err
}

func later(a, b store.Overdue) int {
	return cmp.Or(cmp.Compare(a.At, b.At), strings.Compare(a.Key.Thread, b.Key.Thread))
}

// Erase implements [store.Backend]. The records of a deleted thread are checked no more.
func (b backend) Erase(ctx context.Context, key core.ThreadKey, limit int) (erased int, err error) {
	if err := key.Check(); err != nil {
		return 0, err
	}
	if limit < 1 {
		return 0, core.Errorf(core.CodeInvalid, "erase %d records: the limit must be at least 1", limit)
	}
	err = b.one(ctx, SiteCreate, "erase", func() {
		p := b.host.world.partition(key)
		if !p.head.Deleted {
			b.host.world.fail(p, "a thread is erased, although it is not deleted")
		}
		erased = p.erase(limit)
	})
	return erased, err
}

// erase removes records, in order of name.
func (p *partition) erase(limit int) (erased int) {
	for i, r := range p.log {
		if r.Name != "" && erased < limit {
			p.log[i] = store.Record{}
			erased++
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.records)) {
		if erased == limit {
			break
		}
		delete(p.records, name)
		erased++
	}
	return erased
}

// put is the store's side of a put.
func (w *World) put(key core.ThreadKey, r store.Record) error {
	w.foldRecord(&r)
	p := w.partition(key)
	stored, ok := p.record(r.Name)
	var was *store.Record
	if ok {
		was = &stored
	}
	write, err := r.Admit(was)
	if err != nil || !write {
		return err
	}
	w.auditor.checkAsked(r)
	if was != nil && r.Kind() == store.KindLog && bytes.Equal(was.Payload, r.Payload) {
		w.Stats.Steps.Adopted++
	}
	w.auditor.checkPut(p, was, r)
	p.keep(r, w.now)
	return nil
}

// setHead is the store's side of the compare-and-set.
func (w *World) setHead(key core.ThreadKey, version uint64, encoded []byte) (refused []byte, written bool) {
	w.foldBytes(encoded)
	p := w.partition(key)
	if p.head.Version != version-1 {
		return p.encoded, false
	}
	next, err := thread.Decode(encoded)
	if err != nil {
		w.fail(p, "the written head does not decode: %v", err)
		return nil, false
	}
	if len(encoded) > thread.MaxSize {
		w.fail(p, "the head has %d bytes", len(encoded))
	}
	was := p.head
	if p.listed = was.DueAt; w.now < w.stop && w.config.Faults > 0 {
		p.lag = w.now + w.random.between(0, 8*time.Second)
	}
	p.encoded, p.head, p.changed = encoded, next, w.now
	w.auditor.checkHead(p, was, next)
	return nil, true
}

// dueOf is what the index shows.
func (w *World) dueOf(p *partition) int64 {
	if w.now >= p.lag || p.listed == p.head.DueAt {
		return p.head.DueAt
	}
	w.strike(SiteDue, FaultStale)
	return p.listed
}

// touchAll is a write of another client on every thread.
func (w *World) touchAll() {
	for _, p := range w.storage.partitions {
		if !p.head.Exists() || p.head.Deleted {
			continue
		}
		var id core.ID
		w.random.fill(id[:])
		next, _, err := thread.Apply(p.head, thread.Transition{Now: w.millis(), CommitID: id, Change: thread.Touch{}})
		if err != nil {
			w.fail(p, "touch: %v", err)
			continue
		}
		w.setHead(p.key, next.Version, next.AppendBinary(nil))
	}
}
