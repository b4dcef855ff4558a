package mailbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// An idempotency key is a pointer from the hash of thread and key to the ids that the
// submission got, with a hash of its content. It is stored with the write that accepts
// the submission, never before: a refused request has not used up its key. An attempt that
// died may have left it in a store without transactions; the next attempt then continues
// under its ids, so that both write the same bytes.

// keyLife is how long an idempotency key is remembered. inputLife is how long queued input
// outlives its enqueue: longer than a run can wait for the one before it, which may itself
// wait for a person. The key of a child run lives as long, since the call that started it
// may run again after such a wait.
const (
	keyLife   = 48 * time.Hour
	inputLife = 400 * 24 * time.Hour
)

// keyName is the name of a key's pointer. It has a hash, since keys may hold any text. The
// thread is part of it: the same key on two threads is two keys.
func keyName(threadID, key string) string {
	sum := sha256.Sum256([]byte(threadID + "\x00" + key))
	return "key:" + hex.EncodeToString(sum[:16])
}

// keyAlone is the hash of every content under a key that counts alone.
const keyAlone = "alone"

// bodyHash identifies what a submission says, apart from its ids. It is stored with the
// key, so that its form must not change: the retry of a client after an upgrade would be
// refused as another submission.
func bodyHash(s Submission) (string, error) {
	if s.Key.Alone {
		return keyAlone, nil
	}
	o := s.Opening
	if s.Key.Loose {
		o.Request, o.Frontend = nil, nil
	}
	b, err := json.Marshal(struct {
		Agent    string
		Messages []core.Message
		Mode     Mode
		Tail     uint64          `json:",omitempty"`
		Request  json.RawMessage `json:",omitempty"` // without blanks between its tokens
		Priority *uint8          `json:",omitempty"`
		At       int64           `json:",omitempty"`
		Delay    time.Duration   `json:",omitempty"`
		Into     core.ID         `json:",omitzero"`
		Retake   string          `json:",omitempty"` // if the key does not have it
		Frontend *core.Frontend  `json:",omitempty"`
	}{o.AgentID, s.Messages, s.Mode, o.Supersede, o.Request, o.Priority, o.AvailableAt, o.Delay, s.Into, o.Retake.named(), o.Frontend})
	if err != nil {
		return "", core.Errorf(core.CodeInvalid, "encode submission: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}

// pointers lead to the submission's thread: from the run's id and, if there is one, from
// the key. The key's comes first: if both are used by others, it says whose ids count.
func (u *submission) pointers() []store.Pointer {
	p := pointer{Thread: u.in.Thread.Thread, Run: u.ids.run, Dispatch: u.ids.dispatch}
	byRun := runPointer(u.ids.run, p)
	if u.in.Key.Value == "" {
		return []store.Pointer{byRun}
	}
	p.Body = u.body
	life := keyLife
	if u.in.Opening.Parent != nil {
		life = inputLife
	}
	return []store.Pointer{encodePointer(keyName(u.in.Thread.Thread, u.in.Key.Value), p, life), byRun}
}

// adopt takes over the ids that the key was stored with. core.CodeConflict: the key was used
// with other content.
//
// The next attempt then writes the same bytes as the one that stored the key, or finds that
// this one was accepted.
func (u *submission) adopt(value []byte) error {
	p, err := decodePointer(value)
	if err != nil {
		return fmt.Errorf("idempotency key: %w", err)
	}
	if p.Body != u.body {
		return core.Errorf(core.CodeConflict, "thread %s: an earlier request with the same Idempotency-Key or message id has other content", u.in.Thread.Thread)
	}
	u.ids, u.known = ids{p.Run, p.Dispatch}, true
	return nil
}

// slotTag is the form that the key has in a slot of the tenant's limits; empty without one.
// It is the hash that also names the key's pointer, within the bounds of a slot.
func (u *submission) slotTag() string {
	if u.in.Key.Value == "" {
		return ""
	}
	return strings.TrimPrefix(keyName(u.in.Thread.Thread, u.in.Key.Value), "key:")
}

// Submitted finds what was submitted to a thread under a Key: the run that reads the input,
// or has read it. ok is false if nothing was, or the Key is forgotten. head is the
// thread's, read before.
func (s *Service) Submitted(ctx context.Context, key core.ThreadKey, head thread.Head, name string) (run core.ID, ok bool, err error) {
	value, ok, err := s.store.Pointer(ctx, key.Tenant, keyName(key.Thread, name))
	if err != nil || !ok {
		return run, false, err
	}
	p, err := decodePointer(value)
	if err != nil {
		return run, false, fmt.Errorf("idempotency key: %w", err)
	}
	run, _, ok, err = s.reads.accepted(ctx, key, head, p.Run, p.Dispatch)
	return run, ok, err
}

// byKey reads the ids that a key of the thread was stored with. ok is false if the key is
// unused, or is forgotten.
func (r reader) byKey(ctx context.Context, at core.ThreadKey, key string) (p pointer, ok bool, err error) {
	value, ok, err := r.store.Pointer(ctx, at.Tenant, keyName(at.Thread, key))
	if err != nil || !ok {
		return p, false, err
	}
	p, err = decodePointer(value)
	return p, err == nil, err
}

// freeKey is the key under which a run is taken up or repeated: the one of the run itself or,
// if the run that this key opened ended before it started, the key of that run. So a client
// that repeats its request meets the attempt that counts, and a request after an attempt
// without effect is a new one. kind begins the key.
// The loop follows the chain of attempts, each under the key of the run before it; it ends
// since every key is stored after the run whose id it has.
func (r reader) freeKey(ctx context.Context, at core.ThreadKey, head thread.Head, kind string, run core.ID) (string, error) {
	for {
		key := kind + run.String()
		p, ok, err := r.byKey(ctx, at, key)
		if !ok {
			return key, err
		}
		if started, err := r.started(ctx, at, head, p.Run, p.Dispatch); err != nil || started {
			return key, err
		}
		run = p.Run
	}
}

// started reports whether a run did not end before it was opened. Only an audit of a queued run
// proves that it did; a refused attempt may have left such an audit.
func (r reader) started(ctx context.Context, key core.ThreadKey, head thread.Head, run, dispatch core.ID) (bool, error) {
	if head.Run.ID == run {
		return true, nil
	}
	if _, ended, err := r.endedUnread(ctx, key, head, dispatch); !ended {
		return true, err
	}
	_, opened, err := r.runRecord(ctx, key, run)
	return opened, err
}
