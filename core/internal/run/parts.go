package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// A tool may keep parts of its work (tool.Once), so that a tool that runs again
// repeats no part that has acted. They are the one thing that a tool's own
// goroutine stores.

// partRecord is the payload of C#<run>#<turn>#<call>#once#<part>.
type partRecord struct {
	Value json.RawMessage `json:"value"`
}

// parts is the access of one run of a call's tool to the step: it keeps the tool's
// parts and takes its reports, until the tool returns or is abandoned. A record is
// created once and never changed, so that it does not matter which of two workers
// that run the same call stores it: both continue with the same value.
type parts struct {
	step *holder
	kin  *kin   // of the round
	turn uint64 // sequence of the turn
	call uint8
	over atomic.Bool

	show    showing // of what the tool shows
	attempt attempt // it lies here, since it lives as long

	failure atomic.Pointer[error] // the store's newest that says nothing about the tool; which may keep parts side by side
}

// kin is what the children of a round's calls have of their parent. It is set before the first
// tool of the round starts, and does not change.
type kin struct {
	record           *thread.RunRecord // of the run; nil: it is not set
	tokens, deadline int64             // see base.share
}

// end refuses everything from now on. Only the first call of it returns true: the
// tool's own, or that of the code that abandons the tool.
func (s *parts) end() (first bool) { return s.over.CompareAndSwap(false, true) }

// failed is the newest failure of the store, nil if none occurred.
func (s *parts) failed() error {
	if failure := s.failure.Load(); failure != nil {
		return *failure
	}
	return nil
}

// Part implements tool.Call.Parts. over is checked before and after the read: a
// read of a tool that was abandoned in that time must not look like a finished
// part.
func (s *parts) Part(ctx context.Context, name string) (json.RawMessage, bool, error) {
	if s.over.Load() {
		return nil, false, errOver
	}
	value, ok, err := s.read(ctx, name)
	if s.over.Load() {
		return nil, false, errOver
	}
	return value, ok, s.noted(ctx, err)
}

// Keep is for tool.Call.Parts. The part has acted, so its result is worth more
// than the time that is left: it is stored although ctx may be over. Beside the
// commit of its turn the call waits for that.
func (s *parts) Keep(ctx context.Context, name string, value json.RawMessage) (json.RawMessage, error) {
	if !s.committed(ctx) || s.over.Load() {
		return nil, errOver
	}
	free, cancel := s.step.detached(ctx)
	defer cancel()
	value, err := s.create(free, name, value)
	if s.over.Load() {
		return nil, errOver
	}
	return value, s.noted(free, err)
}

// StartChild implements tool.Call.Children. A call that was abandoned starts
// nothing: no call would wait for the child. Beside the commit of its turn the call
// waits for that.
func (s *parts) StartChild(ctx context.Context, call tool.Call, child tool.Child) (core.ID, error) {
	if !s.committed(ctx) || s.over.Load() {
		return core.ID{}, errOver
	}
	run, err := s.step.s.children.StartChild(ctx, call, child, s.list)
	if s.over.Load() {
		return core.ID{}, errOver
	}
	switch core.CodeOf(err) {
	// The store's, or of a record of a newer program, which may read it: the call is tried again.
	case core.CodeThrottled, core.CodeUnavailable, core.CodeInternal, core.CodeSchema:
		err = s.noted(ctx, err)
	default:
		if stops(err) {
			err = s.noted(ctx, err) // the step ends for it
		}
	}
	return run, err
}

// list lists a child run in the head. The step may take the next fence at the same time, so that
// a refusal for the fence counts only if the step still has that one.
func (s *parts) list(ctx context.Context, child core.ID) error {
	for {
		fence := s.step.fence()
		_, _, err := s.step.s.committer.Commit(ctx, s.step.Key, thread.Head{}, thread.AddChild{Fence: fence, Child: child}, nil)
		if !errors.Is(err, thread.ErrFenced) || fence == s.step.fence() {
			return err
		}
	}
}

// Lineage implements tool.Call.Children.
func (s *parts) Lineage() tool.Lineage {
	record := s.kin.record
	l := tool.Lineage{Root: record.ID, MaxTokens: s.kin.tokens, Deadline: s.kin.deadline}
	if above := record.Parent; above != nil {
		if !above.Root.IsZero() {
			l.Root = above.Root
		}
		l.Agents = above.Agents
	}
	l.Agents = append(slices.Clip(l.Agents), record.AgentID)
	return l
}

// committed reports whether the call's turn is committed. It waits until that is known,
// also when the tool's time is over: the commit has a time limit.
func (s *parts) committed(ctx context.Context) bool {
	turn, settled := s.step.shared.news.turnNow()
	if turn == turnPending {
		_ = s.step.env.Wait(context.WithoutCancel(ctx), settled)
		turn, _ = s.step.shared.news.turnNow()
	}
	return turn == turnCommitted
}

// create stores a part, or returns the one that was stored before.
func (s *parts) create(ctx context.Context, name string, value json.RawMessage) (json.RawMessage, error) {
	payload, err := s.step.s.records.Encode("part", partRecord{value})
	if err != nil {
		return nil, err
	}
	err = s.persist(ctx, func() error {
		return s.step.s.store.Put(ctx, s.step.Key, store.Record{Name: s.name(name), Payload: payload})
	})
	switch {
	case err == nil:
		return s.decode(payload) // a part has the same bytes at every read
	case !errors.Is(err, store.ErrConflict):
		return nil, fmt.Errorf("keep part %q: %w", name, err)
	}
	stored, ok, err := s.read(ctx, name)
	if err == nil && !ok {
		err = fmt.Errorf("part %q exists and is not found: %w", name, store.ErrCorrupt)
	}
	return stored, err
}

// read returns a part, false when none is stored. Reads are strong: a part of a
// claim before this one is seen.
func (s *parts) read(ctx context.Context, name string) (json.RawMessage, bool, error) {
	var record store.Record
	var ok bool
	err := s.persist(ctx, func() (err error) {
		record, ok, err = s.step.s.store.Get(ctx, s.step.Key, s.name(name))
		return err
	})
	if err != nil || !ok {
		if err != nil {
			err = fmt.Errorf("read part %q: %w", name, err)
		}
		return nil, false, err
	}
	value, err := s.decode(record.Payload)
	return value, err == nil, err
}

// persist accesses the store as stubbornly as a result is put, unless the tool is
// abandoned between two attempts: nothing of it is stored then.
func (s *parts) persist(ctx context.Context, access func() error) error {
	return s.step.persist(ctx, func() error {
		if s.over.Load() {
			return errOver
		}
		return access()
	})
}

func (s *parts) decode(payload []byte) (json.RawMessage, error) {
	var part partRecord
	err := s.step.s.records.Decode("part", payload, &part)
	return part.Value, err
}

// name has the turn's sequence and not the step: call indexes repeat.
func (s *parts) name(part string) string {
	return recordname.Part(s.step.id, s.turn, s.call, part)
}

// noted remembers an error that says nothing about the tool: the store's, but for
// what it will never take.
func (s *parts) noted(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, store.ErrTooLarge) {
		return err
	}
	s.failure.Store(&err)
	return err
}
