package simtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// transcript is what worlds are compared by.
type transcript struct {
	Log  []string `json:"log"` // the records, without what a takeover may change
	Seen []sight  `json:"seen"`
}

// outcome is what a world came to.
type outcome struct {
	transcript
	effects  map[string]int
	said     map[string]bool
	unknown  bool // the outcome of a call is unknown, or RunEnd was skipped: what follows is another story
	struck   bool // all faults have struck
	took     time.Duration
	taken    bool // a process went on with what another one had begun
	ended    Ended
	sites    []site
	twice    []*execution // of the calls that ran twice without need
	problems []string
}

// outcome reads what the world has stored.
func (w *world) outcome(ctx context.Context) outcome {
	w.mu.Lock()
	out := outcome{
		transcript: transcript{Seen: slices.Clone(w.seen)}, effects: maps.Clone(w.effects), said: maps.Clone(w.said), sites: slices.Clone(w.sites),
		took:   w.took,
		struck: w.struck == len(w.strikes), taken: w.takeovers > 0, problems: slices.Clone(w.problems),
		ended: Ended{Inferences: w.inferences, Executions: map[string]int{}},
	}
	for _, e := range w.executions {
		out.ended.Executions[e.tool]++
	}
	out.twice = twice(w.executions)
	w.mu.Unlock()
	head, err := w.store.Head(ctx, key)
	if err != nil {
		out.problem("read the head: %v", err)
		return out
	}
	entries, err := store.ReadLog(ctx, w.store, thread.Records{}, key, 1, head.Seq)
	if err != nil {
		out.problem("read the log: %v", err)
		return out
	}
	names := idsOf(entries)
	for _, e := range entries {
		out.Log = append(out.Log, names.Replace(encode(plain(e))))
		if e.Message == nil {
			continue
		}
		out.ended.Messages = append(out.ended.Messages, *e.Message)
		out.unknown = out.unknown || e.Message.ToolResult != nil && e.Message.ToolResult.Status == core.ResultUnknown
	}
	for i := range out.Seen {
		out.Seen[i].Came = names.Replace(out.Seen[i].Came)
	}
	out.checkResults(entries, head)
	out.readRuns(ctx, w, entries, head)
	for _, check := range []func(Ended) error{w.outside.Check, w.scenario.Check} {
		if check == nil || len(out.problems) > 0 {
			continue
		}
		if err := check(out.ended); err != nil {
			out.problem("%v", err)
		}
	}
	return out
}

func (o *outcome) problem(format string, args ...any) {
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}

// idsOf names the runs and inputs of a log by their order: a submission that was lost
// is made again under other ids.
func idsOf(entries []thread.Entry) *strings.Replacer {
	var pairs []string
	known := map[core.ID]bool{{}: true}
	for _, e := range entries {
		for _, id := range []core.ID{e.Run, e.Input} {
			if !known[id] {
				known[id] = true
				pairs = append(pairs, id.String(), fmt.Sprint("id-", len(known)-1))
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// plain is a record without times, and without what says which worker wrote it after
// how many tries.
func plain(e thread.Entry) thread.Entry {
	e.At, e.Attempt, e.Retried, e.Round, e.Duration = 0, 0, 0, 0, 0
	if e.Failed != nil {
		failed := *e.Failed
		failed.Calls, failed.At = 0, 0
		e.Failed = &failed
	}
	if e.Message != nil {
		m := *e.Message
		m.CreatedAt = 0
		e.Message = &m
	}
	return e
}

// checkResults: every call of a turn has exactly one result before the next turn, but
// for those of a round that waits.
func (o *outcome) checkResults(entries []thread.Entry, head thread.Head) {
	var open []core.ToolCall
	for i, e := range entries {
		m := e.Message
		switch {
		case m == nil:
		case m.Role == core.RoleTool:
			if m.ToolResult == nil || len(open) == 0 || m.ToolResult.CallID != open[0].ID {
				o.problem("record %d is the result of no open call", i+1)
				return
			}
			open = open[1:]
		case len(open) > 0:
			o.problem("record %d comes before the result of call %s", i+1, open[0].ID)
			return
		default:
			open = m.ToolCalls
		}
	}
	if len(open) > 0 && head.Run.ID.IsZero() {
		o.problem("call %s has no result", open[0].ID)
	}
}

// readRuns reads how the runs of the log ended.
func (o *outcome) readRuns(ctx context.Context, w *world, entries []thread.Entry, head thread.Head) {
	known := map[core.ID]bool{}
	for _, e := range entries {
		if known[e.Run] {
			continue
		}
		known[e.Run] = true
		if e.Run == head.Run.ID {
			o.ended.Runs = append(o.ended.Runs, core.Termination{Type: core.TerminationSuspended})
			continue
		}
		stored, ok, err := w.store.Get(ctx, key, store.RunName(e.Run))
		if err != nil || !ok {
			o.problem("the record of a run: found %t, %v", ok, err)
			return
		}
		record, err := (thread.Records{}).DecodeRun(stored.Payload)
		if err != nil || record.Termination == nil {
			o.problem("the record of a run that is over: no termination, %v", err)
			return
		}
		o.ended.Runs = append(o.ended.Runs, *record.Termination)
		o.unknown = o.unknown || record.Skipped
	}
}

// twice are the second executions of calls whose tool may have acted twice: it has not
// asked for the call's key, and does not say that it only reads.
func twice(all []*execution) (again []*execution) {
	first := map[string]*execution{}
	for _, e := range all {
		if e.suspended {
			continue
		}
		before := first[e.key]
		if before == nil {
			first[e.key] = e
		} else if !e.spec.ReadOnly && !e.keyed && !before.keyed {
			again = append(again, e)
		}
	}
	return again
}
