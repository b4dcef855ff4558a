package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// checkTurns reads the log as the scripted model does: each of its turns must be the
// model's response to the messages before it, and each call must have its one result
// before the next message.
func (v *view) checkTurns() {
	var user string
	var called, denied bool
	var open []int // messages and indexes of calls without a result
	var turn message
	for i, m := range v.Messages {
		if m.Role != "tool" && len(open) > 0 {
			v.violated(kindResult, "message %d (%s %s) comes before the results of calls %v of %s", i, m.Role, m.ID, open, turn.ID)
			open = nil
		}
		switch m.Role {
		case "user":
			user, called, denied = m.turn().Text, false, false
		case "assistant":
			v.checkTurn(i, user, called, denied)
			turn = m
			for k := range m.Calls {
				open = append(open, k)
			}
		case "tool":
			called = true
			if len(open) == 0 || m.Result == nil || m.Result.CallID != turn.Calls[open[0]].ID {
				v.violated(kindResult, "message %d (%s) is not a result of an open call", i, m.ID)
				continue
			}
			text := echoed(turn.Calls[open[0]].Arguments)
			denied = m.Result.Status == "denied"
			if turn.Calls[open[0]].Name == danger {
				v.checkDecision(m, text)
			} else {
				v.checkResult(m, text)
			}
			open = open[1:]
		}
	}
	if len(open) > 0 {
		v.violated(kindResult, "calls %v of %s have no result", open, turn.ID)
	}
}

// checkTurn checks the assistant's message i, which follows what a user said
// and, if called, the results of tools.
func (v *view) checkTurn(i int, user string, called, denied bool) {
	m := v.Messages[i]
	if before := v.Messages[max(i-1, 0)]; i > 0 && before.Role == "assistant" {
		v.violated(kindDoubled, "message %d (%s) is a second response after %s", i, m.ID, before.ID)
		return
	}
	want, ok := scripted(user, called, denied)
	got := m.turn()
	if ok && got.equal(want) {
		return
	}
	last := i == len(v.Messages)-1 || v.Messages[i+1].Run != m.Run
	if ok && last && v.Runs[m.Run].dropped() && len(got.Calls) == 0 && strings.HasPrefix(want.Text, got.Text) {
		return // it was cut short
	}
	v.violated(kindDoubled, "message %d (%s) replies to %q with %s, want %s", i, m.ID, user, got, want)
}

func (v *view) checkResult(m message, want string) {
	got, how := m.result(), v.Runs[m.Run].how()
	switch {
	case got == want:
	case m.Result.IsError && how != "natural_end":
	default:
		v.violated(kindResult, "%s is %q, want %q in a run that ended with %s", m.ID, got, want, how)
	}
}

// deadLetter is how many lost claims end a run.
const deadLetter = 5

// checkEnd requires that a run has ended, and for a reason that a client gave.
func (v *view) checkEnd(run string) {
	r := v.Runs[run]
	var last message
	for _, m := range v.Messages {
		if m.Run == run {
			last = m
		}
	}
	finished := time.UnixMilli(r.Finished)
	if r.Finished == 0 {
		finished = time.Now() // it ended before it began
	}
	lived := fmt.Sprintf("run %s ended with %s", run, r.how())
	switch how := r.how(); {
	case r.Status != "done":
		v.violated(kindUnfinished, "run %s has status %q", run, r.Status)
	case how == "natural_end":
		if last.Role != "assistant" || len(last.Calls) > 0 {
			v.violated(kindLost, "%s without a response; its last message is %s %s", lived, last.Role, last.ID)
		}
	case how == "cancelled":
		if !slices.ContainsFunc(v.cancels, func(c *cancellation) bool {
			return (c.Run == "" || c.Run == run) && c.Sent.Before(finished.Add(time.Second))
		}) {
			v.violated(kindEnded, "%s, and no client cancelled it", lived)
		}
	case how == "superseded":
		if !slices.ContainsFunc(v.inputs, func(in *input) bool { return in.Mode == modeInterrupt && in.Sent.Before(finished.Add(time.Second)) }) {
			v.violated(kindEnded, "%s, and no client interrupted it", lived)
		}
	case how == "error dead_letter":
		if n := v.Kills(time.UnixMilli(r.Created), finished); n < deadLetter {
			v.violated(kindEnded, "%s after %d SIGKILLs in its lifetime, want at least %d", lived, n, deadLetter)
		}
	case strings.HasPrefix(how, "error ") && how != "error timeout" && (last.Role == "user" && last.turn().Text == failing || v.steeredFailing(finished)):
	default:
		v.violated(kindEnded, "%s (%s) after %s %q", lived, r.Termination.Detail, last.Role, last.turn().Text)
	}
	for _, c := range v.cancels {
		if c.Run == run && c.Done && r.how() == "natural_end" {
			v.violated(kindEnded, "%s, and its cancel had been acknowledged", lived)
		}
	}
}

// committed are the steps of a run as the log has them.
func (v *view) committed(run string) []*step {
	var steps []*step
	for _, m := range v.Messages {
		if m.Run != run {
			continue
		}
		switch {
		case m.Role == "assistant":
			st := &step{Number: m.Step, Turn: m.turn(), Closed: true}
			for _, c := range m.Calls {
				st.IDs, st.Asks = append(st.IDs, c.ID), c.Name == danger
			}
			steps = append(steps, st)
		case m.Role == "tool" && m.Result != nil && len(steps) > 0:
			steps[len(steps)-1].result(m.Result.CallID, m.result(), 0)
		}
	}
	return steps
}

// checkExecutions compares a run's calls with the tools' own notes.
func (v *view) checkExecutions(run string) {
	turns, calls := v.Executed(run)
	for c, lives := range calls {
		if len(slices.Compact(slices.Sorted(slices.Values(lives)))) < len(lives) {
			v.violated(kindExecuted, "call %d/%d of run %s ran twice in one life: %v", c.Turn, c.Index, run, lives)
		}
	}
	at, cut := 0, 0
	for place, st := range v.committed(run) {
		if len(st.IDs) == 0 {
			continue
		}
		if said := v.verdicts[st.Turn.Calls[0]]; st.Asks && strings.HasPrefix(st.Results[st.IDs[0]], "error: ") {
			if said != nil && said.Approved && v.Runs[run].how() != "natural_end" {
				cut++ // its tool may have run when the run was ended
			}
			continue
		}
		for i, id := range st.IDs {
			result, ok := st.Results[id]
			if !ok || strings.HasPrefix(result, "error: ") {
				continue
			}
			if at >= len(turns) || len(calls[call{turns[at], i}]) == 0 {
				v.violated(kindExecuted, "call %s of step %d of run %s has a result and never ran", id, st.Number, run)
				continue
			}
			v.checkShown(run, place, id, calls[call{turns[at], i}])
		}
		at++
	}
	if v.Runs[run].how() != "natural_end" && at == len(turns)-cut-1 {
		at++ // read-only tools run beside the commit of their turn, which the end of the run refused
	}
	if at < len(turns)-cut {
		v.violated(kindExecuted, "tools ran in %d turns of run %s, the log has %d", len(turns), run, at)
	}
}

// checkShown wants no execution of a call after a client had seen its result.
func (v *view) checkShown(run string, place int, id string, lives []int) {
	for _, s := range v.streams {
		if s.Run != run || s.From > 0 || place >= len(s.Steps) {
			continue
		}
		if life, ok := s.Steps[place].Lives[id]; ok && slices.Max(lives) > life {
			v.violated(kindExecuted, "call %s of run %s ran in lives %v, its result had been shown in life %d", id, run, lives, life)
		}
	}
}

// checkStream compares what a client read with the committed run.
func (v *view) checkStream(s *shown) {
	if s.Run == "" || v.Runs[s.Run].Status != "done" {
		return
	}
	where := fmt.Sprintf("run %s, read natively in %d pieces", s.Run, s.Cuts+1)
	if s.Chat {
		where = fmt.Sprintf("run %s, read as a chat", s.Run)
	}
	want := slices.DeleteFunc(v.committed(s.Run), func(st *step) bool { return st.Number < s.From })
	if s.Ended && s.natural() {
		if how := v.Runs[s.Run].how(); how != "natural_end" {
			v.violated(kindStream, "%s: it ends with %s, the run with %s", where, s.How, how)
		}
		if len(s.Steps) != len(want) {
			v.violated(kindStream, "%s: %d steps, the log has %d", where, len(s.Steps), len(want))
			return
		}
	}
	for i, got := range s.Steps {
		whole := s.Ended && s.natural() || got.Closed && i < len(s.Steps)-1
		if !whole {
			continue
		}
		if i >= len(want) {
			v.violated(kindStream, "%s: step %d is not in the log: %s", where, got.Number, got.Turn)
			continue
		}
		if !got.Turn.equal(want[i].Turn) {
			v.violated(kindStream, "%s: step %d is %s, the log has %s", where, got.Number, got.Turn, want[i].Turn)
		}
		for id, result := range got.Results {
			if !strings.HasPrefix(result, "error: ") && result != want[i].Results[id] {
				v.violated(kindStream, "%s: the result of %s is %q, the log has %q", where, id, result, want[i].Results[id])
			}
		}
		if s.Ended && s.natural() && len(got.Results) != len(want[i].Results) {
			v.violated(kindStream, "%s: step %d has %d results, the log has %d", where, got.Number, len(got.Results), len(want[i].Results))
		}
	}
}

// steeredFailing reports whether input that the model refuses was steered to a run
// before it ended. The step that fails because of it does not count as its reader: the
// input continues as the next run.
func (v *view) steeredFailing(before time.Time) bool {
	return slices.ContainsFunc(v.inputs, func(in *input) bool {
		return (v.steered(in) || v.movedOn(in)) && slices.ContainsFunc(in.Messages, func(m said) bool { return m.Text == failing }) && in.Sent.Before(before.Add(time.Second))
	})
}
