package thread_test

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/thread"
)

var uuid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

func describeError(err error) string {
	text := uuid.ReplaceAllStringFunc(err.Error(), func(s string) string {
		b, _ := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
		return trim(b)
	})
	return fmt.Sprintf("refused, %s: %s\n", core.CodeOf(err), text)
}

func describeEffects(e thread.Effects, now int64) string {
	var b strings.Builder
	b.WriteString("ok")
	for _, flag := range []struct {
		set  bool
		name string
	}{{e.Unchanged, "unchanged"}, {e.Duplicate, "duplicate"}, {e.Claimed, "claimed"}, {e.Outcome != 0, e.Outcome.String()}} {
		if flag.set {
			b.WriteString(", " + flag.name)
		}
	}
	b.WriteString("\n")
	for _, a := range e.Before {
		fmt.Fprintf(&b, "before: %s of %s is %s\n", trim(a.Dispatch[:]), trim(a.Run[:]), a.Status)
	}
	if e.Hint != nil {
		fmt.Fprintf(&b, "after: hint %s %s\n", trim(e.Hint.Dispatch[:]), moment(e.Hint.At, now))
	}
	return b.String()
}

func moment(at, now int64) string {
	if at == 0 {
		return "at once"
	}
	return "in " + (time.Duration(at-now) * time.Millisecond).String()
}

// describeHead says all that a head holds, a line for each part that is there.
// Times count from the script's start.
func describeHead(h thread.Head) string {
	var b strings.Builder
	fmt.Fprintf(&b, "head v%d", h.Version)
	for _, n := range []struct {
		name  string
		value uint64
	}{{"epoch", h.Epoch}, {"fence", h.Fence}, {"seq", h.Seq}, {"summary", h.Summary}} {
		if n.value != 0 {
			fmt.Fprintf(&b, " %s=%d", n.name, n.value)
		}
	}
	write := func(set bool, format string, args ...any) {
		if set {
			fmt.Fprintf(&b, format, args...)
		}
	}
	write(h.Owner != "", " owner=%s", h.Owner)
	write(h.Deleted, " deleted")
	write(h.Erased, " erased")
	write(h.DueAt != 0, " due=%s", clock(h.DueAt))
	b.WriteString("\n")
	if r := h.Run; h.Open() {
		fmt.Fprintf(&b, "  run %s of %s %s", trim(r.ID[:]), trim(r.Dispatch[:]), r.Status)
		write(r.Reason != 0, " (%s)", r.Reason)
		fmt.Fprintf(&b, ", %s step=%d", r.Cursor, r.Step)
		write(r.Base != 0, " base=%d", r.Base)
		write(len(r.Calls) > 0, " calls=%v", r.Calls)
		write(r.Parent != nil, " parent=%s", parentText(r.Parent))
		write(r.Ready, " ready=%s attempts=%d", clock(r.AvailableAt), r.Attempts)
		b.WriteString("\n")
	}
	if c := h.Claim; c.Fence != 0 {
		fmt.Fprintf(&b, "  claim %d of %s by %s until %s, attempt %d", c.Fence, trim(c.Dispatch[:]), c.Worker, clock(c.Lease), c.Attempts)
		write(c.Epoch != 0, ", epoch %d", c.Epoch)
		write(c.Closing, ", to close")
		b.WriteString("\n")
	}
	for _, d := range h.Pending {
		fmt.Fprintf(&b, "  queued %s of %s", trim(d.ID[:]), trim(d.Run[:]))
		write(d.Priority != core.DefaultPriority, " priority=%d", d.Priority)
		write(d.AvailableAt != 0, " at=%s", clock(d.AvailableAt))
		write(d.Parent != nil, " parent=%s", parentText(d.Parent))
		b.WriteString("\n")
	}
	describeTables(&b, h)
	return b.String()
}

func describeTables(b *strings.Builder, h thread.Head) {
	for _, t := range h.Tickets {
		fmt.Fprintf(b, "  ticket %s of call %d, %s", name(t.ID), t.Call, t.Kind)
		if t.Decision != 0 {
			fmt.Fprintf(b, ", decided by %s", name(t.Decision))
		}
		if t.Deadline != 0 {
			fmt.Fprintf(b, ", until %s", clock(t.Deadline))
		}
		b.WriteString("\n")
	}
	for _, e := range h.Inbox {
		fmt.Fprintf(b, "  inbox %s.%d, %s\n", trim(e.ID[:]), e.Revision, e.Kind)
	}
	notifies := h.Later
	if h.Notify != nil {
		notifies = append([]thread.Notify{*h.Notify}, notifies...)
	}
	for _, n := range notifies {
		fmt.Fprintf(b, "  notify %s of %s\n", parentText(&n.Parent), trim(n.Child[:]))
	}
	if len(h.Recent) > 0 {
		b.WriteString("  recent")
		for _, k := range h.Recent {
			b.WriteString(" " + name(k))
		}
		b.WriteString("\n")
	}
}

func parentText(p *thread.Parent) string {
	if p == nil {
		return ""
	}
	return fmt.Sprintf("%s/%s/%d", p.Thread, trim(p.Run[:]), p.Call)
}

func clock(at int64) string {
	if at == 0 {
		return "at-once"
	}
	return (time.Duration(at-start) * time.Millisecond).String()
}

func name(hash uint64) string {
	return trim(binary.BigEndian.AppendUint64(nil, hash))
}

func trim(b []byte) string { return strings.TrimRight(string(b), "\x00") }
