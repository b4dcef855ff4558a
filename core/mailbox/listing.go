package mailbox

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Threads and runs are listed by records that are written with what they list: a run's
// when it is accepted, a thread's when it is made and, by the step, whenever a run of it
// ends or starts to wait. They are put with the other records of those writes, so that they
// cost no separate round trip. The other steps of a run write none.

// runListing lists a run of the thread that next is the head of. parent is the thread of
// the run that started it; empty: no parent.
func runListing(records thread.Records, next thread.Head, run, dispatch core.ID, agent, parent string) (store.Record, error) {
	return listingRecord(records, recordname.Listing(run), next, thread.Listing{
		List: recordname.RunsList(next.Owner), At: createdAt(dispatch), AgentID: agent, Parent: parent,
	})
}

// threadListing lists the thread that the write of next makes. asked is an excerpt of its first
// message.
func threadListing(records thread.Records, next thread.Head, agent, asked string, parent *thread.Parent) (store.Record, error) {
	l := thread.Listing{List: recordname.ListOf(next.Owner, parent), At: next.Created(), AgentID: agent, Asked: asked}
	if parent != nil {
		l.Parent = parent.Thread
	}
	return listingRecord(records, recordname.Activity, next, l)
}

// listingRecord encodes a listing. It has the fence and version of the head that it is
// written with, so that a later one replaces it.
func listingRecord(records thread.Records, name string, next thread.Head, l thread.Listing) (store.Record, error) {
	payload, err := records.EncodeListing(&l)
	return store.Record{Name: name, Fence: next.Fence, Version: next.Version, Payload: payload}, err
}

// listings are those of a submission, if next is the head of its thread with it: none if
// the input went to the inbox of a run.
func (u *submission) listings(next thread.Head) ([]store.Record, error) {
	if _, ok := next.RunStatus(u.ids.run); !ok {
		return nil, nil
	}
	var parent *thread.Parent
	of := ""
	if p := u.in.Opening.Parent; p != nil {
		parent, of = &thread.Parent{Thread: p.Thread}, p.Thread
	}
	agent := u.in.Opening.AgentID
	run, err := runListing(u.s.records, next, u.ids.run, u.ids.dispatch, agent, of)
	// The first version of a head is the write that makes the thread.
	if err != nil || next.Version > 1 {
		return []store.Record{run}, err
	}
	made, err := threadListing(u.s.records, next, agent, thread.Asked(u.in.Messages, core.ID{}), parent)
	return []store.Record{run, made}, err
}
