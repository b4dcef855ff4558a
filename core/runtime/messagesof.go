package runtime

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Pages of one run's messages, and pages that begin with the newest.

// ofRun finds where the messages of the run begin that is asked for. Its records lie
// together in the log.
func (p *pager) ofRun(ctx context.Context, id core.Identity, from *uint64) error {
	key, _, record, err := p.runRecord(ctx, id, p.query.Run)
	if err == nil && key != p.key {
		err = core.Errorf(core.CodeNotFound, "run %s of thread %s not found", p.query.Run, p.key.Thread)
	}
	if err != nil {
		return err
	}
	if p.first = record.FirstSeq; p.first == 0 { // no step has said anything
		p.first = p.head.Seq + 1
	}
	*from = max(*from, p.first-1)
	return nil
}

// shows reports whether a message is of the run that is asked for.
func (p *pager) shows(m *core.Message) bool {
	return p.query.Run.IsZero() || m.RunID == p.query.Run
}

// past notes that a record lies behind the run that is asked for.
func (p *pager) past(e store.LogEntry) bool {
	p.over = p.over || !p.query.Run.IsZero() && e.Run != p.query.Run
	return p.over
}

// descending fills the page from the newest message on, or from before a sequence. What is
// visible early comes first, and counts as at the head's end: a cursor into it begins anew
// when the log has come on, so that nothing is passed over.
func (p *pager) descending(ctx context.Context, before uint64) error {
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
	last := seq - 1
	for _, hidden := range append(slices.Clone(p.superseded), thread.Range{}) {
		from := max(p.first, 1)
		if hidden.From > 0 {
			from = max(from, hidden.Record())
		}
		for e, err := range store.EntriesBackwards(ctx, p.store, p.records, p.key, from, last) {
			if err != nil {
				return err
			}
			if e.Message == nil || !p.shows(e.Message) {
				continue
			}
			if len(p.page.Messages) >= p.query.Limit || !p.fits(e.Size) {
				p.page.Next = e.Seq + 1
				return nil
			}
			p.add(read(&e.Entry), e.Size)
		}
		if hidden.From <= max(p.first, 1) {
			return nil
		}
		last = min(last, hidden.From-1)
	}
	return nil
}

// earlyBackwards adds what is visible early, the newest first, but for those that were
// shown. full says that not all of it fits, and the page has its Next.
func (p *pager) earlyBackwards(ctx context.Context, passed uint64) (full bool, err error) {
	var early []sized
	for m, err := range p.earlyMessages(ctx, p.key, p.head, p.head.Seq) {
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
