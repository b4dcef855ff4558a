package sim

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// checkListed: who reads a head knows whether it understands the input that the
// head lists.
func (th *threadState) checkListed(a, b *thread.Head) {
	for _, d := range b.Unopened() {
		if d.Revision > 0 {
			th.inputs.edited[recordname.Input(d.ID, d.Revision)] = true
		}
	}
	if !th.w.config.Programs.Mixed {
		return
	}
	check := func(id core.ID, revision uint32) {
		if was, ok := a.Queues(id); ok && was == revision {
			return
		}
		r, ok := th.p.record(recordname.Input(id, revision))
		if !ok {
			th.fail("input %s is listed and not stored", id)
			return
		}
		if schema, err := th.w.checks.Schema(r.Payload); err != nil || schema > b.Schema {
			th.fail("input %s of schema %d is listed by a head of schema %d (%v)", id, schema, b.Schema, err)
		}
	}
	for _, d := range b.Unopened() {
		check(d.ID, d.Revision)
		for _, e := range d.Rest {
			check(e.ID, e.Revision)
		}
	}
	for _, e := range b.Inbox {
		check(e.ID, e.Revision)
	}
}
