package sim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// shown is a committed message that a model is shown.
type shown struct {
	seq  uint64
	role core.Role
	text string // what it says, or the id of a person's
}

func showing(seq uint64, m *core.Message) shown {
	s := shown{seq, m.Role, m.Text()}
	switch {
	case m.Role == core.RoleUser:
		s.text = m.ID
	case m.ToolResult != nil:
		s.text = m.ToolResult.CallID + " " + m.ToolResult.Text()
		for _, b := range m.ToolResult.Content {
			s.text += " " + b.MediaType + string(b.Data)
		}
	}
	for _, b := range m.Content {
		for _, a := range b.Annotations {
			s.text += fmt.Sprintf(" %s %d-%d", a.URL, a.Start, a.End)
		}
	}
	return s
}

// noteShown notes the visible log after a record: a superseded range is gone, and the
// state with it.
func (lo *logged) noteShown(e thread.Entry, seq uint64) {
	if r := e.Superseded; r != nil {
		lo.th.w.Stats.Clients.Superseded++
		if r.To != seq-1 || r.From == 0 || r.From > r.To {
			lo.th.fail("the record at %d supersedes %d to %d", seq, r.From, r.To)
			return
		}
		for len(lo.visible) > 0 && lo.visible[len(lo.visible)-1].seq >= r.From {
			lo.visible = lo.visible[:len(lo.visible)-1]
		}
		lo.checkRanges(append([]thread.Range{*r}, e.Earlier...), seq)
		var then state.Snapshot
		if r.From > 1 {
			then = lo.states[r.From-2]
		}
		if now := lo.folded.fold.Snapshot(); len(now.Diff(then.BeginRun())) > 0 {
			lo.th.fail("the range from %d is superseded, and the state differs from the state before it", r.From)
		}
	}
	lo.notePlace(e, seq)
	lo.checkSchooled(&e, seq)
	if e.Message != nil {
		lo.visible = append(lo.visible, showing(seq, e.Message))
	}
	lo.states = append(lo.states, lo.folded.fold.Snapshot())
}

// checkOpening: what a run's input supersedes is superseded before it, also by a
// run that ends at once; but not at the last claims of a run that closes, nor in an end
// that has no room for it.
func (lo *logged) checkOpening(a thread.Head, e thread.Entry, seq uint64) {
	in := lo.th.inputs.byText[e.Message.ID]
	if in == nil || in.supersede == 0 || e.Input != a.Run.Dispatch || seq > a.Seq+1 {
		return
	}
	if (a.Run.Status != thread.Closing || a.Run.Attempts < thread.SkipRunEnd) && lo.th.w.auditor.formOf(lo.th.p, a.Run.ID) < thread.FormStateless {
		lo.th.fail("the input at %d of run %s must supersede from %d on, and does not", seq, e.Run, in.supersede)
	}
}

// checkRanges: the record that supersedes names all invisible ranges, and nothing else.
// No world has as many ranges as a record cannot name.
func (lo *logged) checkRanges(superseded []thread.Range, record uint64) {
	visible := make(map[uint64]bool, len(lo.visible))
	for _, v := range lo.visible {
		visible[v.seq] = true
	}
	for seq := uint64(1); seq < record; seq++ {
		within := slices.ContainsFunc(superseded, func(r thread.Range) bool { return r.From <= seq && seq <= r.To })
		if lo.entries[seq-1].Message != nil && within == visible[seq] {
			lo.th.fail("the record at %d supersedes %v: message %d is visible %v", record, superseded, seq, visible[seq])
		}
	}
}

// checkShown: a model is shown what the log says, and then what the step adds.
func (lo *logged) checkShown(h *host, messages []core.Message, s script) {
	lo.th.checkOrphan(s.run)
	head := &lo.th.p.head
	if !lo.th.runs.holds() || head.Run.ID != s.run || lo.th.w.config.Processes.Local || lo.th.w.config.Processes.Batch {
		return // its claim is lost, and it does not know yet
	}
	visible := lo.visible
	if in := lo.th.inputs.own(head.Run.Dispatch); in != nil && head.Run.Cursor == thread.CursorStart && in.supersede <= head.Seq {
		for in.supersede > 0 && len(visible) > 0 && visible[len(visible)-1].seq >= in.supersede {
			visible = visible[:len(visible)-1]
		}
	}
	messages, visible = lo.behindSummary(messages, visible)
	if lo.th.w.scripted.narrow() {
		messages, visible = lo.tail(h, messages, visible, s)
	}
	for i, v := range visible {
		if i >= len(messages) {
			lo.th.fail("a model receives %d messages of run %s, the log has %d", len(messages), s.run, len(visible))
			return
		}
		if got := showing(v.seq, &messages[i]); got != v {
			lo.th.fail("a model receives %v as message %d of run %s, the log has %v", got, i, s.run, v)
			return
		}
	}
	for _, m := range messages[len(visible):] {
		if m.Role != core.RoleUser {
			lo.th.fail("a model receives a message of %s that is not in the log: %s", m.Role, m.Text())
		}
	}
}

// checkSnapshot: a stored value is what the log says after the sequence that
// it names, and a manifest names the newest of each.
func (lo *logged) checkSnapshot(r store.Record) {
	if r.Name != recordname.Snapshot {
		var v struct {
			AsOf  uint64          `json:"as_of"`
			Value json.RawMessage `json:"value"`
		}
		err := lo.th.w.checks.Decode("state snapshot", r.Payload, &v)
		said, ok := lo.valueAt(v.AsOf, r.Name[len(recordname.Snapshot):])
		if err != nil || !ok || !bytes.Equal(said, v.Value) {
			lo.th.fail("%s has %s as of %d, the log %s (%v)", r.Name, v.Value, v.AsOf, said, err)
		}
		return
	}
	var m struct {
		AsOf     uint64            `json:"as_of"`
		Revision uint64            `json:"revision"`
		Keys     map[string]uint64 `json:"keys"`
	}
	err := lo.th.w.checks.Decode("state snapshot", r.Payload, &m)
	if err != nil || m.AsOf == 0 || m.AsOf > uint64(len(lo.states)) {
		lo.th.fail("a state snapshot is of sequence %d, %d are visible (%v)", m.AsOf, len(lo.states), err)
		return
	}
	said := lo.states[m.AsOf-1]
	next := m.AsOf < uint64(len(lo.entries)) && lo.entries[m.AsOf-1].Run != lo.entries[m.AsOf].Run || lo.th.inputs.begunBehind(m.AsOf)
	if next && len(m.Keys) != len(said.Paths()) { // it is as the next run found it
		said = said.BeginRun()
	}
	if paths := said.Paths(); len(paths) != len(m.Keys) || said.Revision() != m.Revision {
		lo.th.fail("a state snapshot of sequence %d has %d values at revision %d, the log %d at %d",
			m.AsOf, len(m.Keys), m.Revision, len(paths), said.Revision())
	}
	for path, asOf := range m.Keys {
		then, was := lo.valueAt(asOf, path)
		now, is := lo.valueAt(m.AsOf, path)
		if !was || !is || !bytes.Equal(then, now) {
			lo.th.fail("a state snapshot of sequence %d has %s as of %d, which was %s then and is %s", m.AsOf, path, asOf, then, now)
		}
	}
}

// valueAt is a value after a sequence, by the log.
func (lo *logged) valueAt(seq uint64, path string) (json.RawMessage, bool) {
	var key state.KeyPath
	if seq == 0 || seq > uint64(len(lo.states)) || key.UnmarshalText([]byte(path)) != nil {
		return nil, false
	}
	return lo.states[seq-1].Value(key)
}
