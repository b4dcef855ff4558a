package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/store"
)

// recording has the stored records of a run.
type recording struct {
	key      core.ThreadKey
	agent    *registry.Resolved // that it had
	record   thread.RunRecord
	first    uint64         // sequence of its first record
	entries  []thread.Entry // all of them
	own      []core.Message // its first input
	takeBack uint64         // first sequence of what its input supersedes; 0: nothing
	steps    map[int]*recordedStep
	last     int // the last step that has a turn

	// inherited: the log has it from the thread that this one was forked from, and of what
	// lies around the log there is nothing here. It is laid out for the runs after it.
	inherited bool
}

// recordedStep has the stored records of a step.
type recordedStep struct {
	run     core.ID
	inputs  []input       // what was steered to the run and read before the step
	turn    *thread.Entry // nil: the step has no turn
	words   *thread.Entry // the last words of a run that a person ended
	failed  *thread.Entry // the inference failed, and the run continued
	wrong   string        // with the turn as the run's answer; "": nothing, or the run ended there
	seq     uint64        // of the turn
	results []*thread.Entry
	asked   map[int][]thread.TicketRecord   // by call, oldest first
	decided map[int][]thread.DecisionRecord // by call
	waits   []wait                          // oldest first
	closed  bool                            // a step record closes its round
	round   uint64                          // version of the wait that the round continued from last

	// tooLate means that calls of a blocked round which did not run were decided when it
	// was blocked already. The records do not tell: both are tried.
	tooLate bool
	// blockedLast means that the call over which a gate ended a parallel round was decided
	// while others, which had waited with it, ran already. The records do not tell either.
	blockedLast bool
	// blockedFirst means that it was decided as soon as it waited, while others ran that had not
	// waited.
	blockedFirst bool
}

// input is what was steered to a run.
type input struct {
	id       core.ID
	messages []core.Message
}

// wait is one time that the round had to wait.
type wait struct {
	version uint64
	thread.RoundRecord
}

// ended reports whether the run was over.
func (r *recording) ended() bool { return r.record.Status == core.RunDone }

// step returns the stored records of a step, and makes space for them.
func (r *recording) step(number int) *recordedStep {
	s := r.steps[number]
	if s == nil {
		s = &recordedStep{run: r.record.ID, asked: map[int][]thread.TicketRecord{}, decided: map[int][]thread.DecisionRecord{}}
		r.steps[number] = s
	}
	return s
}

// until is the sequence of the run's newest record.
func (r *recording) until() uint64 { return r.first + uint64(len(r.entries)) - 1 }

// readThread returns the runs of a thread in the order of its log.
func (o Options) readThread(ctx context.Context, from store.Backend, key core.ThreadKey, head thread.Head) ([]*recording, error) {
	var runs []*recording
	for entry, err := range threadlog.Entries(ctx, from, o.Records, key, 1, head.Seq) {
		if err != nil {
			return nil, err
		}
		if len(runs) == 0 || runs[len(runs)-1].record.ID != entry.Run {
			runs = append(runs, &recording{key: key, first: entry.Seq, steps: map[int]*recordedStep{}})
			runs[len(runs)-1].record.ID = entry.Run
		}
		runs[len(runs)-1].add(entry)
	}
	own := false // a fork begins with runs of another thread alone
	for _, r := range runs {
		if err := o.readRun(ctx, from, r, head, own); err != nil {
			return nil, err
		}
		own = own || !r.inherited
	}
	return runs, nil
}

// add takes the run's next record.
func (r *recording) add(e threadlog.Entry) {
	r.entries = append(r.entries, e.Entry)
	entry := &e.Entry
	switch m := entry.Message; {
	case entry.Superseded != nil:
		r.takeBack = entry.Superseded.From
	case entry.Failed != nil:
		r.step(entry.Step).failed, r.last = entry, entry.Step
	case m == nil:
		if s := r.steps[entry.Step]; s != nil && len(s.results) > 0 && !s.closed {
			s.closed, s.round = true, entry.Round
		}
	case m.Repair:
		if s := r.steps[m.Step]; s != nil {
			s.wrong = run.Complaint(m)
		}
	case m.Role == core.RoleUser:
		r.hear(*m, entry.Input)
	case m.Role == core.RoleTool:
		s := r.step(entry.Step)
		s.results = append(s.results, entry)
	case entry.Totals == nil:
		r.step(entry.Step).words = entry
	default:
		s := r.step(entry.Step)
		s.turn, s.seq, r.last = entry, e.Seq, entry.Step
	}
}

// hear takes a message of a person: of the run's own input, which comes first, or of
// what was steered to it.
func (r *recording) hear(m core.Message, from core.ID) {
	m.RunID = core.ID{}
	if r.record.Dispatch.IsZero() {
		r.record.Dispatch = from
	}
	if from == r.record.Dispatch {
		r.own = append(r.own, m)
		return
	}
	s := r.step(r.last + 1)
	if n := len(s.inputs); n > 0 && s.inputs[n-1].id == from {
		s.inputs[n-1].messages = append(s.inputs[n-1].messages, m)
		return
	}
	s.inputs = append(s.inputs, input{from, []core.Message{m}})
}

// readRun reads the records outside of the log. own means that a run before it is of this
// thread.
func (o Options) readRun(ctx context.Context, from store.Backend, r *recording, head thread.Head, own bool) error {
	id := r.record.ID
	stored, ok, err := from.Get(ctx, r.key, recordname.Run(id))
	if r.inherited = err == nil && !ok && !own && head.Run.ID != id; r.inherited {
		return nil
	}
	if err == nil && !ok {
		err = fmt.Errorf("run record is missing: %w", store.ErrCorrupt)
	}
	first := r.record.Dispatch
	if err == nil {
		r.record, err = o.Records.DecodeRun(stored.Payload)
	}
	if err != nil {
		return fmt.Errorf("run %s: %w", id, err)
	}
	if first != r.record.Dispatch { // it continues another, and was steered
		r.own = nil
	}
	if head.Run.ID == id && head.Run.Cursor == thread.CursorTools {
		if err := o.readOpenRound(ctx, from, r, head); err != nil {
			return err
		}
	}
	for _, kind := range []string{"C#", "D#"} {
		prefix := kind + id.String() + "#"
		for after := ""; ; {
			records, err := from.Records(ctx, r.key, prefix, after, pageSize)
			if err != nil {
				return fmt.Errorf("run %s: %w", id, err)
			}
			for _, record := range records {
				if err := o.sortIn(r, record); err != nil {
					return fmt.Errorf("run %s: %s: %w", id, record.Name, err)
				}
				after = record.Name
			}
			if len(records) < pageSize {
				break
			}
		}
	}
	for _, s := range r.steps {
		s.keepWaits(r.record.ID)
		slices.SortFunc(s.waits, func(a, b wait) int { return cmp.Compare(a.version, b.version) })
		for _, tickets := range s.asked {
			slices.SortFunc(tickets, func(a, b thread.TicketRecord) int { return cmp.Compare(len(a.Suspended), len(b.Suspended)) })
		}
	}
	return nil
}

// keepWaits drops the records of writes that were refused, or had no effect on the head:
// then records of tickets may be missing. If no record has the wait that the round
// continued from last, it is the newest.
func (s *recordedStep) keepWaits(run core.ID) {
	tickets := map[uint64]bool{}
	for _, asked := range s.asked {
		for _, t := range asked {
			tickets[thread.TicketKey(run, t.Suspension.ID)] = true
		}
	}
	s.waits = slices.DeleteFunc(s.waits, func(w wait) bool {
		return slices.ContainsFunc(w.Waits, func(id uint64) bool { return !tickets[id] })
	})
	version := s.round
	if !s.closed {
		for _, w := range s.waits {
			version = max(version, w.version)
		}
	}
	counted := map[uint64]bool{}
	for version != 0 && !counted[version] {
		counted[version] = true
		if i := slices.IndexFunc(s.waits, func(w wait) bool { return w.version == version }); i >= 0 {
			version = s.waits[i].After
		}
	}
	s.waits = slices.DeleteFunc(s.waits, func(w wait) bool { return !counted[w.version] })
}

// crowded reports whether calls of a round waited that has more calls than can wait at
// a time.
func (r *recording) crowded() bool {
	for _, s := range r.steps {
		if s.turn != nil && len(s.asked) > 0 && len(s.turn.Message.ToolCalls) > thread.MaxTickets {
			return true
		}
	}
	return false
}

// otherwise takes another reading of the blocked rounds' decisions, the n-th from 1 on, and
// reports whether there is one.
func (r *recording) otherwise(n int) (other bool) {
	for _, s := range r.steps {
		if n < readings && s.blocked() && len(s.decided) > 0 {
			s.tooLate, s.blockedLast, s.blockedFirst, other = n&1 != 0, n&2 != 0, n&4 != 0, true
		}
	}
	return other
}

// readings is how many there are.
const readings = 8

// lostAtItsStart reports whether a run that was to supersede the log ended before its
// first step, and claims of it were lost: the claim that had superseded it decides the
// content of the log.
func (r *recording) lostAtItsStart() bool { return r.record.Skipped && r.takeBack != 0 && r.last == 0 }

// pageSize is how many records are listed at once.
const pageSize = 500

// readOpenRound reads the results of the round that is open: they lie after the head's
// last record.
func (o Options) readOpenRound(ctx context.Context, from store.Backend, r *recording, head thread.Head) error {
	s := r.step(int(head.Run.Step))
	s.results, s.closed, s.round = make([]*thread.Entry, len(head.Run.Calls)), true, head.Run.Round
	for i, status := range head.Run.Calls {
		if status != thread.CallDone {
			continue
		}
		stored, ok, err := from.Get(ctx, r.key, store.LogName(head.Run.Base+uint64(i)))
		if err != nil || !ok {
			return fmt.Errorf("result of call %d of the open round: found %t, %w", i, ok, err)
		}
		entry, err := o.Records.DecodeEntry(stored.Payload)
		if err != nil {
			return fmt.Errorf("result of call %d of the open round: %w", i, err)
		}
		s.results[i] = &entry
	}
	return nil
}

// sortIn sorts in a record of a round: a ticket, a decision, or the state of a round when
// it started to wait. A step that is not in the log does not count.
func (o Options) sortIn(r *recording, record store.Record) error {
	parts := strings.Split(record.Name, "#")
	if parts[2] == "round" {
		w := wait{}
		if err := o.Records.Decode("round", record.Payload, &w.RoundRecord); err != nil {
			return err
		}
		w.version, _ = strconv.ParseUint(parts[3], 10, 64)
		if s := r.at(w.Turn); s != nil {
			s.waits = append(s.waits, w)
		}
		return nil
	}
	if len(parts) != 5 { // a part of a tool's call
		return nil
	}
	turn, _ := strconv.ParseUint(parts[2], 10, 64)
	call, _ := strconv.Atoi(parts[3])
	s := r.at(turn)
	switch {
	case s == nil:
	case parts[0] == "C":
		var ticket thread.TicketRecord
		if err := o.Records.Decode("ticket", record.Payload, &ticket); err != nil {
			return err
		}
		s.asked[call] = append(s.asked[call], ticket)
	default:
		var decision thread.DecisionRecord
		if err := o.Records.Decode("decision", record.Payload, &decision); err != nil {
			return err
		}
		s.decided[call] = append(s.decided[call], decision)
	}
	return nil
}

// at returns the step whose turn is at a sequence; nil: no such step.
func (r *recording) at(seq uint64) *recordedStep {
	for _, s := range r.steps {
		if s.turn != nil && s.seq == seq {
			return s
		}
	}
	return nil
}

// blocked reports whether a gate ended the run over a call of the step.
func (s *recordedStep) blocked() bool {
	return slices.ContainsFunc(s.results, func(e *thread.Entry) bool { return e != nil && e.Message.ToolResult.Status == core.ResultBlocked })
}

// result is the recorded result of a call; nil: it has none.
func (s *recordedStep) result(call int) *thread.Entry {
	if s == nil || call >= len(s.results) {
		return nil
	}
	return s.results[call]
}

// decision is what was decided about a call's n-th ticket; false: nothing that
// counted.
func (s *recordedStep) decision(call, n int) (thread.DecisionRecord, bool) {
	tickets := s.asked[call]
	id, any := "", false
	if n+1 < len(tickets) {
		id = tickets[n+1].After
	} else if result := s.result(call); result != nil {
		// The result of a call that may have run, or did not run, does not name its
		// decision: there was one, if any is stored. In a round that was blocked that may
		// have come too late: see tooLate.
		status := result.Message.ToolResult.Status
		id, any = result.Decision, status == core.ResultUnknown || status == core.ResultNotExecuted && !(s.tooLate && s.blocked())
	}
	// Of several that are stored one counted. It let the call continue: a refusal would have
	// been its result.
	var found *thread.DecisionRecord
	for i := range s.decided[call] {
		d := &s.decided[call][i]
		if d.About(s.run) != thread.TicketKey(s.run, tickets[n].Suspension.ID) || !any && (id == "" || d.ID != id) {
			continue
		}
		if found == nil || !tickets[n].Resumes(found.Decision) {
			found = d
		}
	}
	if found == nil {
		return thread.DecisionRecord{}, false
	}
	return *found, true
}

// accept is run.Options.Accept: the program that waited for an answer of its form has
// accepted it, or said what the record says.
func (r *recording) accept(_ core.ID, step int, _ string) error {
	if s := r.steps[step]; s != nil && s.wrong != "" {
		return errors.New(s.wrong)
	}
	if t := r.record.Termination; step == r.last && t != nil && t.Code == run.CodeInvalidOutput {
		return errors.New(t.Detail)
	}
	return nil
}
