package thread_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func describeError(err error) string {
	text := uuid.ReplaceAllStringFunc(err.Error(), func(s string) string {
		b, _ := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
		return trim(b)
	})
	return fmt.Sprintf("refused, %s: %s\n", core.CodeOf(err), text)
}

func describeResult(r thread.Result, now int64) string {
	var b strings.Builder
	b.WriteString("ok")
	for _, flag := range []struct {
		set  bool
		name string
	}{{r.Unchanged, "unchanged"}, {r.Duplicate, "duplicate"}, {r.Claimed, "claimed"}, {r.Outcome != 0, r.Outcome.String()}} {
		if flag.set {
			b.WriteString(", " + flag.name)
		}
	}
	b.WriteString("\n")
	for _, a := range r.Before {
		if a.Status == core.DispatchAcked {
			fmt.Fprintf(&b, "before: %s is read by %s at %d\n", trim(a.ID[:]), trim(a.Run[:]), a.Read)
			continue
		}
		fmt.Fprintf(&b, "before: %s of %s is %s\n", trim(a.ID[:]), trim(a.Run[:]), a.Status)
	}
	if !r.Opened.IsZero() {
		fmt.Fprintf(&b, "before: pointer of run %s\n", trim(r.Opened[:]))
	}
	if r.Hint != nil {
		fmt.Fprintf(&b, "after: hint %s %s\n", trim(r.Hint.Dispatch[:]), moment(r.Hint.At, now))
	}
	return b.String()
}

func moment(at, now int64) string {
	if at == 0 {
		return "at once"
	}
	return "in " + (time.Duration(at-now) * time.Millisecond).String()
}

// describeHead says all that a head holds but its ids of commits, the time of Closing and
// the stretch, a line for each part that is there. Times count from the script's start.
func describeHead(h thread.Head) string {
	var b strings.Builder
	fmt.Fprintf(&b, "head v%d", h.Version)
	for _, n := range []struct {
		name  string
		value uint64
	}{{"epoch", h.Epoch}, {"fence", h.Fence}, {"seq", h.Seq}, {"summary", h.Summary}, {"supersedes", h.Supersedes}, {"closing", h.Closing}} {
		if n.value != 0 {
			fmt.Fprintf(&b, " %s=%d", n.name, n.value)
		}
	}
	write := func(set bool, format string, args ...any) {
		if set {
			fmt.Fprintf(&b, format, args...)
		}
	}
	write(h.Schema > 1, " schema=%d", h.Schema)
	write(h.Owner != "", " owner=%s", h.Owner)
	write(h.Deleted, " deleted")
	write(h.Erased, " erased")
	write(h.TailSum != 0, " sum=%d", h.TailSum)
	write(h.Missed != 0, " missed=%d", h.Missed)
	write(h.DueAt != 0, " due=%s", clock(h.DueAt))
	b.WriteString("\n")
	if h.Open() {
		describeRun(&b, h)
	}
	if c := h.Claim; c.Fence != 0 {
		fmt.Fprintf(&b, "  claim %d by %s until %s", c.Fence, c.Worker, clock(c.Lease))
		write(c.Epoch != 0, ", epoch %d", c.Epoch)
		b.WriteString("\n")
	}
	for i, d := range h.Unopened() {
		where := "queued"
		if i >= len(h.Pending) {
			where = "delayed"
		}
		fmt.Fprintf(&b, "  %s %s of %s", where, trim(d.ID[:]), trim(d.Run[:]))
		write(d.Revision != 0, " revision=%d", d.Revision)
		write(d.Priority != thread.DefaultPriority, " priority=%d", d.Priority)
		write(d.AvailableAt != 0, " at=%s", clock(d.AvailableAt))
		write(d.Child, " child")
		write(d.Steered, " steered")
		for _, e := range d.Rest {
			fmt.Fprintf(&b, ", then %s.%d", trim(e.ID[:]), e.Revision)
		}
		b.WriteString("\n")
	}
	describeTables(&b, h)
	return b.String()
}

func describeRun(b *strings.Builder, h thread.Head) {
	r := h.Run
	fmt.Fprintf(b, "  run %s of %s %s", trim(r.ID[:]), trim(r.Dispatch[:]), r.Status)
	write := func(set bool, format string, args ...any) {
		if set {
			fmt.Fprintf(b, format, args...)
		}
	}
	write(r.Reason != 0, " (%s)", r.Reason)
	fmt.Fprintf(b, ", %s step=%d", r.Cursor, r.Step)
	write(r.Revision != 0, " revision=%d", r.Revision)
	write(r.Base != 0, " base=%d", r.Base)
	write(r.TurnFence != 0, " turn-fence=%d", r.TurnFence)
	write(len(r.Calls) > 0, " calls=%v", r.Calls)
	write(r.Batch, " batch")
	write(r.Round != 0, " round=%d", r.Round)
	write(r.Child, " child")
	write(h.Ready(), " ready=%s", clock(r.AvailableAt))
	for _, n := range []struct {
		name  string
		value uint8
	}{{"attempts", r.Attempts}, {"lost", r.Lost}, {"model-failed", r.ModelFailed}, {"model-lost", r.ModelLost}} {
		write(n.value != 0, " %s=%d", n.name, n.value)
	}
	b.WriteString("\n")
}

func describeTables(b *strings.Builder, h thread.Head) {
	for _, t := range h.Tickets {
		fmt.Fprintf(b, "  ticket %s of call %d, %s", name(t.ID), t.Call, t.Kind)
		switch t.Decision {
		case 0:
		case thread.WakeKey(h.Run.ID, t.ID):
			b.WriteString(", woken")
		default:
			fmt.Fprintf(b, ", decided by %s", name(t.Decision))
		}
		if t.Deadline != 0 {
			fmt.Fprintf(b, ", until %s", clock(t.Deadline))
		}
		if t.WakeAt != 0 {
			fmt.Fprintf(b, ", wakes at %s", clock(t.WakeAt))
		}
		if t.Keep {
			b.WriteString(", kept")
		}
		b.WriteString("\n")
	}
	for _, e := range h.Inbox {
		fmt.Fprintf(b, "  inbox %s.%d, %s\n", trim(e.ID[:]), e.Revision, e.Kind)
	}
	for _, e := range h.Outbox {
		name := trim(e.ID[:])
		if v := binary.BigEndian.Uint64(e.ID[8:]); e.Kind == thread.OutboxCancel && v > 0 && v < 1_000 { // see oweCancel
			name = fmt.Sprintf("%s for v%d", trim(e.ID[:8]), v)
		}
		fmt.Fprintf(b, "  owes %s of %s from %s", e.Kind, name, clock(e.Next))
		if e.Tries > 0 {
			fmt.Fprintf(b, ", failed %d times", e.Tries)
		}
		b.WriteString("\n")
	}
	for _, child := range h.Run.Children {
		fmt.Fprintf(b, "  child %s\n", trim(child[:]))
	}
	if since := h.Run.WaitsSince; since != 0 {
		fmt.Fprintf(b, "  waits for a person since %s\n", clock(since))
	}
	if calls := h.Run.Through; calls.May != 0 {
		fmt.Fprintf(b, "  calls that may have run:")
		for i := range h.Run.Calls {
			switch {
			case calls.Ran&(1<<i) != 0:
				fmt.Fprintf(b, " %d", i)
			case calls.May&(1<<i) != 0:
				fmt.Fprintf(b, " %d?", i)
			}
		}
		fmt.Fprintln(b)
	}
	if since := h.Run.LacksSince; since != 0 {
		fmt.Fprintf(b, "  left to another build since %s\n", clock(since))
	}
	if at := h.Run.RunEnd; at != 0 {
		fmt.Fprintf(b, "  RunEnd has run, by v%d\n", at)
	}
	describeTimes(b, h.Times())
	for _, e := range h.Extensions {
		switch e.Tag {
		case 1: // the times
			continue
		case 2:
			fmt.Fprintf(b, "  model fails since %s\n", clock(h.FailingSince()))
			continue
		}
		fmt.Fprintf(b, "  extension %d of %s: %s\n", e.Tag, trim(e.Run[:]), e.Value)
	}
	if len(h.Recent) > 0 {
		b.WriteString("  recent")
		for _, k := range h.Recent {
			b.WriteString(" " + name(k))
		}
		b.WriteString("\n")
	}
}

func clock(at int64) string {
	if at == 0 {
		return "at-once"
	}
	return (time.Duration(at-start) * time.Millisecond).String()
}

// name is what a script calls a hash; those of the clock's decisions have none.
func name(hash uint64) string {
	text := trim(binary.BigEndian.AppendUint64(nil, hash))
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return "clock"
	}
	return text
}

func trim(b []byte) string { return strings.TrimRight(string(b), "\x00") }

// describeTimes writes how the run has spent its time. Ids of scripts have no time, so that
// it is not known when a lost claim was taken.
func describeTimes(b *strings.Builder, t thread.Times) {
	if t.Since != 0 {
		fmt.Fprintf(b, "  idle since %s\n", clock(t.Since))
	}
	if t.Waited != 0 {
		fmt.Fprintf(b, "  waited %s\n", time.Duration(t.Waited)*time.Millisecond)
	}
	for _, l := range t.Losses {
		fmt.Fprintf(b, "  lost in step %d at %s", l.Step, clock(l.Lost))
		if l.Began != 0 {
			fmt.Fprintf(b, ", taken over at %s", clock(l.Began))
		}
		fmt.Fprintln(b)
	}
}

// cancelOf is the cancel that a head owes.
func cancelOf(h thread.Head) (id core.ID) {
	for _, e := range h.Outbox {
		if e.Kind == thread.OutboxCancel {
			id = e.ID
		}
	}
	return id
}
