package storetest

import (
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

var stopClauses = []clause{
	{"AStoppedCommitIsNeverHalfVisible", aStoppedCommitIsNeverHalfVisible},
	{"AStoppedCommitIsRepeated", aStoppedCommitIsRepeated},
	{"AStoppedCommitBlocksNobody", aStoppedCommitBlocksNobody},
}

// stopped calls check with a thread whose second Commit was stopped after each
// number of its writes.
func (p *probe) stopped(check func(key core.ThreadKey, c store.Commit, writes int)) {
	p.t.Helper()
	if p.options.Stop == nil {
		p.t.Skip("Options.Stop is not set: Commit is one transaction")
	}
	for writes := range 6 { // of two pointers, three records and a head
		c := transition(2, 7, 2)
		key := p.key(fmt.Sprint("t", writes))
		for i := range c.Pointers {
			c.Pointers[i].Name += key.Thread // pointers are the tenant's
		}
		first := transition(1, 7, 1)
		first.Pointers = nil
		p.commit(key, first)
		got, err := p.b.Commit(p.options.Stop(p.ctx, writes), key, c)
		if err == nil {
			p.t.Fatalf("a Commit that is stopped after %d of its 6 writes returns %+v and no error: Options.Stop has no effect", writes, got)
		}
		check(key, c, writes)
	}
}

func aStoppedCommitIsNeverHalfVisible(p *probe) {
	p.stopped(func(key core.ThreadKey, c store.Commit, writes int) {
		first := transition(1, 7, 1)
		p.wantHead(key, first.Head) // the head is the last of the writes
		p.wantLog(key, 1, 1, 1)
		p.wantRecord(key, first.Records[0])
		pointers, records := p.storedOf(key, c)
		if records > 0 && pointers < len(c.Pointers) {
			p.t.Errorf("stopped after %d writes: %d records are stored, but only %d of %d pointers, one of which may be taken", writes, records, pointers, len(c.Pointers))
		}
		if pointers+records > writes {
			p.t.Errorf("stopped after %d writes: %d pointers and %d records are stored; Options.Stop must end the call", writes, pointers, records)
		}
	})
}

// storedOf counts the stored parts of a Commit, without its head.
func (p *probe) storedOf(key core.ThreadKey, c store.Commit) (pointers, records int) {
	p.t.Helper()
	for _, pointer := range c.Pointers {
		_, ok, err := p.b.Pointer(p.ctx, key.Tenant, pointer.Name)
		if err != nil {
			p.t.Fatalf("Pointer(%s): %v", pointer.Name, err)
		}
		if ok {
			pointers++
		}
	}
	for _, record := range c.Records {
		got, _, err := p.b.Get(p.ctx, key, record.Name)
		if err != nil {
			p.t.Fatalf("Get(%s, %s): %v", key, record.Name, err)
		}
		if string(got.Payload) == string(record.Payload) {
			records++
		}
	}
	return pointers, records
}

// aStoppedCommitIsRepeated: the same Commit again completes a stopped one, and a third one
// meets itself.
func aStoppedCommitIsRepeated(p *probe) {
	p.stopped(func(key core.ThreadKey, c store.Commit, writes int) {
		p.commit(key, c)
		p.wantCommitted(key, c)
		got, err := p.b.Commit(p.ctx, key, c)
		if diff := cmp.Diff(store.Outcome{Head: c.Head}, got); err != nil || diff != "" {
			p.t.Errorf("stopped after %d writes and repeated twice: returns the error %v, want its own head (-want +got):\n%s", writes, err, diff)
		}
	})
}

// aStoppedCommitBlocksNobody: a later claim commits other bytes over the abandoned ones,
// and the first worker, back from its pause, is refused.
func aStoppedCommitBlocksNobody(p *probe) {
	p.stopped(func(key core.ThreadKey, c store.Commit, writes int) {
		later := transition(2, 8, 3)
		later.Pointers = c.Pointers // of the same run
		p.commit(key, later)
		p.wantCommitted(key, later)

		got, err := p.b.Commit(p.ctx, key, c)
		if !errors.Is(err, store.ErrFenced) || got.Written {
			p.t.Errorf("stopped after %d writes: the same Commit after a later claim's returns %+v, %v, want ErrFenced", writes, got, err)
		}
		p.wantCommitted(key, later)
	})
}
