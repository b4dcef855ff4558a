package host

import (
	"context"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
)

// A cursor is the last sequence that was shown plus, if that is the end of the log,
// earlyUnit times the number of early messages that were shown after it. Sequences stay
// below earlyUnit, and JSON's numbers have room for 8,191 units.
const earlyUnit = 1 << 40

// cursorOf splits a cursor.
func cursorOf(after uint64) (seq, passed uint64) { return after % earlyUnit, after / earlyUnit }

// pager fills one page of a thread as one head has it: what arrives during the read is
// for a later page. Log records under a head never change, so that nothing needs to be
// locked or read twice.
type pager struct {
	reads      *reader
	key        core.ThreadKey
	head       thread.Head
	query      MessageQuery
	superseded []thread.Range // newest first
	first      uint64         // sequence of the first record of the query's run
	over       bool           // the log was read past the query's run
	size       int            // bytes of the page's messages
	page       MessagePage
}

// fits reports whether the page has room for a message of a size in bytes. The first one
// always fits: an empty page would have no cursor that leads past the message.
func (p *pager) fits(size int) bool {
	return len(p.page.Messages) == 0 || p.size+size <= p.query.Bytes
}

// messageOf returns the message of an entry that has one, as readers receive it.
func messageOf(e *thread.Entry) core.Message {
	m := *e.Message
	m.Decided = e.Decision != ""
	return m
}

// add appends a message to the page.
func (p *pager) add(m core.Message, size int) {
	p.page.Messages, p.size = append(p.page.Messages, m), p.size+size
}

// oldest fills the page with the messages after a sequence; passed is how many of the
// early messages earlier pages have shown. Such a cursor is only as exact as the head that
// it was made from. While the log stays as it is, a result may be stored before the cursor,
// so that one message is shown twice, and input may be withdrawn. Once the log has grown,
// passed is ignored and the early messages are shown from the first.
func (p *pager) oldest(ctx context.Context, seq, passed uint64) error {
	if seq < p.head.Seq {
		passed = 0 // the log has grown, and the early messages have changed
	}
	// Each turn of the loop reads one range between two superseded ones, or what the page
	// has room for: a record has one message at most.
	for full := false; seq < p.head.Seq; {
		from, end := nextShown(p.superseded, seq+1, p.head.Seq)
		room := p.query.Limit - len(p.page.Messages)
		var err error
		if seq, full, err = p.addRange(ctx, from, min(end, from-1+uint64(room))); err != nil {
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
	// The page has reached the end of the log and continues with the early messages, without
	// regard to its Limit: their cursor would count all of them again.
	return p.early(ctx, seq, passed)
}

// addRange adds the messages of a range of the log. It returns the last sequence up to
// which the page has all of them; full reports that the next message does not fit.
func (p *pager) addRange(ctx context.Context, from, to uint64) (seq uint64, full bool, err error) {
	seq = from - 1
	for entry, err := range threadlog.Entries(ctx, p.reads.store, p.reads.records, p.key, from, to) {
		if err != nil {
			return seq, false, err
		}
		if p.past(entry) {
			return seq, false, nil
		}
		if entry.Message != nil && p.shows(entry.Message) {
			size := entry.JSONSize()
			if !p.fits(size) {
				return seq, true, nil // seq is the record before this one
			}
			p.add(messageOf(&entry.Entry), size)
		}
		seq = entry.Seq
	}
	return seq, false, nil
}

// early adds the early messages after a sequence, but for the first passed of them. They
// have no sequence that a cursor could name, so a cursor counts them: see earlyUnit.
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

// ofRun moves the start of the page to the first record of the query's run. A run's
// records are contiguous in the log.
func (p *pager) ofRun(ctx context.Context, id core.Identity, from *uint64) error {
	key, _, record, err := p.reads.runRecord(ctx, id, p.query.Run)
	if err == nil && key != p.key {
		err = core.Errorf(core.CodeNotFound, "run %s of thread %s not found", p.query.Run, p.key.Thread)
	}
	if err != nil {
		return err
	}
	if p.first = record.FirstSeq; p.first == 0 { // no step has committed
		p.first = p.head.Seq + 1
	}
	*from = max(*from, p.first-1)
	return nil
}

// shows reports whether a message is of the query's run.
func (p *pager) shows(m *core.Message) bool {
	return p.query.Run.IsZero() || m.RunID == p.query.Run
}

// past reports whether a record, or an earlier one, is past the query's run.
func (p *pager) past(e threadlog.Entry) bool {
	p.over = p.over || !p.query.Run.IsZero() && e.Run != p.query.Run
	return p.over
}

// nextShown returns the first sequence that readers are shown, from a sequence on, and the
// last one before the next superseded range. Ranges are newest first and do not overlap.
// The record after each is the one that superseded it, which is shown.
func nextShown(superseded []thread.Range, from, last uint64) (first, end uint64) {
	for _, r := range slices.Backward(superseded) {
		switch {
		case from > r.To: // the reader is past it
		case from < r.From:
			return from, r.From - 1
		default:
			from = r.Record()
		}
	}
	return from, last
}
