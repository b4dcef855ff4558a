package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/state"
)

// compare returns the first difference between the run as it is recorded and as it was
// played.
func (d *director) compare(ctx context.Context, before []thread.Entry) (*Difference, error) {
	head, err := d.box.Head(ctx, d.recording.key)
	if err != nil {
		return nil, err
	}
	present, err := threadlog.Read(ctx, d.store, d.o.Records, d.recording.key, d.recording.first, head.Seq)
	if err != nil {
		return nil, err
	}
	if x := d.compareLogs(present); x != nil {
		return x, nil
	}
	if d.found != nil {
		return d.found, nil
	}
	if x := d.compareLengths(present); x != nil {
		return x, nil
	}
	if x, err := d.compareStates(before, present); x != nil || err != nil {
		return x, err
	}
	if !d.recording.ended() {
		return nil, nil
	}
	stored, ok, err := d.store.Get(ctx, d.recording.key, recordname.Run(d.recording.record.ID))
	if err != nil || !ok {
		return nil, fmt.Errorf("run record of the replay: found %t, %w", ok, err)
	}
	record, err := d.o.Records.DecodeRun(stored.Payload)
	if err != nil {
		return nil, err
	}
	if x := diff(runOf(d.recording.record), runOf(record)); x != nil {
		x.Where, x.Step = WhereRun, d.recording.last
		return x, nil
	}
	return d.compareEvents(present, record), nil
}

// compareLogs compares the records that both have.
func (d *director) compareLogs(present []thread.Entry) *Difference {
	for i := range min(len(present), len(d.recording.entries)) {
		recorded := d.recording.entries[i]
		x := diffEntries(plain(recorded), plain(present[i]))
		if x == nil {
			continue
		}
		x.Where, x.Seq, x.Step, x.By = WhereLog, d.recording.first+uint64(i), recorded.Step, by(recorded, x.Field)
		x.Key = keyOf(x.Field, recorded, present[i])
		d.nameOwner(x)
		return x
	}
	return nil
}

// diffEntries compares clocks last: where something else differs, that is why.
func diffEntries(recorded, present thread.Entry) *Difference {
	same := present
	same.At = recorded.At
	if x := diff(recorded, same); x != nil {
		return x
	}
	return diff(recorded, present)
}

// compareLengths looks for records that only one of the two has.
func (d *director) compareLengths(present []thread.Entry) *Difference {
	n := len(present)
	switch {
	case n < len(d.recording.entries):
		return &Difference{Where: WhereLog, Seq: d.recording.first + uint64(n), Step: d.recording.entries[n].Step, Recorded: encode(plain(d.recording.entries[n]))}
	case n > len(d.recording.entries):
		return &Difference{Where: WhereLog, Seq: d.recording.until() + 1, Step: present[len(d.recording.entries)].Step, Present: encode(plain(present[len(d.recording.entries)]))}
	}
	return nil
}

// plain is an entry without its writer, the failed attempts, the versions of the head, and
// the checksum of the bytes before it. It also lacks durations and what the run waited for in a queue (a replay takes no
// time), and requests with their estimated sizes, which depend on the tools and prompts of
// the build that made them.
func plain(e thread.Entry) thread.Entry {
	e.Attempt, e.Retried, e.Round, e.Duration = 0, 0, 0, 0
	e.Queued, e.First, e.Attempts, e.Sum = 0, 0, nil, 0
	e.Prompt, e.Sent = "", nil
	if e.Window != nil {
		w := *e.Window
		w.Estimate, w.Prefix = 0, [3]uint32{}
		e.Window = &w
	}
	if e.Failed != nil {
		failed := *e.Failed
		failed.Calls = 0
		e.Failed = &failed
	}
	if e.Totals != nil {
		totals := unmetered(*e.Totals)
		e.Totals = &totals
	}
	return e
}

// unmetered are totals without the figures for billing: a replay costs nothing.
func unmetered(t thread.Totals) thread.Totals {
	t.Metered = nil
	return t
}

// runOf is what is compared of a run's record: a replay waits for no person, and loses no
// worker.
func runOf(r thread.RunRecord) thread.RunRecord {
	r.Ending, r.Unknown, r.Bases, r.Models, r.Losses = nil, nil, nil, nil, nil
	r.WaitedMS, r.Takeovers = 0, 0
	return r
}

// by says whose work a field of a record is.
func by(e thread.Entry, field string) string {
	of := func(name string) bool { return strings.HasPrefix(field, name) }
	turn := e.Message != nil && e.Message.Role == core.RoleAssistant
	switch {
	case of("hooks"), of("blocked"):
		return "gates and before_tool_execute"
	case of("intents"):
		return "the tool"
	case !of("patch") && !of("revision"):
		return ""
	case turn:
		return "run_start, step_start, before_inference and after_inference"
	case e.Superseded != nil:
		return ""
	}
	return "the round's calls, step_end and run_end"
}

// keyOf is the state key that a differing field is about, as the path that the log
// has.
func keyOf(field string, entries ...thread.Entry) string {
	list, rest, _ := strings.Cut(field, "[")
	digits, _, _ := strings.Cut(rest, "]")
	i, err := strconv.Atoi(digits)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		command := e.Hooks
		if strings.HasPrefix(list, "intents") {
			command = e.Intents
		}
		switch {
		case list == "patch" && i < len(e.Patch):
			if keys := e.Patch[i : i+1].Keys(); len(keys) > 0 {
				return keys[0].String()
			}
		case strings.HasSuffix(list, "mutations") && command != nil && i < len(command.Batch.Mutations):
			return command.Batch.Mutations[i].Key
		}
	}
	return ""
}

// nameOwner names the plugin of a difference's key.
func (d *director) nameOwner(x *Difference) {
	if x.Key == "" || d.played == nil {
		return
	}
	name := x.Key
	var path state.KeyPath
	if path.UnmarshalText([]byte(x.Key)) == nil {
		name = path.Name
	}
	x.Plugin = d.played.Engine.Owner(name)
}

// compareRounds compares the states of a round when it started to wait.
func (d *director) compareRounds(s *recordedStep, recorded, present thread.RoundRecord) *Difference {
	recorded.Waits, present.Waits = nil, nil // which were decided by then is not known
	recorded.After, present.After, recorded.Fence, present.Fence = 0, 0, 0, 0
	recorded.Totals, present.Totals = unmetered(recorded.Totals), unmetered(present.Totals)
	x := diff(recorded, present)
	if x == nil {
		return nil
	}
	x.Where, x.Step, x.Seq = WhereRound, s.turn.Step, s.seq
	x.By, x.Key = by(thread.Entry{}, x.Field), keyOf(x.Field, thread.Entry{Patch: recorded.Patch}, thread.Entry{Patch: present.Patch})
	d.nameOwner(x)
	return x
}

// compareStates folds both logs.
func (d *director) compareStates(before, present []thread.Entry) (*Difference, error) {
	var states [2]state.Snapshot
	for i, log := range [][]thread.Entry{d.recording.entries, present} {
		fold := state.Snapshot{}.Fold()
		var at place
		for _, entries := range [][]thread.Entry{before, log} {
			for _, e := range entries {
				at.enter(fold, e)
				if err := fold.Apply(e.Patch, e.Revision); len(e.Patch) > 0 && err != nil {
					return nil, fmt.Errorf("fold the log: %w", err)
				}
			}
		}
		states[i] = fold.Snapshot()
	}
	if states[0].Equal(states[1]) {
		return nil, nil
	}
	x := &Difference{Where: WhereState, Step: d.recording.last, Seq: d.recording.until(), Field: "revision",
		Recorded: fmt.Sprint(states[0].Revision()), Present: fmt.Sprint(states[1].Revision())}
	for _, path := range append(states[0].Paths(), states[1].Paths()...) {
		a, _ := states[0].Value(path)
		b, _ := states[1].Value(path)
		if !bytes.Equal(a, b) {
			x.Field, x.Key, x.Recorded, x.Present = "value", path.String(), string(a), string(b)
			d.nameOwner(x)
			break
		}
	}
	return x, nil
}

// place is the place of a fold: values end with their run or step.
type place struct {
	run  core.ID
	step int
}

func (p *place) enter(fold *state.Fold, e thread.Entry) {
	switch {
	case e.Run != p.run:
		fold.BeginRun()
		p.run, p.step = e.Run, e.Step
	case e.Step != 0 && e.Step != p.step:
		fold.BeginStep()
		p.step = e.Step
	}
}

// compareEvents compares the streams that are cut from the two.
func (d *director) compareEvents(present []thread.Entry, record thread.RunRecord) *Difference {
	recorded, played := events(d.recording.record.Run, d.recording.entries), events(record.Run, present)
	for i := range max(len(recorded), len(played)) {
		var a, b any
		if i < len(recorded) {
			a = recorded[i]
		}
		if i < len(played) {
			b = played[i]
		}
		if x := diff(a, b); x != nil {
			x.Where, x.Field = WhereEvents, fmt.Sprintf("event %d %s", i, x.Field)
			return x
		}
	}
	return nil
}

// placedEvent is an event with its place, which its JSON has not.
type placedEvent struct {
	Position string     `json:"position"`
	Event    core.Event `json:"event"`
}

// events are the events of a run for a reader that comes late.
func events(of core.Run, entries []thread.Entry) (all []placedEvent) {
	r := history.NewReplayer(of, func(e core.Event) error {
		all = append(all, placedEvent{e.Position, e})
		return nil
	})
	for _, e := range entries {
		_ = r.Add(plain(e)) // the sink takes everything
	}
	_ = r.Finish(of)
	return all
}

// encode returns a value's JSON; empty for nil.
func encode(v any) string {
	if v == nil {
		return ""
	}
	text, err := core.EncodeJSON(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(text)
}

// diff compares the JSON of two values and names the first field that differs, in the
// order of the first value's fields; nil: they are the same, byte for byte.
func diff(recorded, present any) *Difference {
	a, b := encode(recorded), encode(present)
	if a == b {
		return nil
	}
	x := &Difference{Recorded: a, Present: b}
	for {
		name, av, bv, deeper := step(x.Recorded, x.Present)
		if !deeper {
			return x
		}
		x.Field, x.Recorded, x.Present = x.Field+name, av, bv
		x.Field = strings.TrimPrefix(x.Field, ".")
	}
}

// step goes into the first member or item that differs, where both values are objects
// or both are lists.
func step(a, b string) (name, av, bv string, deeper bool) {
	var left, right map[string]json.RawMessage
	if json.Unmarshal([]byte(a), &left) == nil && json.Unmarshal([]byte(b), &right) == nil && left != nil && right != nil {
		names := slices.Concat(members(a), members(b))
		for _, name := range names {
			if !bytes.Equal(left[name], right[name]) {
				return "." + name, string(left[name]), string(right[name]), true
			}
		}
		return "", "", "", false
	}
	var items, others []json.RawMessage
	if json.Unmarshal([]byte(a), &items) != nil || json.Unmarshal([]byte(b), &others) != nil || items == nil || others == nil {
		return "", "", "", false
	}
	for i := range max(len(items), len(others)) {
		var one, other json.RawMessage
		if i < len(items) {
			one = items[i]
		}
		if i < len(others) {
			other = others[i]
		}
		if !bytes.Equal(one, other) {
			return "[" + strconv.Itoa(i) + "]", string(one), string(other), true
		}
	}
	return "", "", "", false
}

// members are the names of an object's members, in its order.
func members(object string) (names []string) {
	decoder := json.NewDecoder(strings.NewReader(object))
	if _, err := decoder.Token(); err != nil {
		return nil
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return names
		}
		names = append(names, fmt.Sprint(name))
		if decoder.Decode(new(json.RawMessage)) != nil {
			return names
		}
	}
	return names
}
