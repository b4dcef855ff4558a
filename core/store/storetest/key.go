package storetest

import (
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/store"
)

var keyClauses = []clause{
	{"IDsAtTheirLimits", idsAtTheirLimits},
	{"KeysThatFailCheckAreInvalid", keysThatFailCheckAreInvalid},
	{"ThreadsNeverMeet", threadsNeverMeet},
}

// allowed is every character that core.CheckName lets into an id.
const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:-"

func idsAtTheirLimits(p *probe) {
	longest := func(start string) string {
		return (start + strings.Repeat(allowed, 2))[:wire.MaxName]
	}
	keys := []core.ThreadKey{
		{Tenant: longest(p.tenant), Thread: longest("")},
		{Tenant: longest(p.tenant), Thread: "x"},
		{Tenant: p.tenant, Thread: "..."},
		{Tenant: p.tenant, Thread: ".x"},
		{Tenant: p.tenant, Thread: longest(":")},
	}
	for i, key := range keys {
		at := int64(i+1) * 3_600_000
		h := dueHead(1, at)
		record := store.Record{Name: recordname.Part(core.ID{1}, 999_999_999_999, 31, longest(":")), Payload: []byte{byte(i)}}
		p.setDue(key, h)
		p.put(key, record)
		p.wantHead(key, h)
		p.wantRecord(key, record)
		p.wantRecords(key, "C#", "", 10, record.Name)
		p.wantDue(key, at, true)
		p.point(key.Tenant, longest(key.Thread), record.Payload)
		p.wantPointer(key.Tenant, longest(key.Thread), record.Payload)
	}
}

func keysThatFailCheckAreInvalid(p *probe) {
	keys := []core.ThreadKey{
		{},
		{Tenant: p.tenant},
		{Thread: "t"},
		{Tenant: p.tenant, Thread: "t#M"},
		{Tenant: p.tenant + "#t", Thread: "t"},
		{Tenant: p.tenant, Thread: "t\x00M"},
		{Tenant: p.tenant, Thread: "a/b"},
		{Tenant: p.tenant, Thread: "."},
		{Tenant: p.tenant, Thread: ".."},
		{Tenant: p.tenant, Thread: strings.Repeat("x", wire.MaxName+1)},
	}
	for _, key := range keys {
		_, headErr := p.b.Head(p.ctx, key)
		_, commitErr := p.b.Commit(p.ctx, key, store.Commit{Head: head(1, 1)})
		_, _, getErr := p.b.Get(p.ctx, key, store.LogName(1))
		_, listErr := p.b.Records(p.ctx, key, "", "", 1)
		p.wantInvalid("Head", key, headErr)
		p.wantInvalid("Commit", key, commitErr)
		p.wantInvalid("Put", key, p.b.Put(p.ctx, key, logRecord(1, 1)))
		p.wantInvalid("Get", key, getErr)
		p.wantInvalid("Log", key, firstError(p.b.Log(p.ctx, key, 1, 1)))
		p.wantInvalid("LogBackwards", key, firstError(p.b.LogBackwards(p.ctx, key, 1, 1)))
		p.wantInvalid("Records", key, listErr)
	}
	_, _, getErr := p.b.Pointer(p.ctx, "a#b", "n")
	p.wantInvalid("Pointer", core.ThreadKey{Tenant: "a#b"}, getErr)
	for _, tenant := range []string{"", "a#b", "a/b", "a\x00b", ".", strings.Repeat("x", wire.MaxName+1)} {
		_, waitingErr := p.b.Waiting(p.ctx, tenant, nil, 1)
		p.wantInvalid("Waiting", core.ThreadKey{Tenant: tenant}, waitingErr)
	}
	for _, shard := range []int{-1, store.Shards} {
		if _, err := p.b.Overdue(p.ctx, shard, 1, nil, 1); core.CodeOf(err) != core.CodeInvalid {
			p.t.Errorf("Overdue of shard %d returns the error %v, want code %q", shard, err, core.CodeInvalid)
		}
	}
}

func (p *probe) wantInvalid(method string, key core.ThreadKey, err error) {
	p.t.Helper()
	if core.CodeOf(err) != core.CodeInvalid {
		p.t.Errorf("%s of the key %q returns the error %v, want code %q: a separator in an id would reach another partition",
			method, key.String(), err, core.CodeInvalid)
	}
}

// threadsNeverMeet writes to one thread and finds nothing in its neighbour,
// whose key is the same text when a separator is badly chosen.
func threadsNeverMeet(p *probe) {
	base := p.tenant
	tests := []struct{ name, tenantA, threadA, tenantB, threadB string }{
		{"colon", ".a", "b:c", ".a:b", "c"},
		{"dot", ".d", "b.c", ".d.b", "c"},
		{"dash", ".e", "b-c", ".e-b", "c"},
		{"underscore", ".f", "b_c", ".f_b", "c"},
		{"case of the tenant", ".g", "c", ".G", "c"},
		{"case of the thread", ".h", "c", ".h", "C"},
		{"prefix", ".i", "c", ".i", "cc"},
		{"prefix the other way", ".j", "cc", ".j", "c"},
		{"parts swapped", ".k", base + ".k2", ".k2", base + ".k"},
		{"record name in the thread", ".l", "M", ".l", "M:000000000001"},
	}
	for _, tt := range tests {
		a := core.ThreadKey{Tenant: base + tt.tenantA, Thread: tt.threadA}
		b := core.ThreadKey{Tenant: base + tt.tenantB, Thread: tt.threadB}
		p.set(a, head(1, 1))
		p.put(a, logRecord(1, 9))
		p.point(a.Tenant, tt.threadA, []byte("a"))

		if got := p.head(b); got.Exists() {
			p.t.Errorf("%s: Head(%s) shows the head of %s", tt.name, b, a)
		}
		p.wantNoRecord(b, store.LogName(1))
		p.wantLog(b, 0, 100)
		p.wantRecords(b, "", "", 100)
		if a.Tenant != b.Tenant {
			p.wantNoPointer(b.Tenant, tt.threadA)
		}
		p.wantNoPointer(b.Tenant, tt.threadB)

		p.put(b, logRecord(1, 1)) // fence 9 of the neighbour does not count
		p.set(b, head(1, 2))
		p.wantRecord(a, logRecord(1, 9))
		p.wantHead(a, head(1, 1))
	}
	p.wantHead(core.ThreadKey{Tenant: base, Thread: "a"}, thread.Head{})
}
