package mailbox

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// Threads and runs are listed by records that are written with what they list: a run's
// when it is accepted, a thread's when it is made and, by the step, whenever a run of it
// ends or starts to wait. They are put with the other records of those writes, so that they
// cost no separate round trip. The other steps of a run write none.

// runListing lists a run of the thread that next is the head of. about is the part of the
// listing that its input gives; the start of the input is cut to its size here.
func runListing(records thread.Records, next thread.Head, run, dispatch core.ID, about thread.Listing) (store.Record, error) {
	about.List, about.At, about.Asked = recordname.RunsList(next.Owner), createdAt(dispatch), thread.Short(about.Asked)
	return listingRecord(records, recordname.Listing(run), next, about)
}

// inputListing is runListing of a run that starts with an input, which begins with asked.
func inputListing(records thread.Records, next thread.Head, in *thread.Queued, asked string) (store.Record, error) {
	about := thread.Listing{AgentID: in.AgentID, Origin: in.Origin, Asked: asked}
	if in.Parent != nil {
		about.Parent = in.Parent.Thread
	}
	return runListing(records, next, in.Run, in.Dispatch, about)
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

// listings are those of a submission, for the head that its write makes.
func (u *submission) listings(next thread.Head) ([]store.Record, error) {
	in := u.queued()
	return u.listingsOf(next, &in, thread.Asked(in.Messages, core.ID{}))
}

// listingsOf are those of an input, which begins with asked, if next is the head of its thread
// with its run: none if the input went to the inbox of another run.
func (u *submission) listingsOf(next thread.Head, in *thread.Queued, asked string) ([]store.Record, error) {
	if _, ok := next.RunStatus(in.Run); !ok {
		return nil, nil
	}
	run, err := inputListing(u.s.records, next, in, asked)
	// The first version of a head is the write that makes the thread.
	listed := append(make([]store.Record, 0, 3), run) // the input comes before them
	if err != nil || next.Version > 1 {
		return listed, err
	}
	made, err := threadListing(u.s.records, next, in.AgentID, asked, in.Parent)
	return append(listed, made), err
}

// listing reads the listing of a run; the zero Listing if it has none that can be read.
func (r reader) listing(ctx context.Context, key core.ThreadKey, run core.ID) (thread.Listing, error) {
	record, ok, err := r.store.Get(ctx, key, recordname.Listing(run))
	if err != nil || !ok {
		return thread.Listing{}, err
	}
	l, err := r.records.DecodeListing(record.Payload)
	if err != nil { // of a newer program, or damaged: a listing only serves lists
		return thread.Listing{}, nil
	}
	return l, nil
}
