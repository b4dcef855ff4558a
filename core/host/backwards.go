package host

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
)

// newest fills the page with the newest messages after a sequence, early ones included.
// The early ones can only be read forwards: while the page is too large, it drops its first
// ones. The log is read backwards.
func (p *pager) newest(ctx context.Context, after uint64) error {
	var sizes []int // of the page's messages
	for m, err := range p.reads.earlyMessages(ctx, p.key, p.head, max(after, p.head.Seq)) {
		if err != nil {
			return err
		}
		p.add(m.Message, m.size)
		for sizes = append(sizes, m.size); p.size > p.query.Bytes && len(sizes) > 1; sizes = sizes[1:] {
			p.page.Messages, p.size = p.page.Messages[1:], p.size-sizes[0]
			p.page.Earlier = true
		}
	}
	if p.page.Earlier { // the page is full of early messages
		p.page.Cut = true // early messages belong to the open run, or wait for it
		return nil
	}
	// The log's messages are added newest first and reversed, then the early ones follow.
	early := p.page.Messages
	p.page.Messages = nil
	before, err := p.backwards(ctx, after, len(early) > 0)
	slices.Reverse(p.page.Messages)
	p.page.Messages = append(p.page.Messages, early...)
	p.trim(before)
	return err
}

// backwards adds the log's messages from the newest on, newest first. It returns the first
// message that does not fit, which trim needs for its run; nil: all fit. If there are early
// messages, the page may have none of the log.
func (p *pager) backwards(ctx context.Context, after uint64, early bool) (before *core.Message, err error) {
	spans := append(slices.Clone(p.superseded), thread.Range{}) // ranges that are not shown, newest first; the last one ends the page
	// From one superseded range down to the next: the record after a range superseded it and
	// is shown. The last range ends at after, where the page ends.
	last := p.head.Seq
	for _, hidden := range spans {
		from := after + 1
		if hidden.From > 0 {
			from = max(from, hidden.Record())
		}
		for entry, err := range threadlog.EntriesBackwards(ctx, p.reads.store, p.reads.records, p.key, from, last) {
			if err != nil {
				return nil, err
			}
			if entry.Message == nil {
				continue
			}
			size := entry.JSONSize()
			if len(p.page.Messages) == p.query.Limit || p.size+size > p.query.Bytes && (early || len(p.page.Messages) > 0) {
				return entry.Message, nil
			}
			p.add(messageOf(&entry.Entry), size)
		}
		if hidden.From <= after+1 {
			return nil, nil
		}
		last = hidden.From - 1
	}
	return nil, nil
}

// trim drops the messages of the run that before belongs to from the page's start, unless the
// page has no others. Half a run would be a call without its result, or a result without its
// call. before is the message before the page; nil: the page starts with the first.
func (p *pager) trim(before *core.Message) {
	if before == nil {
		return
	}
	p.page.Earlier = true
	// The first message of another run than before's starts a whole run.
	whole := slices.IndexFunc(p.page.Messages, func(m core.Message) bool { return m.RunID != before.RunID })
	if whole < 0 {
		p.page.Cut = true
		return
	}
	p.page.Messages = p.page.Messages[whole:]
}

// descending fills the page with the newest message first, from the newest or from before
// a cursor. Early messages come first and count as after the head's last sequence. A cursor
// into them restarts at the newest once the log has grown, so that no message is skipped.
func (p *pager) descending(ctx context.Context, before uint64) error {
	// seq is the sequence before which the page continues, one more than the head's at the
	// newest; passed counts early messages that were shown.
	seq, passed := cursorOf(before)
	if before == 0 || passed > 0 && seq != p.head.Seq+1 || seq > p.head.Seq+1 {
		seq, passed = p.head.Seq+1, 0
	}
	if before == 0 || passed > 0 {
		full, err := p.earlyBackwards(ctx, passed)
		if err != nil || full {
			return err
		}
	}
	if seq <= 1 {
		return nil
	}
	// As in backwards, but down to the start of the log or of the query's run.
	last := seq - 1
	for _, hidden := range append(slices.Clone(p.superseded), thread.Range{}) {
		from := max(p.first, 1)
		if hidden.From > 0 {
			from = max(from, hidden.Record())
		}
		for e, err := range threadlog.EntriesBackwards(ctx, p.reads.store, p.reads.records, p.key, from, last) {
			if err != nil {
				return err
			}
			if e.Message == nil || !p.shows(e.Message) {
				continue
			}
			size := e.JSONSize()
			if len(p.page.Messages) >= p.query.Limit || !p.fits(size) {
				p.page.Next = e.Seq + 1
				return nil
			}
			p.add(messageOf(&e.Entry), size)
		}
		if hidden.From <= max(p.first, 1) {
			return nil
		}
		last = min(last, hidden.From-1)
	}
	return nil
}

// earlyBackwards adds the early messages, newest first, but for the first passed of them.
// full reports that not all fit; the page's Next is set then.
func (p *pager) earlyBackwards(ctx context.Context, passed uint64) (full bool, err error) {
	var early []sized
	for m, err := range p.reads.earlyMessages(ctx, p.key, p.head, p.head.Seq) {
		if err != nil {
			return false, err
		}
		if p.shows(&m.Message) {
			early = append(early, m)
		}
	}
	slices.Reverse(early)
	for n, m := range early[min(passed, uint64(len(early))):] {
		if !p.fits(m.size) {
			p.page.Next = p.head.Seq + 1 + (passed+uint64(n))*earlyUnit
			return true, nil
		}
		p.add(m.Message, m.size)
	}
	return false, nil
}
