package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// history is what the clients of one history share.
type history struct {
	backend store.Backend
	tenant  string
	clock   atomic.Int64 // counts calls and returns as they come
	writes  atomic.Int64 // number of the newest write; each has another one, by which reads tell them apart
}

// client does one operation after the other, and notes its requests and results.
type client struct {
	history  *history
	number   int
	random   *rand.Rand
	recorded []porcupine.Operation
	known    [historyThreads]uint16 // version of each head that it has seen last
	again    func(ctx context.Context) error
}

// run does a client's operations. Its error is one that the contract knows for none
// of them.
func (c *client) run(ctx context.Context) error {
	for i := range historyOperations {
		if err := c.operate(ctx, i); err != nil {
			return fmt.Errorf("client %d, operation %d: %w", c.number, i, err)
		}
	}
	return nil
}

func (c *client) operate(ctx context.Context, i int) error {
	if again := c.again; again != nil && c.random.IntN(2) == 0 { // as a client does that got no answer
		c.again = nil
		return again(ctx)
	}
	at := c.random.IntN(historyThreads)
	switch n := c.random.IntN(100); {
	case n < 20:
		return c.readHead(ctx, at)
	case n < 52:
		return c.commit(ctx, at, c.newCommit(at, i))
	case n < 68:
		return c.put(ctx, c.newRecord(at, i, uint16(i)))
	case n < 84:
		return c.get(ctx, at, c.random.IntN(len(slots)))
	case n < 90:
		return c.readPointer(ctx, at, c.random.IntN(len(pointers)))
	}
	return c.readLog(ctx, at, c.random.IntN(2) == 0)
}

func (c *client) key(at int) core.ThreadKey {
	return core.ThreadKey{Tenant: c.history.tenant, Thread: "t" + strconv.Itoa(at)}
}

// pointerName names a thread's pointer, since the tenant's threads share one space.
func pointerName(at, slot int) string { return pointers[slot] + strconv.Itoa(at) }

// timed runs code that touches the backend, and notes the operations that it reports, all
// of them between its call and its return. Others may come in between.
func (c *client) timed(do func() ([]*operation, error)) error {
	call := c.history.clock.Add(1)
	c.pause()
	operations, err := do()
	c.pause()
	back := c.history.clock.Add(1)
	for i, o := range operations {
		noted := porcupine.Operation{ClientId: c.number, Input: o, Call: call<<4 + int64(i), Return: back<<4 + int64(i)}
		if o.answer == unknown {
			noted.Return = math.MaxInt64
		}
		c.recorded = append(c.recorded, noted)
	}
	return err
}

// pause lets others run: a backend in memory is done before they begin.
func (c *client) pause() {
	for range c.random.IntN(3) {
		runtime.Gosched()
	}
}

func (c *client) readHead(ctx context.Context, at int) error {
	return c.timed(func() ([]*operation, error) {
		head, err := c.history.backend.Head(c.mayLose(ctx), c.key(at))
		if err != nil {
			return nil, unanswered(err)
		}
		c.known[at] = uint16(head.Version)
		return []*operation{{what: aHead, thread: at, head: headOf(head)}}, nil
	})
}

func (c *client) get(ctx context.Context, at, slot int) error {
	return c.timed(func() ([]*operation, error) {
		record, ok, err := c.history.backend.Get(c.mayLose(ctx), c.key(at), slots[slot].name)
		if err != nil {
			return nil, unanswered(err)
		}
		o := &operation{what: aRecord, thread: at, slot: slot}
		if ok {
			o.record = recordOf(record)
		}
		return []*operation{o}, nil
	})
}

func (c *client) readPointer(ctx context.Context, at, slot int) error {
	return c.timed(func() ([]*operation, error) {
		value, ok, err := c.history.backend.Pointer(c.mayLose(ctx), c.history.tenant, pointerName(at, slot))
		if err != nil {
			return nil, unanswered(err)
		}
		o := &operation{what: aPointer, thread: at, slot: slot}
		if ok {
			o.value = numberIn(value)
		}
		return []*operation{o}, nil
	})
}

// readLog reads both log records, each of which is a separate read.
func (c *client) readLog(ctx context.Context, at int, backwards bool) error {
	return c.timed(func() ([]*operation, error) {
		found := []*operation{{what: aRecord, thread: at}, {what: aRecord, thread: at, slot: 1}}
		var log iter.Seq2[store.Record, error]
		if log = c.history.backend.Log(ctx, c.key(at), 1, 2); backwards {
			log = c.history.backend.LogBackwards(ctx, c.key(at), 1, 2)
		}
		for record, err := range log {
			if err != nil {
				return nil, unanswered(err)
			}
			seq, ok := record.LogSeq()
			if !ok || seq < 1 || seq > 2 {
				return nil, fmt.Errorf("the log from 1 to 2 has %s", record.Name)
			}
			found[seq-1].record = recordOf(record)
		}
		return found, nil
	})
}

// newRecord is a write of any record, under a fence that rises during the history, so that
// some are allowed and some are not.
func (c *client) newRecord(at, i int, version uint16) *operation {
	o := &operation{write: true, what: aRecord, thread: at, slot: c.random.IntN(len(slots)), record: recordAt{number: uint16(c.history.writes.Add(1))}}
	if kind := slots[o.slot].kind; kind != store.KindCreate {
		o.record.fence = uint16(1 + i/12 + c.random.IntN(3))
		if kind == store.KindRewrite {
			o.record.version = version
		}
	}
	return o
}

func (c *client) put(ctx context.Context, o *operation) error {
	return c.timed(func() ([]*operation, error) {
		err := c.history.backend.Put(c.mayLose(ctx), c.key(o.thread), o.stored())
		var refused *store.RefusedError
		switch {
		case err == nil:
			o.answer = yes
		case errors.As(err, &refused):
			o.answer = causeOf(refused)
		default:
			o.answer, err = unknown, unanswered(err)
			same := *o
			c.again = func(ctx context.Context) error { return c.put(ctx, &same) }
			return []*operation{o}, err
		}
		return []*operation{o}, nil
	})
}

// newCommit makes what a worker commits that believes to know the head, and is wrong
// now and then.
func (c *client) newCommit(at, i int) []*operation {
	version := c.known[at] + 1
	if c.random.IntN(8) == 0 {
		version += uint16(c.random.IntN(2))
	}
	var all []*operation
	if c.random.IntN(4) == 0 {
		for slot := range 1 + c.random.IntN(len(pointers)) {
			all = append(all, &operation{write: true, what: aPointer, thread: at, slot: slot, value: uint16(1 + c.random.IntN(2))})
		}
	}
	for range c.random.IntN(3) {
		r := c.newRecord(at, i, version)
		twice := false
		for _, o := range all {
			twice = twice || o.what == aRecord && o.slot == r.slot
		}
		if !twice {
			all = append(all, r)
		}
	}
	return append(all, &operation{
		write: true, what: aHead, thread: at, covers: all, head: headAt{version: version, number: uint16(c.history.writes.Add(1))},
	})
}

// commit makes one Commit of writes, whose last is the head's.
func (c *client) commit(ctx context.Context, at int, writes []*operation) error {
	var made store.Commit
	for _, o := range writes {
		switch o.what {
		case aHead:
			made.Head = thread.Head{Layout: thread.Layout, Schema: 1, Version: uint64(o.head.version), CommitID: idOf(o.head.number), Seq: uint64(o.head.version)}
		case aRecord:
			made.Records = append(made.Records, o.stored())
		case aPointer:
			made.Pointers = append(made.Pointers, store.Pointer{Name: pointerName(at, o.slot), Value: strconv.AppendUint(nil, uint64(o.value), 10), TTL: time.Hour})
		}
	}
	return c.timed(func() ([]*operation, error) {
		out, err := c.history.backend.Commit(c.mayLose(ctx), c.key(at), made)
		var refused *store.RefusedError
		if err != nil && !errors.As(err, &refused) {
			err = unanswered(err)
			c.again = func(ctx context.Context) error { return c.commit(ctx, at, copied(writes)) }
			return answered(writes, unknown), err
		}
		return c.learned(at, writes, out, refused)
	})
}

// learned notes what the answer to a Commit says of each of its writes.
func (c *client) learned(at int, writes []*operation, out store.Outcome, refused *store.RefusedError) ([]*operation, error) {
	head := writes[len(writes)-1]
	switch {
	case out.Written:
		c.known[at] = head.head.version
		return answered(writes, yes), nil
	case refused != nil:
		answered(writes, perhaps)
		for _, o := range head.covers {
			if o.what == aPointer { // they come before the records
				o.answer = admitted
			} else if slots[o.slot].name == refused.Name {
				o.answer = causeOf(refused)
			}
		}
		return head.covers, nil
	case out.Taken != nil:
		var found []*operation
		for _, o := range head.covers {
			if o.what != aPointer {
				continue
			}
			o.answer = admitted
			for _, p := range out.Taken {
				if p.Name == pointerName(at, o.slot) {
					o.answer, o.found.number = taken, numberIn(p.Value)
				}
			}
			found = append(found, o)
		}
		return found, nil
	}
	c.known[at] = uint16(out.Head.Version)
	answered(writes, admitted)
	head.answer, head.found = taken, headOf(out.Head)
	return writes, nil
}

func answered(writes []*operation, a answer) []*operation {
	for _, o := range writes {
		o.answer = a
	}
	return writes
}

// copied are the same writes, to be made again.
func copied(writes []*operation) []*operation {
	again := make([]*operation, len(writes))
	for i, o := range writes {
		same := *o
		again[i] = &same
	}
	again[len(again)-1].covers = again[:len(again)-1]
	return again
}

// stored is the record that an operation writes. Its payload says the number.
func (o *operation) stored() store.Record {
	return store.Record{
		Name: slots[o.slot].name, Fence: uint64(o.record.fence), Version: uint64(o.record.version),
		Payload: strconv.AppendUint(nil, uint64(o.record.number), 10),
	}
}

func recordOf(r store.Record) recordAt {
	return recordAt{fence: uint16(r.Fence), version: uint16(r.Version), number: numberIn(r.Payload)}
}

func headOf(h thread.Head) headAt {
	return headAt{version: uint16(h.Version), number: uint16(h.CommitID[1])<<8 | uint16(h.CommitID[2])}
}

func idOf(number uint16) core.ID { return core.ID{0xc0, byte(number >> 8), byte(number)} }

// numberIn reads a number; any other payload is one that no client wrote.
func numberIn(payload []byte) uint16 {
	n, err := strconv.ParseUint(string(payload), 10, 16)
	if err != nil {
		return math.MaxUint16
	}
	return uint16(n)
}

func causeOf(refused *store.RefusedError) answer {
	if errors.Is(refused.Cause, store.ErrFenced) {
		return fenced
	}
	return equal
}

// unanswered is nil for an error of a missing response, and the error itself for any other.
func unanswered(err error) error {
	if core.CodeOf(err) == core.CodeUnavailable || errors.Is(err, store.ErrThrottled) {
		return nil
	}
	return err
}

// errLost is what a client gets instead of an answer.
var errLost = core.Errorf(core.CodeUnavailable, "the answer is lost")

type loss uint8

const (
	lostRequest  loss = iota + 1 // the backend is not asked
	lostResponse                 // it is called, and its result is lost
)

type lossKey struct{}

// mayLose lets one call in fifty go without an answer.
func (c *client) mayLose(ctx context.Context) context.Context {
	if n := c.random.IntN(100); n < 2 {
		return context.WithValue(ctx, lossKey{}, lostRequest+loss(n))
	}
	return ctx
}

// loseResponses is the Around of a Faulty that does what mayLose says.
func loseResponses(ctx context.Context, _ Operation, do func(context.Context) error) error {
	lost, _ := ctx.Value(lossKey{}).(loss)
	switch lost {
	case lostRequest:
		return errLost
	case lostResponse:
		_ = do(ctx)
		return errLost
	}
	return do(ctx)
}
