package storetest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

var listedClauses = []clause{
	{"PutOfAListedRecord", putOfAListedRecord},
	{"ListedRecordWithoutAPlaceIsInvalid", listedRecordWithoutAPlaceIsInvalid},
	{"NewestIsListedFirst", newestIsListedFirst},
	{"RecordIsListedWhereItSays", recordIsListedWhereItSays},
	{"ListsArePaged", listsArePaged},
	{"ListsAreNamed", listsAreNamed},
	{"RecordsAreListedBackwards", recordsAreListedBackwards},
}

// listing is a record of a list, at a fence and version.
func listing(name, list string, at int64, fence, version uint64) store.Record {
	payload := fmt.Sprintf(`{"schema":1,"list":%q,"at":%d,"agent_id":"a%d.%d"}`, list, at, fence, version)
	return store.Record{Name: name, Fence: fence, Version: version, Payload: []byte(payload)}
}

// putOfAListedRecord: the newest by fence and version remains, and an older one is not an
// error: its writer has done nothing wrong, and no reader misses it.
func putOfAListedRecord(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	at := func(fence, version uint64) store.Record { return listing("L#", "threads:ann", 5, fence, version) }
	steps := []struct{ put, want store.Record }{
		{at(0, 1), at(0, 1)},
		{at(2, 7), at(2, 7)},
		{at(2, 6), at(2, 7)}, // older by version
		{at(1, 9), at(2, 7)}, // older by fence
		{at(2, 8), at(2, 8)},
		{at(3, 1), at(3, 1)},
	}
	for _, s := range steps {
		p.put(key, s.put)
		p.wantRecord(key, s.want)
	}
	again := at(3, 1)
	again.Payload = []byte(`{"list":"threads:ann","at":6}`) // other bytes at the same place replace it
	p.put(key, again)
	p.wantRecord(key, again)
	p.commit(key, store.Commit{Records: []store.Record{at(2, 2)}, Head: head(2, 2)}) // nor does it refuse a head
	p.wantRecord(key, again)
	p.wantListed(p.tenant, "threads:ann", nil, 10, "6 t L#")
}

func listedRecordWithoutAPlaceIsInvalid(p *probe) {
	key := p.key("t")
	for _, payload := range []string{``, `[]`, `{"at":1}`, `{"list":"ann","at":1}`, `{"list":"threads:a#b","at":1}`, `{"list":"threads:ann","at":-1}`, `{"list":"threads:ann","at":"1"}`} {
		err := p.b.Put(p.ctx, key, store.Record{Name: "L#", Payload: []byte(payload)})
		if core.CodeOf(err) != core.CodeInvalid {
			p.t.Errorf("Put of L# with the payload %q returns %v, want an error of code invalid", payload, err)
		}
	}
	p.wantNoRecord(key, "L#")
}

func newestIsListedFirst(p *probe) {
	for _, r := range []struct {
		thread, name string
		at           int64
	}{{"b", "L#", 9}, {"c", "L#", 10}, {"a", "L#", 200}, {"aa", "L#", 200}, {"b:1", "L#", 200}, {"d", "L#", 1_700_000_000_000}, {"a", "L#run", 200}, {"e", "L#", 0}} {
		p.set(p.key(r.thread+r.name[2:]), head(1, 1))
		p.put(p.key(r.thread), listing(r.name, "runs:", r.at, 1, 1))
	}
	all := []string{"1700000000000 d L#", "200 b:1 L#", "200 aa L#", "200 a L#run", "200 a L#", "10 c L#", "9 b L#", "0 e L#"}
	p.wantListed(p.tenant, "runs:", nil, 100, all...)
	p.wantListed(p.tenant, "runs:", nil, 8, all...)
	p.wantListed(p.tenant, "runs:", nil, 3, all[:3]...)
	p.wantListed(p.tenant, "runs:", nil, 0)
	p.wantListed(p.tenant, "runs:", nil, -1)
	p.wantListed(p.tenant, "runs:", &store.Place{At: 200, Thread: "b:1", Name: "L#"}, 2, all[2:4]...)
	p.wantListed(p.tenant, "runs:", &store.Place{At: 200, Thread: "ab", Name: "L#"}, 1, "200 aa L#") // is not there
	p.wantListed(p.tenant, "runs:", &store.Place{At: 8, Thread: "z", Name: "L#"}, 10, "0 e L#")
	p.wantListed(p.tenant, "runs:", &store.Place{At: 0, Thread: "e", Name: "L#"}, 10)
	// A time alone comes before every entry of that time.
	p.wantListed(p.tenant, "runs:", &store.Place{At: 200}, 2, all[5:7]...)
	p.wantListed(p.tenant, "runs:", &store.Place{At: 201}, 1, all[1])
	p.wantListed(p.tenant, "runs:", &store.Place{}, 10)
}

// recordIsListedWhereItSays: in its list and its tenant alone, and there no more when it
// has moved or was erased.
func recordIsListedWhereItSays(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	p.wantListed(p.tenant, "threads:ann", nil, 10)
	p.put(key, listing("L#", "threads:ann", 5, 1, 1))
	p.put(key, listing("L#run", "runs:ann", 6, 1, 1))
	other := core.ThreadKey{Tenant: p.tenant + ".x", Thread: "t"}
	p.put(other, listing("L#", "threads:ann", 7, 1, 1))
	p.set(other, head(1, 1))
	p.wantListed(p.tenant, "threads:ann", nil, 10, "5 t L#")
	p.wantListed(p.tenant, "runs:ann", nil, 10, "6 t L#run")
	p.wantListed(p.tenant, "threads:an", nil, 10)
	p.wantListed(p.tenant, "threads:", nil, 10)
	p.wantListed(other.Tenant, "threads:ann", nil, 10, "7 t L#")
	p.wantListed(p.tenant+".", "threads:ann", nil, 10)

	p.put(key, listing("L#", "threads:ann", 9, 1, 2))
	p.wantListed(p.tenant, "threads:ann", nil, 10, "9 t L#")
	p.put(key, listing("L#", "children:t0", 9, 1, 3))
	p.wantListed(p.tenant, "threads:ann", nil, 10)
	p.wantListed(p.tenant, "children:t0", nil, 10, "9 t L#")
	if _, err := p.b.Erase(p.ctx, key, 10); err != nil {
		p.t.Fatalf("Erase(%s): %v", key, err)
	}
	p.wantListed(p.tenant, "children:t0", nil, 10)
	p.wantListed(p.tenant, "runs:ann", nil, 10)
	p.wantListed(other.Tenant, "threads:ann", nil, 10, "7 t L#")
}

// listsArePaged continues after a record that has moved between two pages.
func listsArePaged(p *probe) {
	const threads, page = 25, 10
	want := make([]string, threads)
	for i := range threads {
		name := fmt.Sprintf("t%02d", i)
		p.set(p.key(name), head(1, 1))
		p.put(p.key(name), listing("L#", "threads:ann", int64(1+i/3), 1, 1))
		want[threads-1-i] = fmt.Sprintf("%d %s L#", 1+i/3, name)
	}
	p.wantListed(p.tenant, "threads:ann", nil, threads, want...)
	var before *store.Place
	var got []string
	for {
		all, err := p.b.Listed(p.ctx, p.tenant, "threads:ann", before, page)
		if err != nil {
			p.t.Fatalf("Listed(%s, before %v): %v", p.tenant, before, err)
		}
		got = append(got, placesOf(all)...)
		if len(all) < page {
			break
		}
		before = &all[len(all)-1].Place
		p.put(p.key(before.Thread), listing("L#", "threads:ann", 1000, 1, 2))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("pages of %d records, each after the last record of the previous page, which has moved by then (-want +got):\n%s", page, diff)
	}
}

func listsAreNamed(p *probe) {
	for _, bad := range []struct{ tenant, list string }{{p.tenant, ""}, {p.tenant, "threads"}, {p.tenant, "threads:a b"}, {p.tenant, ":ann"}, {"a#b", "threads:ann"}, {"", "threads:ann"}} {
		if all, err := p.b.Listed(p.ctx, bad.tenant, bad.list, nil, 10); core.CodeOf(err) != core.CodeInvalid {
			p.t.Errorf("Listed(%q, %q) returns %d records and the error %v, want one of code invalid", bad.tenant, bad.list, len(all), err)
		}
	}
}

func recordsAreListedBackwards(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	for _, name := range []string{"R#b", "M#000000000002", "R#a", "Q#1", "R#ab", "S#a", "M#000000000001", "R#c"} {
		p.put(key, store.Record{Name: name, Payload: []byte(name)})
	}
	p.put(p.key("t2"), store.Record{Name: "R#a2", Payload: []byte("a")})
	p.wantRecordsBackwards(key, "R#", "", 10, "R#c", "R#b", "R#ab", "R#a")
	p.wantRecordsBackwards(key, "R#", "", 2, "R#c", "R#b")
	p.wantRecordsBackwards(key, "R#", "R#b", 10, "R#ab", "R#a") // before is not listed itself
	p.wantRecordsBackwards(key, "R#", "R#az", 1, "R#ab")        // and need not exist
	p.wantRecordsBackwards(key, "R#", "R#a", 10)
	p.wantRecordsBackwards(key, "R#", "Z", 2, "R#c", "R#b")
	p.wantRecordsBackwards(key, "R#", "A", 2)
	p.wantRecordsBackwards(key, "R#a", "", 10, "R#ab", "R#a")
	p.wantRecordsBackwards(key, "T#", "", 10)
	p.wantRecordsBackwards(key, "R#", "", 0)
	p.wantRecordsBackwards(key, "R#", "", -1)
	p.wantRecordsBackwards(p.key("never-written"), "R#", "", 10)
}

func (p *probe) wantRecordsBackwards(key core.ThreadKey, prefix, before string, limit int, want ...string) {
	p.t.Helper()
	p.eventually(func() error {
		got, err := p.b.RecordsBackwards(p.ctx, key, prefix, before, limit)
		if err != nil {
			return fmt.Errorf("RecordsBackwards(%s, prefix %q): %w", key, prefix, err)
		}
		if diff := cmp.Diff(append([]string{}, want...), append([]string{}, names(got)...)); diff != "" {
			return fmt.Errorf("RecordsBackwards(%s, prefix %q, before %q, limit %d) (-want +got):\n%s", key, prefix, before, limit, diff)
		}
		return nil
	})
}

// placesOf returns the places of listed records: time, thread, name. The payload must
// agree.
func placesOf(all []store.Listed) []string {
	places := []string{}
	for _, l := range all {
		_, in, err := store.Record{Name: l.Name, Payload: l.Payload}.Place(l.Thread)
		place := fmt.Sprintf("%d %s %s", l.At, l.Thread, l.Name)
		if err != nil || in.At != l.At {
			place += fmt.Sprintf(", and its payload says %s", l.Payload)
		}
		places = append(places, place)
	}
	return places
}

func (p *probe) wantListed(tenant, list string, before *store.Place, limit int, want ...string) {
	p.t.Helper()
	p.eventually(func() error {
		got, err := p.b.Listed(p.ctx, tenant, list, before, limit)
		if err != nil {
			return fmt.Errorf("Listed(%s, %s, before %v, limit %d): %w", tenant, list, before, limit, err)
		}
		if diff := cmp.Diff(append([]string{}, want...), placesOf(got)); diff != "" {
			return fmt.Errorf("Listed(%s, %s, before %v, limit %d) (-want +got):\n%s", tenant, list, before, limit, diff)
		}
		return nil
	})
}
