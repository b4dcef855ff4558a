package mailbox

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// What lists threads and runs is written with what they show: a run when it is accepted,
// a thread when it is made and, by the step, whenever a run of it ends or begins to wait.
// Both are put beside the other records of those writes, so that they cost no round trip
// of their own. No step in between writes any.

// runListing lists a run on the thread that next is the head of.
func (s *Service) runListing(next thread.Head, run, dispatch core.ID, agent, parent string) (store.Record, error) {
	return s.listing(store.ListingName(run), next, thread.Listing{
		List: store.RunsList(next.Owner), At: createdAt(dispatch), AgentID: agent, Parent: parent,
	})
}

// threadListing lists a thread that the write of next makes.
func (s *Service) threadListing(next thread.Head, agent, asked string, parent *thread.Parent) (store.Record, error) {
	l := thread.Listing{List: store.ListOf(next.Owner, parent), At: next.Created(), AgentID: agent, Asked: asked}
	if parent != nil {
		l.Parent = parent.Thread
	}
	return s.listing(store.ActivityName, next, l)
}

func (s *Service) listing(name string, next thread.Head, l thread.Listing) (store.Record, error) {
	payload, err := s.records.EncodeListing(&l)
	return store.Record{Name: name, Fence: next.Fence, Version: next.Version, Payload: payload}, err
}

// listings are those of a submission, if next is the head of its thread with it: none
// when it went to the inbox of a run.
func (u *submission) listings(next thread.Head) ([]store.Record, error) {
	status, ok := next.RunStatus(u.run)
	if !ok || status == core.RunDone {
		return nil, nil
	}
	var parent *thread.Parent
	if p := u.Opening.Parent; p != nil {
		parent = &thread.Parent{Thread: p.Thread}
	}
	of := ""
	if parent != nil {
		of = parent.Thread
	}
	run, err := u.runListing(next, u.run, u.dispatch, u.Opening.AgentID, of)
	if err != nil || next.Version > 1 {
		return []store.Record{run}, err
	}
	made, err := u.threadListing(next, u.Opening.AgentID, thread.Asked(u.Messages, core.ID{}), parent)
	return []store.Record{run, made}, err
}
