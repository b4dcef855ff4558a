package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/threadlog"
)

// A page of messages comes from three sources: the log between the ranges that later runs
// have superseded (pager.go forwards, backwards.go backwards), the results of an open round,
// and input that no step has read (early.go).

// Limits of a message page. Lambda refuses responses of 6 MiB, in which each quote of the
// messages' JSON is escaped and takes two bytes.
const (
	defaultPage  = 50
	maxPage      = 200
	maxPageBytes = 3_000_000
)

// Messages reads a page of a thread's committed messages, as the thread is at that moment.
// It skips messages that a later run has superseded without reading them. To know them
// costs one more record for a page before the newest of those runs, two if more than
// 65 ranges of the log are superseded, and so on; nothing if none is.
//
// The log is read record by record, up to the one that does not fit: a page costs
// its own size in memory, however long the thread is.
//
// The last page also has what is visible early, over its Limit but within its Bytes: the
// results of an open round, and accepted input that no step has read, marked as pending.
// No cursor passes an open turn: a client that repeats the last page's cursor receives what
// has come since.
func (r *Host) Messages(ctx context.Context, id core.Identity, threadID string, q MessageQuery) (MessagePage, error) {
	return r.reads.messages(ctx, id, threadID, q)
}

// messages is [Host.Messages].
func (r *reader) messages(ctx context.Context, id core.Identity, threadID string, q MessageQuery) (MessagePage, error) {
	q, err := q.complete()
	if err != nil {
		return MessagePage{}, err
	}
	key, head, err := r.visible(ctx, id, threadID)
	if err != nil {
		return MessagePage{}, err
	}
	p := pager{reads: r, key: key, head: head, query: q, page: MessagePage{Messages: []core.Message{}, Total: int(head.Seq)}}
	// from is the sequence after which the page starts, passed the number of early messages
	// that earlier pages have shown.
	from, passed := cursorOf(q.After)
	if !q.Run.IsZero() {
		if err := p.ofRun(ctx, id, &from); err != nil {
			return MessagePage{}, err
		}
	}
	if q.Descending {
		from = 0
	}
	if p.superseded, err = threadlog.Superseded(ctx, r.store, r.records, key, head.Supersedes, from); err != nil {
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

// complete returns the query with its defaults, or core.CodeInvalid. The newest messages
// have no default count: their reader shows the end of a conversation, as much as fits.
func (q MessageQuery) complete() (MessageQuery, error) {
	most := maxPage
	if q.Limit == 0 && q.Newest {
		q.Limit, most = maxPageBytes, maxPageBytes // as many as fit: a message has at least a byte
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
