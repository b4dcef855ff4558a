package mailbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// Forking names the thread to fork, the place, and the name of the fork.
type Forking struct {
	Thread core.ThreadKey
	// User is on whose behalf; must match the owner of Thread.
	User string
	// At is the id of the last message that the fork has, of the newest if several have it.
	At string
	// To is the id of the fork, of the same tenant.
	To string
}

// Forked is the result of a fork: the new thread and its origin. The zero Forked means that no
// fork was made.
type Forked struct {
	ThreadID string
	// Messages is how many log records it has. A duplicate counts those that were added
	// since, too.
	Messages uint64
	// Duplicate reports that the same fork was made before.
	Duplicate bool
}

// Fork makes a thread that starts as another does, up to a message and with the state after
// it; after a turn with calls, with their results too. Messages keep their ids, and name the
// runs that produced them, which stay the other thread's. That thread does not change. The
// owner is the same.
//
// The log is copied record by record, superseded ones too, in pages; the head comes last.
// The records that a crash leaves are not visible, and the same call again continues over them.
// A thread that gets the name in another way overwrites the log's records, and does not use
// the summaries: see thread.Summary.
// State is folded from the log by the fork's first step.
//
// core.CodeNotFound: the thread does not have the message. core.CodeSuperseded: it was
// withdrawn. core.CodeConflict: calls of its turn have no results yet, or the thread To
// exists and is not the same fork, or an attempt to make another fork has left records under
// that name.
func (s *Service) Fork(ctx context.Context, f Forking) (Forked, error) {
	to := core.ThreadKey{Tenant: f.Thread.Tenant, Thread: f.To}
	if err := errors.Join(f.Thread.Check(), core.CheckName("thread id of the fork", f.To), core.CheckName("message to fork at", f.At)); err != nil {
		return Forked{}, err
	}
	made, err := madeFork(ctx, s, f, to)
	if err != nil || made.Duplicate {
		return made, err
	}
	c := forking{s: s, from: f.Thread, to: to}
	if c.head, err = s.Head(ctx, f.Thread); err != nil {
		return Forked{}, err
	}
	if err := checkAccess(c.head, f.User); err != nil {
		return Forked{}, fmt.Errorf("thread %s: %w", f.Thread.Thread, err)
	}
	if err := c.findEnd(ctx, f.At); err != nil {
		return Forked{}, fmt.Errorf("thread %s: message %q: %w", f.Thread.Thread, core.Excerpt(f.At), err)
	}
	err = c.copyLog(ctx)
	if err == nil {
		err = c.copyPrompts(ctx)
	}
	if err == nil {
		err = c.copySummaries(ctx)
	}
	if errors.Is(err, store.ErrConflict) { // the same call would meet it again
		return Forked{}, fmt.Errorf("thread %s: %w", f.To, errOtherRecords)
	}
	if err != nil {
		return Forked{}, s.outward(ctx, to, "fork", err)
	}
	fork := commit{w: &s.writer, key: to, pointers: []store.Pointer{forkPointer(f)},
		build: func(next thread.Head, _ thread.Result) ([]store.Record, error) {
			listing, err := threadListing(s.records, next, "", c.asked, nil)
			return []store.Record{listing}, err
		},
		change: thread.Fork{Owner: c.head.Owner, Seq: c.seq, Sum: c.sum, Supersedes: c.supersedes, Summary: c.summary, Schema: c.head.Schema}}
	// The head comes last. Until it is written, the copied records are orphans under a name
	// that no head has.
	if _, _, err := fork.run(ctx, thread.Head{}); err != nil {
		made, failed := madeFork(ctx, s, f, to)
		if made.Duplicate { // the same call came at the same time
			return made, nil
		}
		if failed != nil && errors.Is(err, thread.ErrExists) { // it is not known whether it is the same fork
			err = failed
		}
		if taken, ok := errors.AsType[*pointerError](err); ok {
			err = fmt.Errorf("%w: %w", thread.ErrExists, taken)
		}
		return Forked{}, s.outward(ctx, to, "fork", err)
	}
	return Forked{ThreadID: f.To, Messages: c.seq}, nil
}

// madeFork looks whether the fork was made before; the zero Forked: the thread does not
// exist. thread.ErrExists: it exists, and is not the same fork.
func madeFork(ctx context.Context, s *Service, f Forking, to core.ThreadKey) (Forked, error) {
	head, err := s.Head(ctx, to)
	if !head.Exists() {
		return Forked{}, err
	}
	if err := checkAccess(head, f.User); err != nil {
		return Forked{}, fmt.Errorf("thread %s: %w", f.To, err)
	}
	wanted := forkPointer(f)
	value, _, err := s.store.Pointer(ctx, to.Tenant, wanted.Name)
	if err == nil && !slices.Equal(value, wanted.Value) {
		err = fmt.Errorf("thread %s: %w", f.To, thread.ErrExists)
	}
	if err != nil {
		return Forked{}, err
	}
	return Forked{ThreadID: f.To, Messages: head.Seq, Duplicate: true}, nil
}

// forkPointer records the thread and the message that a fork was made of. Its value is compared
// as bytes, so that its form must not change while forks may be repeated.
func forkPointer(f Forking) store.Pointer {
	sum := sha256.Sum256([]byte(f.At))
	return encodePointer("fork:"+f.To, pointer{Thread: f.Thread.Thread, Body: hex.EncodeToString(sum[:16])}, 0)
}

// forking is a fork under way. It is one goroutine's.
type forking struct {
	s        *Service
	from, to core.ThreadKey
	// head is that of the thread that is forked, read at the start.
	head thread.Head
	// asked is how the first message begins; empty: it has no text.
	asked string
	// seq is the sequence of the last record that is copied.
	seq uint64
	// sum is the checksum of the copied log's tail.
	sum uint32
	// supersedes is the newest record up to seq that supersedes others; 0: no such record.
	supersedes uint64
	// summary is the newest summary that covers nothing after seq; 0: no such summary.
	summary uint64
	// prompts are the names of the records that the requests of the log's turns were made from.
	prompts map[string]bool
}

// errOpenRound refuses to fork a turn whose calls are not over: a model must never see
// a call without its result.
var errOpenRound = core.Errorf(core.CodeConflict, "tool calls of its turn have no results yet")

// errOtherRecords refuses a name that a fork of another thread was not made under: records of
// both would be one log.
var errOtherRecords = core.Errorf(core.CodeConflict, "an attempt to make another fork has left records under this name: choose another name")

// findEnd finds the last record that belongs to the message: with a turn its results, and the
// records after those with the state that its step and its run ended with.
// It sets seq and supersedes. The errors are Fork's, without the names of thread and
// message.
func (f *forking) findEnd(ctx context.Context, at string) error {
	named, ok, err := f.s.reads.lastOf(ctx, f.from, f.head.Seq, func(e *thread.Entry) bool { return e.Message != nil && e.Message.ID == at })
	if err != nil {
		return err
	}
	if !ok {
		return core.Errorf(core.CodeNotFound, "not found")
	}
	ranges, err := threadlog.Superseded(ctx, f.s.store, f.s.records, f.from, f.head.Supersedes, 0)
	if err != nil {
		return err
	}
	// The fork has the newest superseding record before the message, which leads to all
	// earlier ones.
	for _, r := range ranges { // newest first
		if r.From <= named.Seq && named.Seq <= r.To {
			return core.Errorf(core.CodeSuperseded, "it was withdrawn before")
		}
		if r.Record() < named.Seq {
			f.supersedes = r.Record()
			break
		}
	}
	// Input ends with itself: what follows is the answer, and the fork gets another one.
	if f.seq = named.Seq; named.Message.Role == core.RoleUser {
		return nil
	}
	turn, ok, err := f.s.reads.lastOf(ctx, f.from, named.Seq, func(e *thread.Entry) bool { return e.Message != nil && e.Message.Role == core.RoleAssistant })
	if !ok {
		return err
	}
	f.seq = turn.Seq + uint64(len(turn.Message.ToolCalls))
	if f.seq > f.head.Seq {
		return errOpenRound
	}
	// Records without a message carry the state of the step, and at the end that of the run.
	for e, err := range threadlog.Entries(ctx, f.s.store, f.s.records, f.from, f.seq+1, f.head.Seq) {
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

// forkPage is how many log records are copied at the same time.
const forkPage = 32

// copyLog stores the log's records for the fork. An earlier attempt stored the same records.
// Records keep their bytes. They get the fence of a fork, below that of every claim, so
// that no worker of the fork is refused by them. Pages are stored one after the other, and
// the records of a page at the same time.
func (f *forking) copyLog(ctx context.Context) error {
	var page []store.Record
	flush := func() error {
		group, _ := f.s.env.Group(ctx)
		for _, r := range page {
			group.Go(func(ctx context.Context) error {
				return f.s.store.Put(ctx, f.to, store.Record{Name: r.Name, Fence: thread.ForkFence, Payload: r.Payload})
			})
		}
		page = page[:0]
		return group.Wait()
	}
	next := uint64(1)
	for record, err := range f.s.store.Log(ctx, f.from, 1, f.seq) {
		if err != nil {
			return fmt.Errorf("read log of %s: %w", f.from, err)
		}
		if seq, _ := record.LogSeq(); seq != next {
			break
		}
		if err := f.note(next, record); err != nil {
			return err
		}
		next++
		if page = append(page, record); len(page) == forkPage {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	if next != f.seq+1 {
		return fmt.Errorf("log of %s ends before %d: %w", f.from, next, store.ErrCorrupt)
	}
	return flush()
}

// note notes what the fork needs of a record that is copied: the checksum of the log, how the
// first message begins, by which the fork is listed until a run of its own has ended, and the
// records that the request of a turn was made from.
func (f *forking) note(seq uint64, record store.Record) error {
	e, err := f.s.records.DecodeEntry(record.Payload)
	if err != nil {
		return fmt.Errorf("log of %s: %s: %w", f.from, record.Name, err)
	}
	f.sum = thread.NextSum(f.sum, seq, &e, record.Payload)
	if seq == 1 && e.Message != nil {
		f.asked = thread.Asked([]core.Message{*e.Message}, e.Message.RunID)
	}
	if e.Prompt == "" {
		return nil
	}
	if f.prompts == nil {
		f.prompts = map[string]bool{}
	}
	f.prompts[recordname.Prompt(e.Prompt)] = true
	if e.Sent != nil && e.Sent.Stored != "" {
		f.prompts[recordname.Prompt(e.Sent.Stored)] = true
	}
	if e.Window != nil && e.Window.Summary != 0 { // it may be in force no more, since the turn was withdrawn
		f.prompts[recordname.Summary(e.Window.Summary)] = true
	}
	return nil
}

// copyPrompts stores for the fork what its turns name of their requests, before the head of the
// fork makes them visible: a reader of the fork finds each request of a copied turn, also when
// the thread that it comes from is deleted. A turn of the fork that names the same does not store
// it again.
func (f *forking) copyPrompts(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(f.prompts)) {
		record, ok, err := f.s.store.Get(ctx, f.from, name)
		if err == nil && !ok {
			err = store.ErrCorrupt
		}
		if err == nil {
			err = f.s.store.Put(ctx, f.to, store.Record{Name: record.Name, Payload: record.Payload})
		}
		if err != nil {
			return fmt.Errorf("copy %s of %s: %w", name, f.from, err)
		}
	}
	return nil
}

// copySummaries stores for the fork the summaries that cover only its messages: the newest of
// them, which is in force there, and its predecessors.
//
// Summaries are linked from the newest to the oldest. Newer ones than the fork's end are
// passed over, since they speak of messages that the fork does not have.
func (f *forking) copySummaries(ctx context.Context) error {
	for upTo := f.head.Summary; upTo > 0; {
		record, ok, err := f.s.store.Get(ctx, f.from, recordname.Summary(upTo))
		if err != nil {
			return fmt.Errorf("read summary: %w", err)
		}
		if !ok {
			return fmt.Errorf("summary %s of %s is missing: %w", recordname.Summary(upTo), f.from, store.ErrCorrupt)
		}
		summary, err := f.s.records.DecodeSummary(upTo, record.Payload)
		if err != nil {
			return err
		}
		if upTo <= f.seq {
			f.summary = max(f.summary, upTo)
			if err := f.s.store.Put(ctx, f.to, store.Record{Name: record.Name, Payload: record.Payload}); err != nil {
				return fmt.Errorf("put summary: %w", err)
			}
		}
		upTo = summary.Predecessor
	}
	return nil
}
