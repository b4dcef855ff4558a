package run

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// addRun adds to the records of a write that of the run and, where the run ends or
// begins to wait with it, what lists of threads show from then on. A close is not listed
// until it is final.
func (d *draft) addRun(records []store.Record, next thread.Head, outcome thread.Outcome, r *thread.RunRecord, at int64) ([]store.Record, error) {
	stored, err := d.runRecord(r)
	records = append(records, stored)
	if err != nil || outcome != thread.Wait && outcome != thread.Done {
		return records, err
	}
	said := r.Response
	if outcome == thread.Wait {
		said = lastText(d.messages.items, r.ID)
	}
	parent := d.head.Run.Parent // of the run that ends: next may have none any more
	l := thread.Listing{
		List: store.ListOf(next.Owner, parent), At: at, AgentID: r.AgentID, Excerpt: thread.Excerpt(said), Asked: thread.Asked(d.messages.items, r.ID),
		Last: &thread.LastRun{ID: r.ID, AgentID: r.AgentID, Status: r.Status, Steps: r.Steps, Usage: r.Usage},
	}
	if parent != nil {
		l.Parent = parent.Thread
	}
	if l.Last.Termination = r.Termination; r.Termination != nil && r.Termination.Detail != "" {
		l.Last.Termination = &core.Termination{Type: r.Termination.Type, Code: r.Termination.Code}
	}
	payload, err := d.records.EncodeListing(&l)
	return append(records, store.Record{Name: store.ActivityName, Payload: payload}), err
}
