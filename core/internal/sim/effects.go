package sim

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// execute is a tool's start.
func (ca *calls) execute(h *host, key string, call tool.Call, spec tool.Spec) {
	ca.th.w.Stats.Steps.Executions++
	ca.starts[key]++
	if ca.th.runs.holds() { // of a claim that is lost already the head cannot know
		ca.acts[key] = true
	}
	if ca.th.w.config.Trace != nil {
		ca.th.w.config.Trace("%s: tool %s runs %s", h.name, spec.Name, key)
	}
	if most := 1 + ca.th.asks.resumed(call) + ca.th.asks.crowded[placed(call)]; spec.AtMostOnce && ca.starts[key] > most {
		ca.th.fail("at-most-once call %s runs %d times, %d are allowed", key, ca.starts[key], most)
	}
	if ca.th.early(call) {
		ca.th.w.did(EarlyTool)
		ca.early = placed(call).turn
		if !deaf(spec.Name) {
			h.calls[len(h.calls)-1].early = key
		}
		if spec.AtMostOnce || spec.Approval != "" || !spec.ReadOnly {
			ca.th.fail("call %s of tool %s runs before its turn is committed", key, spec.Name)
		}
	}
	ca.th.asks.checkAllowed(h, key, call, spec.Name)
	if ca.th.runs.holds() && ca.th.logged.stored(call) {
		ca.th.fail("call %s runs, although its result was stored before the claim", key)
	}
}

// early reports whether the turn of a call is not committed yet.
func (th *threadState) early(call tool.Call) bool {
	return !th.p.head.Deleted && th.p.head.Seq < placed(call).turn
}

// checkCommitted: what a call leaves behind is of a turn that is in the log, and not of one
// that was refused and whose place another one has.
func (th *threadState) checkCommitted(call tool.Call, key, what string) {
	turn, index := placed(call).turn, placed(call).index
	if th.p.head.Deleted {
		return
	}
	if turn > th.p.head.Seq {
		th.fail("call %s %s before its turn is committed", key, what)
		return
	}
	if m := th.logged.entries[turn-1].Message; m == nil || index >= len(m.ToolCalls) || callKey(string(m.ToolCalls[index].Arguments)) != key {
		th.fail("call %s %s, and its turn was refused", key, what)
	}
}

// infers notes that the model is called again: an early call whose turn is not in the log
// was dropped with it.
func (ca *calls) infers() {
	if ca.early > ca.th.p.head.Seq {
		ca.th.w.did(DroppedCall)
	}
	ca.early = 0
}

// checkEarly looks at a record that is new: what a call stores comes after its turn.
func (lo *logged) checkEarly(r store.Record) {
	head := &lo.th.p.head
	if r.Fence != head.Claim.Fence && r.Kind() == store.KindLog { // of a claim that is lost: readers pass over it
		return
	}
	if seq, ok := r.LogSeq(); ok {
		entry, err := lo.th.w.checks.DecodeEntry(r.Payload)
		result := err == nil && entry.Message != nil && entry.Message.ToolResult != nil
		if result && seq > head.Seq && (head.Run.Cursor != thread.CursorTools || seq < head.Run.Base) {
			lo.th.fail("the result at %d is put before its turn is committed, the log ends at %d", seq, head.Seq)
		}
		return
	}
	if part := strings.Split(r.Name, "#"); len(part) > 4 && part[4] == "once" {
		if turn, err := strconv.ParseUint(part[2], 10, 64); err != nil || turn > head.Seq {
			lo.th.fail("%s is put before its turn is committed, the log ends at %d", r.Name, head.Seq)
		}
	}
}

// stored reports whether a result of the call was there when the present claim was taken:
// it is to be adopted. A call of a round that is over is not that claim's: a process that
// was paused past its lease may start a tool of a round that it has ended since, under a
// later claim.
func (lo *logged) stored(call tool.Call) bool {
	run, seq, ok := placeOf(call)
	if !ok || run != lo.th.p.head.Run.ID || placed(call).turn+1 != lo.th.p.head.Run.Base {
		return false
	}
	at, ok := lo.result(run, seq)
	return ok && at < lo.th.runs.claimed
}

// placeOf is the run of a call and the sequence of its result, from its key.
func placeOf(call tool.Call) (run core.ID, seq uint64, ok bool) {
	place := strings.Split(call.Key(), "/")
	if len(place) != 3 {
		return core.ID{}, 0, false
	}
	err := run.UnmarshalText([]byte(place[0]))
	turn, failed := strconv.ParseUint(place[1], 10, 64)
	index, wrong := strconv.ParseUint(place[2], 10, 64)
	return run, turn + 1 + index, err == nil && failed == nil && wrong == nil
}

// result is when a result of the run was put at a sequence, if one was.
func (lo *logged) result(run core.ID, seq uint64) (at time.Duration, ok bool) {
	r, ok := lo.th.p.record(store.LogName(seq))
	if !ok {
		return 0, false
	}
	entry, err := lo.th.w.checks.DecodeEntry(r.Payload)
	return lo.th.p.putAt[seq-1], err == nil && entry.Message != nil && entry.Message.ToolResult != nil && entry.Run == run
}

// checkOutcome takes a committed result.
func (ca *calls) checkOutcome(arguments string, r *core.ToolResult) {
	key, text := callKey(arguments), r.Text()
	ca.results[key] = text
	if ca.starts[key] == 0 && !r.IsError && r.Status != core.ResultSet {
		ca.th.fail("call %s never ran, its result is %q", key, text)
	}
	switch {
	case !ca.acts[key]:
	case r.Status == core.ResultNotExecuted:
		ca.th.fail("call %s ran, its result is %q", key, text)
	case r.Status == core.ResultUnknown && r.Name != "once":
		ca.th.w.did(CutOffTool)
	}
	if r.Status == core.ResultInvalid {
		ca.th.fail("call %s does not run: %q", key, text)
	}
	if r.Status == core.ResultSet && (r.Name == "childresult" || slices.Contains(timerNames, r.Name) && text == `{"woken":"time"}`) {
		return // it is the child's outcome, or the decision of the clock: see checkChildTold and checkClock
	}
	if !r.IsError && !strings.Contains(text, key) {
		ca.th.fail("the result of call %s belongs to another call: %.80q", key, text)
	}
}

// poisonOf is the kind of poison that a run has, by its first message; 0: none.
// 1 dies at each inference, 2 twice at each step, 3 at RunEnd, 4 slowly.
func (sc scripted) poisonOf(th *threadState, name string) int {
	switch {
	case name == "", sc.w.mended(name):
	case sc.w.config.Poison > 0 && th.i == 0 && strings.HasPrefix(name, "m0.0-"):
		return sc.w.config.Poison
	case sc.w.config.People.Again && sc.w.config.Poison < 0 && trait(name, 72, 6) == 0:
		return 1
	case sc.w.config.Poison < 0 && trait(name, 11, 20) < 3:
		return int(trait(name, 11, 20)) + 1
	}
	return 0
}

// poison kills the process if the run is one that does, there.
func (sc scripted) poison(h *host, th *threadState, name string, where byte) {
	claims := int(th.p.head.Run.Attempts)
	switch kind := sc.poisonOf(th, name); {
	case kind == 1 && where == 'm', kind == 2 && claims <= 2, kind == 3 && where == 'e':
		h.die()
	case kind == 4 && where == 'm':
		_ = sc.w.sleep(context.Background(), 14*time.Second)
		h.die()
	}
}

// threadOf finds the thread that a message was made for.
func (w *World) threadOf(name string) *threadState {
	if th := w.people.byInput[name]; th != nil {
		return th
	}
	w.violate("a model receives message %q, which no client has sent", name)
	return w.threads[0]
}
