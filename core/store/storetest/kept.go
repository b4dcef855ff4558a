package storetest

import (
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

var keptClauses = []clause{
	{"WhatIsAcknowledgedOutlivesTheProcess", whatIsAcknowledgedOutlivesTheProcess},
}

// whatIsAcknowledgedOutlivesTheProcess writes by every method, and reads by another
// backend on the same storage.
func whatIsAcknowledgedOutlivesTheProcess(p *probe) {
	if p.options.Reopen == nil {
		p.t.Skip("Options.Reopen is not set: the data does not outlive the process")
	}
	key, due, waits := p.key("t"), p.key("due"), p.key("waits")
	c := transition(1, 7, 1)
	alone := logRecord(9, 7)
	name := named("n", "k")
	p.commit(key, c)
	p.put(key, alone)
	p.set(due, dueHead(1, hour))
	p.set(waits, p.waitingHead(1, 5000))
	revision := p.writeProfile(p.tenant, name, `{"a":1}`, 0)
	p.putSnapshot(p.tenant, []byte("content"))
	p.put(key, listing("L#", "threads:ann", 5, 7, 1))

	p.b = p.options.Reopen(p.t, p.b)
	p.wantCommitted(key, c)
	p.wantRecord(key, alone)
	p.wantLog(key, 1, 9, 1, 9)
	p.wantRecords(key, "Q#", "", 10, c.Records[1].Name)
	p.wantDue(due, 2*hour, true)
	p.set(due, head(2, 2)) // due no more
	p.wantWaiting(p.tenant, nil, 10, store.Waiting{Thread: "waits", Since: 5000})
	p.wantListed(p.tenant, "threads:ann", nil, 10, "5 t L#")
	p.wantProfile(p.tenant, name, `{"a":1}`, revision)
	p.wantSnapshot(p.tenant, []byte("content"))
	p.commit(key, transition(2, 7, 2)) // and it continues from there
	p.wantHead(core.ThreadKey{Tenant: p.tenant, Thread: "t"}, transition(2, 7, 2).Head)
}
