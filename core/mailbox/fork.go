package mailbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Forking says which thread is forked, where, and what the fork is called.
type Forking struct {
	Thread core.ThreadKey
	User   string
	At     string // id of the last message that the fork has
	To     string // id of the fork, of the same tenant
}

// Forked is a thread that was made of another.
type Forked struct {
	ThreadID  string
	Messages  uint64 // log records
	Duplicate bool   // the same fork was made before
}

// Fork makes a thread that begins as another does, up to a message and with the state
// behind it: of a turn with calls, behind their results. Messages keep their ids, and
// name the runs that said them, which stay the other thread's; that one does not
// change. The owner is the same.
//
// The log is copied record by record, superseded ones too, in pages; the head comes
// last. What a crash leaves behind nobody sees, and the same call again goes on over
// it. State is folded from the log by the fork's first step.
//
// core.CodeNotFound: the thread does not have the message. core.CodeSuperseded: it was
// taken back. core.CodeConflict: calls of its turn have no results yet, or the thread
// To exists and is not the same fork.
func (s *Service) Fork(ctx context.Context, f Forking) (Forked, error) {
	to := core.ThreadKey{Tenant: f.Thread.Tenant, Thread: f.To}
	if err := errors.Join(f.Thread.Check(), core.CheckName("thread id of the fork", f.To), core.CheckName("message to fork at", f.At)); err != nil {
		return Forked{}, err
	}
	made, err := s.madeFork(ctx, f, to)
	if err != nil || made.Duplicate {
		return made, err
	}
	c := forking{submission: &submission{Service: s, Submission: Submission{Thread: f.Thread}}, to: to}
	if c.head, err = s.Head(ctx, f.Thread); err != nil {
		return Forked{}, err
	}
	if err := checkAccess(c.head, f.User); err != nil {
		return Forked{}, fmt.Errorf("thread %s: %w", f.Thread.Thread, err)
	}
	if err := c.findEnd(ctx, f.At); err != nil {
		return Forked{}, fmt.Errorf("thread %s: message %q: %w", f.Thread.Thread, core.Excerpt(f.At), err)
	}
	err = c.copy(ctx)
	if err == nil {
		err = c.copySummaries(ctx)
	}
	if err != nil {
		return Forked{}, s.outward(ctx, to, "fork", err)
	}
	fork := commit{Service: s, key: to, pointers: []store.Pointer{forkPointer(f)},
		build: func(next thread.Head, _ thread.Result) ([]store.Record, error) {
			listing, err := s.threadListing(next, "", "", nil)
			return []store.Record{listing}, err
		},
		change: thread.Fork{Owner: c.head.Owner, Seq: c.seq, Supersedes: c.supersedes, Summary: c.summary, Schema: c.head.Schema}}
	if _, _, err := fork.run(ctx, thread.Head{}); err != nil {
		made, failed := s.madeFork(ctx, f, to)
		if failed == nil && made.Duplicate { // at the same time
			return made, nil
		}
		if failed != nil && errors.Is(err, thread.ErrExists) { // of which nobody can say whether it is the same
			err = failed
		}
		if taken, ok := errors.AsType[*takenError](err); ok {
			err = fmt.Errorf("%w: %w", thread.ErrExists, taken)
		}
		return Forked{}, s.outward(ctx, to, "fork", err)
	}
	return Forked{ThreadID: f.To, Messages: c.seq}, nil
}

// madeFork looks whether the fork was made before.
func (s *Service) madeFork(ctx context.Context, f Forking, to core.ThreadKey) (Forked, error) {
	head, err := s.Head(ctx, to)
	if err != nil || !head.Exists() {
		return Forked{}, err
	}
	if err := checkAccess(head, f.User); err != nil {
		return Forked{}, fmt.Errorf("thread %s: %w", f.To, err)
	}
	wanted := forkPointer(f)
	value, ok, err := s.store.Pointer(ctx, to.Tenant, wanted.Name)
	if err == nil && (!ok || !slices.Equal(value, wanted.Value)) {
		err = fmt.Errorf("thread %s: %w", f.To, thread.ErrExists)
	}
	if err != nil {
		return Forked{}, err
	}
	return Forked{ThreadID: f.To, Messages: head.Seq, Duplicate: true}, nil
}

// forkPointer says of a fork what it was made of.
func forkPointer(f Forking) store.Pointer {
	sum := sha256.Sum256([]byte(f.At))
	return encodePointer("fork:"+f.To, pointer{Thread: f.Thread.Thread, Body: hex.EncodeToString(sum[:16])}, 0)
}

// forking is a fork under way.
type forking struct {
	*submission
	to         core.ThreadKey
	head       thread.Head // of the thread that is forked
	seq        uint64      // of the last record that is copied
	supersedes uint64
	summary    uint64 // the newest that covers nothing behind seq; 0: there is none
}

// errOpenRound refuses to fork a turn whose calls are not over: a model must never see
// a call without its result.
var errOpenRound = core.Errorf(core.CodeConflict, "tool calls of its turn have no results yet")

// findEnd finds the last record that belongs to the message.
func (f *forking) findEnd(ctx context.Context, at string) error {
	named, ok, err := f.lastOf(ctx, f.head.Seq, func(e *thread.Entry) bool { return e.Message != nil && e.Message.ID == at })
	if err != nil {
		return err
	}
	if !ok {
		return core.Errorf(core.CodeNotFound, "not found")
	}
	ranges, err := store.Superseded(ctx, f.store, f.records, f.Thread, f.head.Supersedes, 0)
	if err != nil {
		return err
	}
	for _, r := range ranges { // newest first
		if r.From <= named.Seq && named.Seq <= r.To {
			return core.Errorf(core.CodeSuperseded, "it was taken back before")
		}
		if r.Record() < named.Seq {
			f.supersedes = r.Record()
			break
		}
	}
	if f.seq = named.Seq; named.Message.Role == core.RoleUser {
		return nil
	}
	turn, ok, err := f.lastOf(ctx, named.Seq, func(e *thread.Entry) bool { return e.Message != nil && e.Message.Role == core.RoleAssistant })
	if err != nil || !ok {
		return err
	}
	f.seq = turn.Seq + uint64(len(turn.Message.ToolCalls))
	if f.seq > f.head.Seq {
		return errOpenRound
	}
	// The records behind it have the state that its step came to, and that its run ended with.
	for e, err := range store.Entries(ctx, f.store, f.records, f.Thread, f.seq+1, f.head.Seq) {
		if err != nil {
			return err
		}
		if e.Run != turn.Run || e.Message != nil || e.Superseded != nil || e.Step != turn.Step && !e.Closing {
			break
		}
		f.seq = e.Seq
	}
	return nil
}

// forkPage is how many log records are copied side by side.
const forkPage = 32

// copy stores the records for the fork. What an earlier try has stored is the same.
func (f *forking) copy(ctx context.Context) error {
	var page []store.Record
	flush := func() error {
		group, _ := f.env.Group(ctx)
		for _, r := range page {
			group.Go(func(ctx context.Context) error {
				return f.store.Put(ctx, f.to, store.Record{Name: r.Name, Fence: thread.ForkFence, Payload: r.Payload})
			})
		}
		page = page[:0]
		return group.Wait()
	}
	next := uint64(1)
	for record, err := range f.store.Log(ctx, f.Thread, 1, f.seq) {
		if err != nil {
			return fmt.Errorf("read log of %s: %w", f.Thread, err)
		}
		if seq, ok := store.LogSeq(record.Name); !ok || seq != next {
			break
		}
		next++
		if page = append(page, record); len(page) == forkPage {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if next != f.seq+1 {
		return fmt.Errorf("log of %s ends before %d: %w", f.Thread, next, store.ErrCorrupt)
	}
	return flush()
}

// copySummaries stores the summaries for the fork that cover only what it has: the newest
// of them, which is in force there, and those that it was made behind.
func (f *forking) copySummaries(ctx context.Context) error {
	for upTo := f.head.Summary; upTo > 0; {
		record, ok, err := f.store.Get(ctx, f.Thread, store.SummaryName(upTo))
		if err != nil {
			return fmt.Errorf("read summary: %w", err)
		}
		if !ok {
			return fmt.Errorf("summary %s of %s is missing: %w", store.SummaryName(upTo), f.Thread, store.ErrCorrupt)
		}
		summary, err := f.records.DecodeSummary(upTo, record.Payload)
		if err != nil {
			return err
		}
		if upTo <= f.seq {
			f.summary = max(f.summary, upTo)
			if err := f.store.Put(ctx, f.to, store.Record{Name: record.Name, Payload: record.Payload}); err != nil {
				return fmt.Errorf("put summary: %w", err)
			}
		}
		upTo = summary.Predecessor
	}
	return nil
}
