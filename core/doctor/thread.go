package doctor

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// subject is a thread that is examined.
type subject struct {
	key  core.ThreadKey
	due  int64 // its time in the index, unix milliseconds; 0: it is not in it
	head thread.Head
	bad  error // the head cannot be decoded

	last   thread.Listing // of its last run; zero: it has none
	pin    string         // hash of the agent of its open run; empty: none is known
	pinned bool           // it is stored
	log    error          // the log cannot be decoded
}

// readPage reads threads at the same time, then notes what was found in them.
func (e *examination) readPage(ctx context.Context, page []subject) {
	errs := make([]error, len(page))
	_ = e.o.Env.Each(len(page), func(i int) error { // each error is in errs
		errs[i] = e.readThread(ctx, &page[i])
		return nil
	})
	for i := range page {
		if errs[i] != nil {
			e.failed = append(e.failed, errs[i])
			continue
		}
		e.read++
		e.note(&page[i])
	}
}

// readThread reads a thread. Data that cannot be decoded is no error.
func (e *examination) readThread(ctx context.Context, s *subject) (err error) {
	if s.head, err = e.o.Store.Head(ctx, s.key); err != nil {
		if unreadable(err) {
			s.bad, err = err, nil
		}
		return err
	}
	if s.head.Deleted || !s.head.Exists() {
		return nil
	}
	record, ok, err := e.o.Store.Get(ctx, s.key, recordname.Activity)
	if err != nil && !unreadable(err) {
		return err
	}
	if ok {
		if listed, err := e.records.DecodeListing(record.Payload); err == nil { // else it only serves lists
			s.last = listed
		}
	}
	if err := e.readPin(ctx, s); err != nil {
		return err
	}
	if e.o.All {
		return e.readLog(ctx, s)
	}
	return nil
}

// readPin looks whether the agent of the open run is stored.
func (e *examination) readPin(ctx context.Context, s *subject) error {
	if !s.head.Open() {
		return nil
	}
	record, ok, err := e.o.Store.Get(ctx, s.key, recordname.Run(s.head.Run.ID))
	if err != nil && unreadable(err) {
		s.log = err
		return nil
	}
	if err != nil || !ok {
		return err
	}
	run, err := e.records.DecodeRun(record.Payload)
	if err != nil {
		s.log = fmt.Errorf("run %s: %w", s.head.Run.ID, err)
		return nil
	}
	if run.Resolution == "" {
		return nil
	}
	_, stored, err := e.o.Store.Snapshot(ctx, run.Resolution)
	if err != nil && !unreadable(err) {
		return err
	}
	s.pin, s.pinned = run.Resolution, stored && err == nil
	return nil
}

// readLog reads the log up to the sequence in the head.
func (e *examination) readLog(ctx context.Context, s *subject) error {
	for _, err := range threadlog.Entries(ctx, e.o.Store, e.records, s.key, 1, s.head.Seq) {
		if err != nil && !unreadable(err) {
			return err
		}
		if err != nil {
			s.log = err
		}
	}
	return nil
}

// unreadable reports that stored data is damaged, or of a newer program: another attempt
// reads the same.
func unreadable(err error) bool {
	code := core.CodeOf(err)
	return code == core.CodeCorrupt || code == core.CodeSchema
}

// note adds what was found in a thread.
func (e *examination) note(s *subject) {
	if s.bad != nil {
		if core.CodeOf(s.bad) == core.CodeSchema {
			e.newer.add(s.key.String())
			return
		}
		if d, ok := errors.AsType[*store.DamagedError](s.bad); !ok || d.Quarantined == 0 { // else it has its own line
			e.damaged.add(s.key.String())
		}
		return
	}
	h := &s.head
	if !h.Exists() {
		return
	}
	e.newest = max(e.newest, writtenAt(h))
	e.noteDue(s)
	if h.Deleted {
		return
	}
	e.schemas[h.Schema]++
	if h.Schema > e.o.Schemas.Reads {
		e.newer.add(s.key.String())
	}
	if s.log != nil {
		e.logs.add(fmt.Sprintf("%s (%v)", s.key, s.log))
	}
	if s.pin != "" && !s.pinned {
		e.unpinned.add(fmt.Sprintf("%s (%s)", s.key, core.Excerpt(s.pin)))
	}
	e.noteRuns(s)
	e.noteLimits(s)
}

// eraseTime is how long a deleted thread stays due: see package mailbox.
const eraseTime = time.Hour

// noteDue notes a thread that is late. A thread of a newer program is not: this one cannot
// claim it.
func (e *examination) noteDue(s *subject) {
	late := e.now - s.due
	if s.due == 0 || late <= e.o.Late.Milliseconds() || s.head.Schema > e.o.Schemas.Reads ||
		s.head.Deleted && late <= eraseTime.Milliseconds() {
		return
	}
	e.latest = max(e.latest, late)
	e.overdue.add(fmt.Sprintf("%s (%s)", s.key, (time.Duration(late) * time.Millisecond).Round(time.Second)))
}

// noteRuns notes the last run that has ended, and the open one.
func (e *examination) noteRuns(s *subject) {
	h := &s.head
	if h.Busy(e.now) && h.Run.Status != thread.Waiting {
		e.busy[s.key.Tenant]++
	}
	if last := s.last.Last; last != nil && last.Status == core.RunDone && s.last.At >= e.since {
		e.ended++
		if t := last.Termination; thread.ReasonDeadLetter.Is(t) {
			e.dead.add(fmt.Sprintf("%s (run %s)", s.key, last.ID))
		} else if t != nil && t.Type == core.TerminationError {
			e.codes[t.Code]++
			e.ends.add(fmt.Sprintf("%s (run %s, %s)", s.key, last.ID, t.Code))
		}
	}
	if !h.Open() {
		return
	}
	switch {
	case h.Run.Status == thread.Closing && h.Run.Reason == thread.ReasonDeadLetter:
		e.dead.add(fmt.Sprintf("%s (run %s)", s.key, h.Run.ID))
	case h.Suspect():
		e.suspects.add(fmt.Sprintf("%s (%d attempts)", s.key, h.Run.Attempts))
	}
	if since := h.FailingSince(); since != 0 {
		e.retrying.add(fmt.Sprintf("%s (%d failed calls in %s)", s.key, h.Run.ModelFailed, (time.Duration(e.now-since) * time.Millisecond).Round(time.Second)))
	} else if h.Run.ModelFailed > 0 {
		e.retrying.add(fmt.Sprintf("%s (%d failed calls)", s.key, h.Run.ModelFailed))
	}
}

// noteLimits notes the tables of a head that have one free place or none.
func (e *examination) noteLimits(s *subject) {
	h := &s.head
	for _, l := range []struct {
		what      string
		used, max int
		free      int // so many free places are enough
	}{
		{"queued", len(h.Pending), thread.MaxPending, 2},
		{"delayed", len(h.Delayed), thread.MaxDelayed, 2},
		{"tickets", len(h.Tickets), thread.MaxTickets, 2},
		{"unread inputs", len(h.Inbox), thread.MaxInbox, 2},
		{"children", len(h.Run.Children), thread.MaxChildren, 2},
		{"bytes of its head", h.Size(), thread.MaxSize, thread.MaxSize / 8},
	} {
		if l.max-l.used < l.free {
			e.near.add(fmt.Sprintf("%s (%d of %d %s)", s.key, l.used, l.max, l.what))
		}
	}
}

// writtenAt is when a head was written, in unix milliseconds, by its commit id.
func writtenAt(h *thread.Head) int64 {
	var ms [8]byte
	copy(ms[2:], h.CommitID[:6])
	return int64(binary.BigEndian.Uint64(ms[:]))
}
