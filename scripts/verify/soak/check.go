package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// kind names what was violated.
type kind string

// The kinds, in the order of the summary.
const (
	kindLost       kind = "lost"
	kindDoubled    kind = "doubled"
	kindOrder      kind = "order"
	kindResult     kind = "result"
	kindUnfinished kind = "unfinished"
	kindEnded      kind = "ended"
	kindStream     kind = "stream"
	kindExecuted   kind = "executed"
	kindDecided    kind = "decided"
	kindRefused    kind = "refused"
	kindHost       kind = "host"
)

var kinds = []kind{kindLost, kindDoubled, kindOrder, kindResult, kindUnfinished, kindEnded, kindStream, kindExecuted, kindDecided, kindRefused, kindHost}

// violation is one thing that must not be.
type violation struct {
	Kind   kind
	Thread string
	Text   string
}

func (v violation) String() string { return fmt.Sprintf("%s: thread %s: %s", v.Kind, v.Thread, v.Text) }

// message is a record of the log as the host shows it.
type message struct {
	ID      string
	Role    string
	Content []struct{ Type, Text string }
	Calls   []struct {
		ID        string
		Name      string
		Arguments json.RawMessage
	} `json:"tool_calls"`
	Result *struct {
		CallID  string `json:"call_id"`
		Data    json.RawMessage
		Message string
		Status  string
		IsError bool `json:"is_error"`
	} `json:"tool_result"`
	Run     string `json:"run_id"`
	Step    int
	Pending bool
}

func (m message) turn() turn {
	var t turn
	for _, b := range m.Content {
		if b.Type == "reasoning" {
			t.Reasoning += b.Text
		} else {
			t.Text += b.Text
		}
	}
	for _, c := range m.Calls {
		t.Calls = append(t.Calls, echoed(c.Arguments))
	}
	return t
}

// result is what a client reads of a tool's message.
func (m message) result() string {
	if m.Result.IsError {
		return "error: " + string(m.Result.Data) + m.Result.Message
	}
	return echoed(m.Result.Data)
}

// record is a run as the host shows it.
type record struct {
	Status      string
	Termination *struct{ Type, Code, Detail string }
	Created     int64 `json:"created_at"` // unix milliseconds
	Finished    int64 `json:"finished_at"`
}

// how is the run's termination, with the code of an error.
func (r record) how() string {
	switch {
	case r.Termination == nil:
		return ""
	case r.Termination.Type == "error":
		return "error " + r.Termination.Code
	}
	return r.Termination.Type
}

// dropped reports whether a client ended the run before its model did.
func (r record) dropped() bool { return r.how() == "cancelled" || r.how() == "superseded" }

// view is an idle thread, as all clients see it.
type view struct {
	*ledger
	Messages []message
	Runs     map[string]record
	Kills    func(from, to time.Time) int
	Executed func(run string) ([]uint64, map[call][]int)

	found []violation
}

func (v *view) violated(kind kind, format string, arguments ...any) {
	v.found = append(v.found, violation{kind, v.Thread, fmt.Sprintf(format, arguments...)})
}

// check returns everything that is wrong with the thread.
func (v *view) check() []violation {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.found = slices.Clone(v.faults)
	v.checkInputs()
	v.checkOrder()
	v.checkBlocks()
	v.checkTurns()
	for _, run := range sortedRuns(v.Runs) {
		v.checkEnd(run)
		v.checkExecutions(run)
	}
	for _, s := range v.streams {
		v.checkStream(s)
	}
	return v.found
}

func sortedRuns(runs map[string]record) []string {
	ids := make([]string, 0, len(runs))
	for id := range runs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// places returns the places of each user message in the log.
func (v *view) places() map[string][]int {
	at := map[string][]int{}
	for i, m := range v.Messages {
		if m.Role == "user" {
			at[m.ID] = append(at[m.ID], i)
		}
	}
	return at
}

// checkInputs compares what was sent with what is in the log.
func (v *view) checkInputs() {
	at := v.places()
	known := map[string]bool{}
	for _, in := range v.inputs {
		var there int
		for _, m := range in.Messages {
			known[m.ID] = true
			places := at[m.ID]
			there += min(len(places), 1)
			if len(places) > 1 {
				v.violated(kindDoubled, "input %s is in the log at %v", m.ID, places)
			}
			if len(places) > 0 && in.Refused != "" {
				v.violated(kindRefused, "input %s was refused with %q and is in the log", m.ID, in.Refused)
			}
			if len(places) > 0 && v.Messages[places[0]].turn().Text != m.Text {
				v.violated(kindDoubled, "input %s says %q, it was sent as %q", m.ID, v.Messages[places[0]].turn().Text, m.Text)
			}
		}
		if in.Acked && there < len(in.Messages) && !v.ended(in) {
			v.violated(kindLost, "input %s (%s, %s), acknowledged, is not in the log; its runs: %s", in.Key, in.Door, in.Mode, v.ends(in.Runs))
		}
		v.checkReader(in, at)
	}
	for id := range at {
		if !known[id] {
			v.violated(kindDoubled, "no client sent the input %s", id)
		}
	}
}

// ended reports whether the run that was to read an input was dropped.
func (v *view) ended(in *input) bool {
	return slices.ContainsFunc(in.Runs, func(run string) bool { return v.Runs[run].dropped() })
}

func (v *view) ends(runs []string) string {
	var all []string
	for _, run := range runs {
		all = append(all, fmt.Sprintf("%s %s %s", run, v.Runs[run].Status, v.Runs[run].how()))
	}
	return strings.Join(all, ", ")
}

// checkReader wants an input to be read by the run that its receipt named.
func (v *view) checkReader(in *input, at map[string][]int) {
	if v.steered(in) || len(in.Runs) == 0 {
		return
	}
	for _, m := range in.Messages {
		if places := at[m.ID]; len(places) > 0 && v.Messages[places[0]].Run != in.Runs[0] {
			v.violated(kindDoubled, "input %s was read by run %s, its receipt says %s", m.ID, v.Messages[places[0]].Run, in.Runs[0])
		}
	}
}

// checkOrder wants queued input in the order of its acknowledgement, and what
// was steered to one run in that order too.
func (v *view) checkOrder() {
	at := v.places()
	last := map[string]int{} // per line of waiting: the place of its last message
	name := map[string]string{}
	for _, in := range v.inputs {
		line := "queue"
		if v.movedOn(in) {
			continue
		}
		if v.steered(in) {
			if len(in.Runs) != 1 {
				continue // it moved: its place follows from the run that took it
			}
			line = "steered to " + in.Runs[0]
		}
		for _, m := range in.Messages {
			places := at[m.ID]
			if len(places) == 0 {
				continue
			}
			if name[line] != "" && places[0] < last[line] {
				v.violated(kindOrder, "%s: input %s is before %s, which was acknowledged earlier", line, m.ID, name[line])
			}
			last[line], name[line] = places[0], m.ID
		}
	}
}

// movedOn reports whether a waiting run read the input instead of a decision, and failed
// because of it. The input then belongs to the next run, before all queued ones. A client
// that knows only the first run does not see that; the log does.
func (v *view) movedOn(in *input) bool {
	at := v.places()
	return slices.ContainsFunc(in.Messages, func(m said) bool {
		places := at[m.ID]
		if len(places) == 0 || places[0] == 0 {
			return false
		}
		message, before := v.Messages[places[0]], v.Messages[places[0]-1]
		return before.Role == "tool" && before.Run != message.Run && strings.Contains(before.result(), "the user went on without deciding")
	})
}

// checkBlocks wants each message once and the messages of each run in one piece.
func (v *view) checkBlocks() {
	ids, runs := map[string]bool{}, map[string]bool{}
	for i, m := range v.Messages {
		if m.Pending {
			v.violated(kindUnfinished, "message %s is still pending", m.ID)
		}
		if m.Role != "user" && ids[m.ID] {
			v.violated(kindDoubled, "message %s is in the log twice", m.ID)
		}
		ids[m.ID] = true
		if i > 0 && v.Messages[i-1].Run == m.Run {
			continue
		}
		if runs[m.Run] {
			v.violated(kindDoubled, "run %s begins again at message %d", m.Run, i)
		}
		runs[m.Run] = true
	}
}
