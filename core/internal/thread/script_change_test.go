package thread_test

import (
	"encoding/binary"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// words is a line of a script: a name, words and key=value pairs.
type words struct {
	t     *testing.T
	line  string
	name  string
	plain []string
	pairs map[string]string
}

func parse(t *testing.T, line string) words {
	t.Helper()
	fields := strings.Fields(line)
	w := words{t: t, line: line, name: fields[0], pairs: map[string]string{}}
	for _, f := range fields[1:] {
		if key, value, ok := strings.Cut(f, "="); ok {
			w.pairs[key] = value
		} else {
			w.plain = append(w.plain, f)
		}
	}
	return w
}

// change reads the line as a change of the head. What a worker says of its fence
// and of where its step began is true unless the line says otherwise.
func (w words) change(h thread.Head, now int64) thread.Change {
	w.t.Helper()
	switch w.name {
	case "create":
		return thread.Create{Owner: w.value("owner")}
	case "fork":
		return thread.Fork{
			Owner: w.value("owner"), Seq: w.seq(), Sum: w.sum(), Supersedes: uint64(w.number(w.value("supersedes"))),
			Summary: uint64(w.number(w.value("summary"))), Schema: uint16(w.number(w.value("schema"))),
		}
	case "enqueue":
		return w.enqueue(w.word(0), now)
	case "enqueue-and-claim":
		return thread.EnqueueAndClaim{Enqueue: w.enqueue(w.word(0), now), Worker: w.value("worker"), Lease: w.lease()}
	case "claim":
		return thread.TakeClaim{Worker: w.word(0), Lease: w.lease(), Alone: w.has("alone"), WakeAt: w.at("hint", now)}
	case "reclaim":
		return thread.Reclaim{}
	case "touch":
		return thread.Touch{}
	case "input":
		kinds := map[string]thread.InboxKind{"": thread.InboxPerson, "internal": thread.InboxInternal}
		return thread.Input{ID: id(w.word(0)), Kind: kinds[w.value("kind")], Owner: w.value("owner"), Dedupe: hash(w.value("dedupe")), Child: id(w.value("child"))}
	case "drop-child":
		return thread.DropChild{Run: id(w.word(0)), Child: id(w.word(1))}
	case "edit":
		return thread.Edit{ID: id(w.word(0)), Revision: uint32(w.number(w.value("revision")))}
	case "retract":
		return thread.Retract{ID: id(w.word(0))}
	case "decide":
		return thread.Decide{
			Run: id(w.word(0)), Call: uint8(w.number(w.word(1))), Ticket: hash(w.value("ticket")),
			Decision: hash(w.value("id")), Resume: w.has("resume"), Child: id(w.value("child")),
		}
	case "cancel":
		return thread.Cancel{Run: id(w.word(0))}
	case "interrupt":
		c := thread.Interrupt{Owner: w.value("owner"), Dedupe: hash(w.value("dedupe")), Epoch: h.Epoch}
		if saw := w.value("epoch"); saw != "" {
			c.Epoch = uint64(w.number(saw))
		}
		if d := w.value("enqueue"); d != "" {
			e := w.enqueue(d, now)
			c.Enqueue, c.Dedupe = &e, 0
		}
		return c
	case "send":
		return thread.Send{ID: id(w.word(0)), Run: id(w.value("run")), Owner: w.value("owner")}
	case "delivered":
		of := id(w.word(0))
		if w.word(0) == "" { // the cancel, whose id no line can spell
			of = cancelOf(h)
		}
		return thread.Delivered{
			ID: of, Kind: named(w, w.value("kind"), thread.OutboxChildEnded, thread.OutboxDeadLettered), Next: w.at("next", now),
			Failed: w.has("failed"), Was: w.at("was", now), Missed: uint16(w.number(w.value("missed"))),
		}
	case "delete":
		return thread.Delete{Owner: w.value("owner"), Erased: w.has("erased")}
	}
	return w.holders(h, now)
}

// holders reads the line as a change that only a claim's holder makes.
func (w words) holders(h thread.Head, now int64) thread.Change {
	w.t.Helper()
	fence, from := uint64(w.number(w.value("fence"))), h.Seq
	summary, schema := uint64(w.number(w.value("summary"))), uint16(w.number(w.value("schema")))
	if w.value("from") != "" {
		from = uint64(w.number(w.value("from")))
	}
	cut := uint64(w.number(w.value("cut")))
	switch w.name {
	case "commit-turn":
		return thread.CommitTurn{
			Fence: fence, From: from, Seq: w.seq(), Sum: w.sum(), Calls: int(w.number(w.value("calls"))), TurnFence: fence, Batch: w.has("batch"),
			Consumed: w.consumed(), Summary: summary, Cut: cut, Schema: schema, Lacks: w.has("lacks"),
		}
	case "suspend":
		return thread.Suspend{Fence: fence, Calls: w.calls(), Tickets: w.tickets(now), Schema: schema, Through: w.through()}
	case "commit-step":
		return thread.CommitStep{
			Fence: fence, From: from, Outcome: w.outcome(), Natural: !w.has("stopped"), Listens: w.has("listens"), Seq: w.seq(), Sum: w.sum(),
			Calls: w.calls(), Tickets: w.tickets(now), Round: w.has("round"), Consumed: w.consumed(),
			Summary: summary, Cut: cut, Schema: schema, Lease: w.lease(), Keep: w.has("keep"), Lacks: w.has("lacks"), Through: w.through(),
			Crowded: w.has("crowded"),
		}
	case "commit-close":
		return thread.CommitClose{Fence: fence, From: from, Seq: w.seq(), Sum: w.sum(), Summary: summary, Cut: cut, Schema: schema}
	case "nack":
		kind := thread.NackFailed
		if w.has("given") {
			kind = thread.NackGiven
		} else if w.has("model") {
			kind = thread.NackModel
		} else if w.has("lacks") {
			kind = thread.NackLacks
		}
		return thread.Nack{Fence: fence, Kind: kind, AvailableAt: w.at("at", now), Closing: w.has("closing"), Calls: w.calls(), Progress: w.has("progress"), Schema: schema, ModelFailed: uint8(w.number(w.value("failed"))), RunEnd: w.has("run-end"), Through: w.through(), Failing: w.failing(now)}
	case "add-child":
		return thread.AddChild{Fence: fence, Child: id(w.word(0))}
	case "refence":
		return thread.Refence{Fence: fence, Lease: w.lease()}
	case "extend-lease":
		return thread.ExtendLease{Fence: fence, Lease: w.lease(), Closing: w.has("closing")}
	}
	w.t.Fatalf("unknown change: %s", w.line)
	return nil
}

// failing is since when a holder's model fails: a time, or none.
func (w words) failing(now int64) *int64 {
	switch said := w.value("failing"); said {
	case "":
		return nil
	case "none":
		return new(int64)
	}
	since := w.at("failing", now)
	return &since
}

// through is a holder's word of which calls it has let through: their indexes, or none.
func (w words) through() *uint32 {
	said := w.value("through")
	if said == "" {
		return nil
	}
	calls := uint32(0)
	for call := range strings.SplitSeq(strings.TrimPrefix(said, "none"), ",") {
		if call != "" {
			calls |= 1 << w.number(call)
		}
	}
	return &calls
}

func (w words) enqueue(dispatch string, now int64) thread.Enqueue {
	e := thread.Enqueue{
		Dispatch: id(dispatch), Run: id(w.value("run")), AvailableAt: w.at("at", now), Dedupe: hash(w.value("dedupe")),
		Owner: w.value("owner"), RejectBusy: w.has("reject-busy"), Child: w.has("child"), Priority: thread.DefaultPriority,
	}
	if p := w.value("priority"); p != "" {
		e.Priority = uint8(w.number(p))
	}
	return e
}

func (w words) seq() uint64  { return uint64(w.number(w.value("seq"))) }
func (w words) sum() uint32  { return uint32(w.number(w.value("sum"))) }
func (w words) lease() int64 { return w.duration(w.value("lease")) }

func (w words) outcome() thread.Outcome {
	for _, o := range []thread.Outcome{thread.Yield, thread.Wait, thread.Close, thread.Done} {
		if w.has(o.String()) {
			return o
		}
	}
	return 0
}

func (w words) calls() (calls []thread.CallStatus) {
	for _, name := range w.list("calls") {
		name, times, repeated := strings.Cut(name, "*")
		n := 1
		if repeated {
			n = int(w.number(times))
		}
		for range n {
			calls = append(calls, named(w, name, thread.CallNew, thread.CallDone))
		}
	}
	return calls
}

// tickets reads call:id[:kind[:deadline[:time to wake at[:keep]]]]; the deadline may be empty.
func (w words) tickets(now int64) (tickets []thread.Ticket) {
	for _, text := range w.list("tickets") {
		parts := strings.Split(text, ":")
		t := thread.Ticket{Call: uint8(w.number(parts[0])), ID: hash(parts[1])}
		if len(parts) > 2 {
			t.Kind = named(w, parts[2], thread.TicketPerson, thread.TicketTimer)
		}
		if len(parts) > 3 && parts[3] != "" {
			t.Deadline = now + w.duration(parts[3])
		}
		if len(parts) > 4 {
			t.WakeAt = now + w.duration(parts[4])
		}
		t.Keep = len(parts) > 5 && parts[5] == "keep"
		tickets = append(tickets, t)
	}
	return tickets
}

// consumed reads id[.revision][@sequence].
func (w words) consumed() (refs []thread.InboxRef) {
	for _, text := range w.list("consumed") {
		text, seq, _ := strings.Cut(text, "@")
		name, revision, _ := strings.Cut(text, ".")
		refs = append(refs, thread.InboxRef{ID: id(name), Revision: uint32(w.number(revision)), Seq: uint64(w.number(seq))})
	}
	return refs
}

func named[T interface {
	~uint8
	String() string
}](w words, name string, first, last T) T {
	for v := first; v <= last; v++ {
		if v.String() == name {
			return v
		}
	}
	w.t.Fatalf("unknown name %q: %s", name, w.line)
	return first
}

func (w words) word(i int) string {
	if i < len(w.plain) {
		return w.plain[i]
	}
	return ""
}

func (w words) has(word string) bool {
	for _, p := range w.plain {
		if p == word {
			return true
		}
	}
	return false
}

func (w words) value(key string) string { return w.pairs[key] }

func (w words) list(key string) []string {
	if w.pairs[key] == "" {
		return nil
	}
	return strings.Split(w.pairs[key], ",")
}

func (w words) number(text string) int64 {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		w.t.Fatalf("%v: %s", err, w.line)
	}
	return n
}

func (w words) duration(text string) int64 {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		w.t.Fatalf("%v: %s", err, w.line)
	}
	return d.Milliseconds()
}

func (w words) at(key string, now int64) int64 {
	if w.pairs[key] == "" {
		return 0
	}
	return now + w.duration(w.pairs[key])
}

// id makes an id of a name that describe can read back.
func id(name string) (v core.ID) {
	copy(v[:], name)
	return v
}

// hash does the same for what a head keeps as eight bytes.
func hash(name string) uint64 {
	var b [8]byte
	copy(b[:], name)
	return binary.BigEndian.Uint64(b[:])
}
