package runtime

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Limits of a message page. Lambda refuses responses of 6 MiB, in which each quote
// of the messages' JSON has become two bytes.
const (
	defaultPage  = 50
	maxPage      = 200
	maxPageBytes = 3_000_000
)

// Messages reads a page of a thread's committed messages, without those that a
// later run has superseded: they are passed over unread. Which they are is one
// record more for each page before the newest of those runs, two when more than
// 65 ranges of the log are superseded, and so on; a thread where nothing is
// superseded costs nothing. Each page is as the thread stands when it is read.
//
// The log is read record by record, up to the one that does not fit: a page costs
// its own size in memory, whatever the thread has.
//
// The last page has besides, over its Limit but within its Bytes, what is visible
// early: the results of a round that is still open, and accepted input that no
// step has read, marked as pending. No cursor passes an open turn: a client that asks again
// with that of the last page is shown what has come since.
func (r *Runtime) Messages(ctx context.Context, id core.Identity, threadID string, q MessageQuery) (MessagePage, error) {
	q, err := q.complete()
	if err != nil {
		return MessagePage{}, err
	}
	key, head, err := r.visible(ctx, id, threadID)
	if err != nil {
		return MessagePage{}, err
	}
	p := pager{Runtime: r, key: key, head: head, query: q, page: MessagePage{Messages: []core.Message{}, Total: int(head.Seq)}}
	from, passed := cursorOf(q.After)
	if !q.Run.IsZero() {
		if err := p.ofRun(ctx, id, &from); err != nil {
			return MessagePage{}, err
		}
	}
	if q.Descending {
		from = 0
	}
	if p.superseded, err = store.Superseded(ctx, r.store, r.records, key, head.Supersedes, from); err != nil {
		return MessagePage{}, err
	}
	switch {
	case q.Descending:
		err = p.descending(ctx, q.Before)
	case q.Newest:
		err = p.newest(ctx, from)
	default:
		err = p.oldest(ctx, from, passed)
	}
	if err != nil {
		return MessagePage{}, err
	}
	return p.page, nil
}

// complete fills the defaults in, or refuses. The newest messages have no default
// count: whoever asks for them shows the end of a conversation, as much as fits.
func (q MessageQuery) complete() (MessageQuery, error) {
	most := maxPage
	if q.Limit == 0 && q.Newest {
		q.Limit, most = maxPageBytes, maxPageBytes // a message has a byte
	}
	if q.Limit == 0 {
		q.Limit = defaultPage
	}
	if q.Limit < 1 || q.Limit > most {
		return q, core.Errorf(core.CodeInvalid, "limit %d, allowed are 1 to %d", q.Limit, maxPage)
	}
	if q.Bytes == 0 {
		q.Bytes = maxPageBytes
	}
	if q.Bytes < 1 || q.Bytes > maxPageBytes {
		return q, core.Errorf(core.CodeInvalid, "page of %d bytes, allowed are 1 to %d", q.Bytes, maxPageBytes)
	}
	return q, nil
}

// A cursor is the last sequence that was shown and, when that is the end of the
// log, how many of the early messages behind it were. Sequences stay under
// earlyUnit, and JSON's numbers have room for 8,191 units.
const earlyUnit = 1 << 40

func cursorOf(after uint64) (seq, passed uint64) { return after % earlyUnit, after / earlyUnit }

// pager fills one page, of the thread as one head shows it: what comes meanwhile is
// the next page's. Log records under a head never change, so that nothing needs to
// be locked or read twice.
type pager struct {
	*Runtime
	key        core.ThreadKey
	head       thread.Head
	query      MessageQuery
	superseded []thread.Range // newest first
	first      uint64         // of the run that is asked for: no message of it lies before
	over       bool           // the log was read beyond the run that is asked for
	size       int            // bytes of the page's messages
	page       MessagePage
}

// fits reports whether a message of so many bytes may go on the page. The first one
// always may: a page without any would have no cursor that leads past it.
func (p *pager) fits(size int) bool {
	return len(p.page.Messages) == 0 || p.size+size <= p.query.Bytes
}

// read is the message of an entry that has one, as readers are given it.
func read(e *thread.Entry) core.Message {
	m := *e.Message
	m.Decided = e.Decision != ""
	return m
}

func (p *pager) add(m core.Message, size int) {
	p.page.Messages, p.size = append(p.page.Messages, m), p.size+size
}

// oldest fills the page from behind a sequence on; passed is how many of the early
// messages were shown before. A cursor into the early ones is as good as the head
// that it was made of: while the log stands still, results can come before it, which
// shows one twice, and input can be taken back. When the log has come on it counts
// for nothing, and whatever is early then is shown from the first.
func (p *pager) oldest(ctx context.Context, seq, passed uint64) error {
	if seq < p.head.Seq {
		passed = 0 // the log has come on, and they with it
	}
	for full := false; seq < p.head.Seq; {
		from, end := shown(p.superseded, seq+1, p.head.Seq)
		if seq = from - 1; seq >= p.head.Seq {
			break
		}
		room := p.query.Limit - len(p.page.Messages)
		var err error
		if seq, full, err = p.addRange(ctx, from, min(end, seq+uint64(room))); err != nil {
			return err
		}
		if full || p.over || len(p.page.Messages) == p.query.Limit {
			break
		}
	}
	if p.over {
		return nil
	}
	if seq < p.head.Seq {
		p.page.Next = seq
		return nil
	}
	return p.early(ctx, seq, passed)
}

// addRange adds the messages of a range of the log, and returns the last sequence up to
// which the page has them all; full says that the next one does not fit.
func (p *pager) addRange(ctx context.Context, from, to uint64) (seq uint64, full bool, err error) {
	seq = from - 1
	for entry, err := range store.Entries(ctx, p.store, p.records, p.key, from, to) {
		if err != nil {
			return seq, false, err
		}
		if p.past(entry) {
			return seq, false, nil
		}
		if entry.Message != nil && p.shows(entry.Message) {
			if !p.fits(entry.Size) {
				return seq, true, nil
			}
			p.add(read(&entry.Entry), entry.Size)
		}
		seq = entry.Seq
	}
	return seq, false, nil
}

// early adds what is visible early behind a sequence, but for those that were shown.
// These have no sequence that a cursor could name, so it counts them: see earlyUnit.
func (p *pager) early(ctx context.Context, seq, passed uint64) error {
	n := uint64(0)
	for m, err := range p.earlyMessages(ctx, p.key, p.head, seq) {
		if err != nil {
			return err
		}
		if !p.shows(&m.Message) {
			continue
		}
		if n++; n <= passed {
			continue
		}
		if !p.fits(m.size) {
			p.page.Next = seq + (n-1)*earlyUnit
			return nil
		}
		p.add(m.Message, m.size)
	}
	return nil
}

// newest fills the page with the newest messages behind a sequence, those that are
// visible early among them. These can only be read forwards, so the page forgets its
// first ones for as long as it is too large; the log it reads backwards.
func (p *pager) newest(ctx context.Context, after uint64) error {
	var sizes []int // of the page's messages
	for m, err := range p.earlyMessages(ctx, p.key, p.head, max(after, p.head.Seq)) {
		if err != nil {
			return err
		}
		p.add(m.Message, m.size)
		for sizes = append(sizes, m.size); p.size > p.query.Bytes && len(sizes) > 1; sizes = sizes[1:] {
			p.page.Messages, p.size = p.page.Messages[1:], p.size-sizes[0]
			p.page.Earlier = true
		}
	}
	if p.page.Earlier {
		p.page.Cut = true // what is early belongs to the open run, or waits for it
		return nil
	}
	early := p.page.Messages
	p.page.Messages = nil
	before, err := p.backwards(ctx, after, len(early) > 0)
	slices.Reverse(p.page.Messages)
	p.page.Messages = append(p.page.Messages, early...)
	p.trim(before)
	return err
}

// backwards adds the log's messages from the newest on, and returns the first one
// that does not fit; nil: all do. Where there are early messages, none need to. That
// one is read for its run alone: see trim.
func (p *pager) backwards(ctx context.Context, after uint64, early bool) (before *core.Message, err error) {
	spans := append(slices.Clone(p.superseded), thread.Range{From: 0, To: after}) // what is not shown, newest first
	last := p.head.Seq
	for _, hidden := range spans {
		from := after + 1
		if hidden.From > 0 {
			from = max(from, hidden.Record())
		}
		for entry, err := range store.EntriesBackwards(ctx, p.store, p.records, p.key, from, last) {
			switch {
			case err != nil:
				return nil, err
			case entry.Message == nil:
			case len(p.page.Messages) == p.query.Limit,
				p.size+entry.Size > p.query.Bytes && (early || len(p.page.Messages) > 0):
				return entry.Message, nil
			default:
				p.add(read(&entry.Entry), entry.Size)
			}
		}
		if hidden.From <= after+1 {
			return nil, nil
		}
		last = hidden.From - 1
	}
	return nil, nil
}

// trim takes the messages of a run off that before belongs to, if others are left:
// half a run is a call without its result, or a result without its call.
func (p *pager) trim(before *core.Message) {
	if before == nil {
		return
	}
	p.page.Earlier = true
	whole := slices.IndexFunc(p.page.Messages, func(m core.Message) bool { return m.RunID != before.RunID })
	if whole < 0 {
		p.page.Cut = true
		return
	}
	p.page.Messages = p.page.Messages[whole:]
}

// shown is where the log goes on that readers see, at a sequence or behind it, and
// the last sequence before the next superseded range. Ranges are newest first, and
// do not overlap; behind each lies the record that superseded it, which is shown.
func shown(superseded []thread.Range, from, last uint64) (first, end uint64) {
	for _, r := range slices.Backward(superseded) {
		switch {
		case from > r.To: // it lies behind the reader
		case from < r.From:
			return from, r.From - 1
		default:
			from = r.Record()
		}
	}
	return from, last
}
