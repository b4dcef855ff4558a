package storetest

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

var listClauses = []clause{
	{"RecordsAreListedInOrderOfName", recordsAreListedInOrderOfName},
	{"RecordsArePaged", recordsArePaged},
	{"RecordsAreListedWhole", recordsAreListedWhole},
}

func recordsAreListedInOrderOfName(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	for _, name := range []string{"R#b", "M#000000000002", "R#a", "Q#1", "R#ab", "S#a", "M#000000000001", "R#c"} {
		p.put(key, store.Record{Name: name, Payload: []byte(name)})
	}
	p.put(p.key("t2"), store.Record{Name: "R#a2", Payload: []byte("a")})

	p.wantRecords(key, "R#", "", 10, "R#a", "R#ab", "R#b", "R#c")
	p.wantRecords(key, "R#", "", 2, "R#a", "R#ab")
	p.wantRecords(key, "R#", "R#ab", 10, "R#b", "R#c")         // after is not listed itself
	p.wantRecords(key, "R#", "R#aa", 10, "R#ab", "R#b", "R#c") // and need not exist
	p.wantRecords(key, "R#", "R#c", 10)
	p.wantRecords(key, "R#", "Z", 10)
	p.wantRecords(key, "R#", "A", 2, "R#a", "R#ab")
	p.wantRecords(key, "R#a", "", 10, "R#a", "R#ab")
	p.wantRecords(key, "R#a", "R#a", 10, "R#ab")
	p.wantRecords(key, "R", "R#b", 1, "R#c")
	p.wantRecords(key, "T#", "", 10)
	p.wantRecords(key, "R#", "", 0)
	p.wantRecords(key, "R#", "", -1)
	p.wantRecords(key, "", "", 10, "M#000000000001", "M#000000000002", "Q#1", "R#a", "R#ab", "R#b", "R#c", "S#a") // not the head
	p.wantRecords(key, "", "Q#1", 2, "R#a", "R#ab")
	p.wantRecords(p.key("never-written"), "", "", 10)
}

func recordsArePaged(p *probe) {
	key := p.key("t")
	want := []string{}
	for i := range 25 {
		name := fmt.Sprintf("R#%02d", i)
		p.put(key, store.Record{Name: name, Payload: []byte("a")})
		want = append(want, name)
	}
	p.eventually(func() error {
		got := []string{}
		for after := ""; ; {
			page, err := p.b.Records(p.ctx, key, "R#", after, 10)
			if err != nil {
				return fmt.Errorf("Records(%s, after %q): %w", key, after, err)
			}
			got = append(got, names(page)...)
			if len(page) < 10 {
				break
			}
			after = page[len(page)-1].Name
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("pages of 10 records, each after the last name of the one before (-want +got):\n%s", diff)
		}
		return nil
	})
}

func recordsAreListedWhole(p *probe) {
	key := p.key("t")
	want := []store.Record{
		{Name: "R#1", Fence: 7, Version: 9, Payload: []byte("a")},
		{Name: "R#2", Fence: 8, Version: 1, Payload: noise(largePayload), Expires: 4_102_444_800},
		{Name: "R#3", Fence: 1},
	}
	for _, record := range want {
		p.put(key, record)
	}
	p.eventually(func() error {
		got, err := p.b.Records(p.ctx, key, "R#", "", 10)
		if err != nil {
			return fmt.Errorf("Records(%s): %w", key, err)
		}
		if diff := diffRecords(want, got); diff != "" {
			return fmt.Errorf("Records(%s) (-want +got):\n%s", key, diff)
		}
		return nil
	})
}

func (p *probe) wantRecords(key core.ThreadKey, prefix, after string, limit int, want ...string) {
	p.t.Helper()
	if want == nil {
		want = []string{}
	}
	p.eventually(func() error {
		got, err := p.b.Records(p.ctx, key, prefix, after, limit)
		if err != nil {
			return fmt.Errorf("Records(%s, prefix %q): %w", key, prefix, err)
		}
		if diff := cmp.Diff(want, names(got)); diff != "" {
			return fmt.Errorf("Records(%s, prefix %q, after %q, limit %d) (-want +got):\n%s", key, prefix, after, limit, diff)
		}
		return nil
	})
}
