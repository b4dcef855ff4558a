package sim

import (
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

// In a tight world the store takes no record of more than thread.MinPayload. Some of the
// texts of models, tools, hooks and clients come close to that, or exceed it: at every
// kind of record, alone and together. A text that is too large ends its run, or is an
// error of its call; nothing stays closing for it.

// bulkKey is a value that grows.
var bulkKey = state.List[string]("bulk", state.ScopeThread)

// largerInput is how much more a tight store takes of queued input than of other records,
// in bytes, so that the log may have no room for what was accepted.
const largerInput = 260

// mostBytes is the store's limit of a record's payload, in bytes.
func (au *auditor) mostBytes(r store.Record) int {
	switch {
	case !au.w.config.Storage.Tight:
		return maxRecord
	case strings.HasPrefix(r.Name, "Q#"):
		return thread.MinPayload + largerInput
	case strings.Contains(r.Name, "#round#"): // no part of an end: rare enough without
		return thread.MinPayload / 4
	}
	return thread.MinPayload
}

// bulk is a text that what has the name says in a tight world, one in so many: more than
// the store takes, about as much, or half of it. Empty: nothing, as in every other world.
func (sc scripted) bulk(name string, which, of uint64) string {
	if !sc.w.config.Storage.Tight || trait(name, which, of) != 0 {
		return ""
	}
	return strings.Repeat("z", bulkSize(name, which))
}

func bulkSize(name string, which uint64) int {
	switch trait(name, which+100, 4) {
	case 0:
		return thread.MinPayload + 100
	case 1:
		return thread.MinPayload - 300 - int(trait(name, which+200, 300))
	}
	return thread.MinPayload * 5 / 8
}

// bulkInput is an additional text of some input in a tight world: most of it as much as
// just fits into a client's request, and hardly into the log.
func (sc scripted) bulkInput(in *input) string {
	switch {
	case !sc.w.config.Storage.Tight || trait(in.name, 67, 6) != 0:
		return ""
	case trait(in.name, 68, 4) == 0:
		return strings.Repeat("z", 2*thread.MinPayload)
	}
	payload, err := sc.w.checks.EncodeQueued(&thread.Queued{
		Run: core.ID{1}, Dispatch: core.ID{1}, AgentID: in.agent, Messages: []core.Message{core.UserMessage(in.text).WithID(in.name)}, CreatedAt: sc.w.millis(),
	})
	if err != nil {
		sc.w.violate("encode input %s: %v", in.name, err)
	}
	return strings.Repeat("z", thread.MinPayload+largerInput-len(payload)-int(trait(in.name, 69, 100)))
}

// grows is a command that adds to the value.
func (sc scripted) grows(name string, which, of uint64) state.Command {
	if text := sc.bulk(name, which, of); text != "" {
		return bulkKey.Update(text)
	}
	return state.Command{}
}

// noteTooLarge counts a record that the store has refused for its size.
func (au *auditor) noteTooLarge(r store.Record) {
	switch {
	case r.Kind() == store.KindLog:
		entry, err := au.w.checks.DecodeEntry(r.Payload)
		switch {
		case err != nil:
			au.w.violate("record %s is unreadable: %v", r.Name, err)
		case entry.Message == nil:
			au.w.did(TooLargeStep)
		case len(entry.Message.ToolCalls) > 0:
			au.w.did(TooLargeTurn)
		case entry.Message.ToolResult != nil:
			au.w.did(TooLargeResult)
		case entry.Message.IsInput():
			au.w.did(TooLargeInput)
		}
	case strings.HasPrefix(r.Name, "Q#"):
		au.w.did(TooLargeSubmission)
	case strings.HasPrefix(r.Name, "R#"):
		au.w.did(TooLargeRun)
	case strings.HasPrefix(r.Name, recordname.Snapshot):
		au.w.did(TooLargeSnapshot)
	case strings.Contains(r.Name, "#round#"):
		au.w.did(TooLargeRound)
	case strings.HasPrefix(r.Name, "C#"):
		au.w.did(TooLargeSuspension)
	}
}

// formOf is how much of a run's end is stored, as its record says.
func (au *auditor) formOf(p *partition, run core.ID) thread.Form {
	r, ok := p.record(recordname.Run(run))
	if !ok {
		return thread.FormWhole
	}
	record, err := au.w.checks.DecodeRun(r.Payload)
	if err != nil || record.Ending == nil {
		return thread.FormWhole
	}
	return record.Ending.Form
}

// countForm counts the end of a run by how much of it is stored.
func (au *auditor) countForm(record *thread.RunRecord) {
	if e := record.Ending; e != nil && e.Form > thread.FormWhole {
		if !au.w.config.Storage.Tight {
			au.w.violate("the end of run %s takes the form %s where nothing is too large", record.ID, e.Form)
		}
		au.w.did(SmallerEnd)
	}
}

// grown is which part of the calls adds to the value in a tight world: where calls wait
// all of them, so that a round that waits has some.
func (sc scripted) grown() uint64 {
	if sc.w.config.People.Asks {
		return 1
	}
	return 3
}
