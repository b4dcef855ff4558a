package run

import (
	"context"
	"errors"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// A store may refuse the records of a run's end as too large: the response and the
// request together, the state that several results make together, the additions of
// RunEnd. The end
// then takes the next smaller form ([thread.Form]), under the next fence, since an earlier
// attempt may have left other bytes. The last form fits into every store, so that no run
// keeps closing for its size.

// shrinks reports whether a write that was to end the run, and has failed, is to be made
// again in a smaller form, the smallest of which is last. If not, it returns the failure. One
// that has succeeded, nil, is not.
func (m *machine) shrinks(ctx context.Context, failure error, last thread.Form) (again bool, err error) {
	if !errors.Is(failure, store.ErrTooLarge) || m.form >= last { // the head has a separate limit
		return false, failure
	}
	m.form++
	m.holder.complain(ctx, "run's end too large, stored in a smaller form", "form", m.form, "error", failure)
	if err := m.holder.refence(ctx, m.holder.head); err != nil {
		return false, err
	}
	return true, nil
}

// formOf is the form that a previous claim took for the end in the head; FormWhole
// if none did.
func formOf(record *thread.RunRecord, head *thread.Head) thread.Form {
	if e := head.Ending(record); e != nil {
		return e.Form
	}
	return thread.FormWhole
}

// cutMessages cuts what the end adds to the log so that each of its records has at most
// MinPayload bytes: messages keep the beginning of their text, results their call.
func (m *machine) cutMessages() {
	if m.form < thread.FormLeast {
		return
	}
	for i := range m.draft.entries {
		e := &m.draft.entries[i]
		payload, _ := m.holder.records.EncodeEntry(e) // if it cannot be encoded, the write reports that
		if len(payload) <= thread.MinPayload || e.Message == nil || e.Message.ToolResult != nil {
			continue
		}
		e.Window = nil
		e.Message = &core.Message{
			ID: e.Message.ID, Role: e.Message.Role, Content: []core.Block{{Type: core.BlockText, Text: cutText(e.Message.Text())}},
			RunID: e.Message.RunID, Step: e.Message.Step, StopReason: e.Message.StopReason, CreatedAt: e.Message.CreatedAt, Repair: e.Message.Repair,
		}
	}
}

// cutResults makes the results small that the end gives to open calls and that are not
// stored yet: a tool's name may be as long as its turn.
func (r *round) cutResults() error {
	for i := range r.calls {
		c := &r.calls[i]
		if c.stored() || len(c.result.payload) <= thread.MinPayload {
			continue
		}
		entry, message, result := *c.result.entry, *c.result.entry.Message, *c.result.entry.Message.ToolResult
		result.Name, result.Message = cutText(result.Name), cutText(result.Message)
		message.ToolResult, entry.Message = &result, &message
		payload, err := r.holder.records.EncodeEntry(&entry)
		if err != nil {
			return err
		}
		c.end(&entry, payload)
	}
	return nil
}
