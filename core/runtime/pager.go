package runtime

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// A cursor is the last sequence that was shown and, when that is the end of the
// log, how many of the early messages behind it were. Sequences stay under
// earlyUnit, and JSON's numbers have room for 8,191 units.
const earlyUnit = 1 << 40

func cursorOf(after uint64) (seq, passed uint64) { return after % earlyUnit, after / earlyUnit }

// pager fills one page, of the thread as one head shows it: what comes meanwhile is
// the next page's. Log records under a head never change, so that nothing needs to
// be locked or read twice.
type pager struct {
	reads      *reader
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

// messageOf returns the message of an entry that has one, as readers receive it.
func messageOf(e *thread.Entry) core.Message {
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
		from, end := nextShown(p.superseded, seq+1, p.head.Seq)
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
	for entry, err := range store.Entries(ctx, p.reads.store, p.reads.records, p.key, from, to) {
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
			p.add(messageOf(&entry.Entry), entry.Size)
		}
		seq = entry.Seq
	}
	return seq, false, nil
}

// early adds what is visible early behind a sequence, but for those that were shown.
// These have no sequence that a cursor could name, so it counts them: see earlyUnit.
func (p *pager) early(ctx context.Context, seq, passed uint64) error {
	n := uint64(0)
	for m, err := range p.reads.earlyMessages(ctx, p.key, p.head, seq) {
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

// ofRun finds where the messages of the run begin that is asked for. Its records lie
// together in the log.
func (p *pager) ofRun(ctx context.Context, id core.Identity, from *uint64) error {
	key, _, record, err := p.reads.runRecord(ctx, id, p.query.Run)
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

// shown is where the log goes on that readers see, at a sequence or behind it, and
// the last sequence before the next superseded range. Ranges are newest first, and
// do not overlap; behind each lies the record that superseded it, which is shown.
func nextShown(superseded []thread.Range, from, last uint64) (first, end uint64) {
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
