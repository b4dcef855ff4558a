package simtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
)

// transcript is what worlds are compared by.
type transcript struct {
	Log  []string `json:"log"` // the records, without what a takeover may change
	Seen []sight  `json:"seen"`
}

// outcome is the outcome of a world.
type outcome struct {
	transcript
	effects  map[string]int
	said     map[string]bool
	unknown  bool // the outcome of a call is unknown, or RunEnd was skipped: what follows is another story
	struck   bool // all faults have struck
	took     time.Duration
	taken    bool // a process continued the work of another one
	ended    Ended
	sites    []site
	twice    []*execution // of the calls that ran twice without need
	problems []string
}

// outcome reads what the world has stored.
func (w *world) outcome(ctx context.Context) outcome {
	w.mu.Lock()
	out := outcome{
		transcript: transcript{Seen: slices.Clone(w.watched.seen)}, effects: maps.Clone(w.watched.effects), said: maps.Clone(w.watched.said), sites: slices.Clone(w.sites),
		took:   w.took,
		struck: w.struck == len(w.strikes), taken: w.takeovers > 0, problems: slices.Clone(w.problems),
		ended: Ended{Inferences: w.watched.inferences, Executions: map[string]int{}},
	}
	for _, e := range w.watched.executions {
		out.ended.Executions[e.tool]++
	}
	out.twice = twice(w.watched.executions)
	keys := slices.Insert(slices.Clone(w.children), 0, key)
	w.mu.Unlock()
	var all []written
	for _, key := range keys {
		t, err := w.read(ctx, key)
		if err != nil {
			out.problem("read thread %s: %v", key.Thread, err)
			return out
		}
		all = append(all, t)
	}
	names := idsOf(all)
	for i, t := range all {
		ended := out.thread(ctx, w, t, names)
		if i == 0 {
			out.ended.Messages, out.ended.Runs = ended.Messages, ended.Runs
		} else if t.head.Exists() {
			out.ended.Children = append(out.ended.Children, ended)
		}
	}
	for i := range out.Seen {
		out.Seen[i].Came = names.Replace(out.Seen[i].Came)
	}
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

// written is a thread as it is stored.
type written struct {
	key     core.ThreadKey
	head    thread.Head
	entries []thread.Entry // none of a deleted one
}

func (w *world) read(ctx context.Context, key core.ThreadKey) (t written, err error) {
	t.key = key
	if t.head, err = w.store.Head(ctx, key); err != nil {
		return t, err
	}
	if !t.head.Deleted {
		t.entries, err = threadlog.Read(ctx, w.store, thread.Records{}, key, 1, t.head.Seq)
		return t, err
	}
	left, err := w.store.Records(ctx, key, "", "", 1)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("it is deleted and still has the record %s", left[0].Name)
	}
	return t, err
}

// thread adds what is written in a thread, and returns its messages and runs.
func (o *outcome) thread(ctx context.Context, w *world, t written, names *strings.Replacer) (ended Ended) {
	for _, e := range t.entries {
		o.Log = append(o.Log, names.Replace(encode(plain(e))))
		if e.Message == nil {
			continue
		}
		ended.Messages = append(ended.Messages, *e.Message)
		o.unknown = o.unknown || e.Message.ToolResult != nil && e.Message.ToolResult.Status == core.ResultUnknown
	}
	o.checkResults(t)
	ended.Runs = o.runs(ctx, w, t)
	return ended
}

func (o *outcome) problem(format string, args ...any) {
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}

// idsOf names the runs and inputs of logs by their order: a submission that was lost
// is made again under other ids.
func idsOf(all []written) *strings.Replacer {
	var pairs []string
	known := map[core.ID]bool{{}: true}
	for _, t := range all {
		for _, e := range t.entries {
			for _, id := range []core.ID{e.Run, e.Input} {
				if !known[id] {
					known[id] = true
					pairs = append(pairs, id.String(), fmt.Sprint("id-", len(known)-1))
				}
			}
		}
	}
	return strings.NewReplacer(pairs...)
}

// plain is a record without times, its writer and the number of attempts, and without the
// checksum, which covers these.
func plain(e thread.Entry) thread.Entry {
	e.At, e.Attempt, e.Retried, e.Round, e.Duration = 0, 0, 0, 0, 0
	e.Queued, e.First, e.Attempts, e.Sum = 0, 0, nil, 0
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
func (o *outcome) checkResults(t written) {
	var open []core.ToolCall
	for i, e := range t.entries {
		m := e.Message
		switch {
		case m == nil:
		case m.Role == core.RoleTool:
			if m.ToolResult == nil || len(open) == 0 || m.ToolResult.CallID != open[0].ID {
				o.problem("record %d is a result without an open call", i+1)
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
	if len(open) > 0 && t.head.Run.ID.IsZero() {
		o.problem("call %s has no result", open[0].ID)
	}
}

// runs reads how the runs of the log ended.
func (o *outcome) runs(ctx context.Context, w *world, t written) (ended []core.Termination) {
	known := map[core.ID]bool{}
	for _, e := range t.entries {
		if known[e.Run] {
			continue
		}
		known[e.Run] = true
		if e.Run == t.head.Run.ID {
			ended = append(ended, core.Termination{Type: core.TerminationSuspended})
			continue
		}
		stored, ok, err := w.store.Get(ctx, t.key, recordname.Run(e.Run))
		if err != nil || !ok {
			o.problem("the record of a run: found %t, %v", ok, err)
			return ended
		}
		record, err := (thread.Records{}).DecodeRun(stored.Payload)
		if err != nil || record.Termination == nil {
			o.problem("the record of a run that has ended: no termination, %v", err)
			return ended
		}
		ended = append(ended, *record.Termination)
		o.unknown = o.unknown || record.Skipped
	}
	return ended
}

// twice are the second executions of calls whose tool may have acted twice: it has not
// asked for the call's key, and is not declared read-only.
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
