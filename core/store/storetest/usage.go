package storetest

import (
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/store"
)

var usageClauses = []clause{
	{"UsageIsReadInOrder", usageIsReadInOrder},
	{"UsageIsRewrittenByFenceAndVersion", usageIsRewritten},
	{"UsageIsNoRecordOfAThread", usageIsNoRecordOfAThread},
	{"UsageOutlivesItsThread", usageOutlivesItsThread},
	{"UsageOfAPastHourMarksIt", usageMarksItsHour},
	{"UsageMarksAreListedInOrder", usageMarksAreListed},
	{"AnOlderSumOfUsageIsRefused", olderSumIsRefused},
	{"UsageTotalsAreReadInOrder", usageTotalsAreRead},
	{"UsageIsTheTenantsOwn", usageIsTheTenantsOwn},
	{"UsageIsChecked", usageIsChecked},
}

// pastHour is one that no clock of a test is in.
const pastHour = 400_000

func usageOf(hour int64, run byte, fence, version uint64, payload string) *store.Usage {
	return &store.Usage{Hour: hour, Record: store.Record{
		Name: recordname.Usage(core.ID{run}, 0), Fence: fence, Version: version, Payload: []byte(payload),
	}}
}

// metered commits the head of a version with a usage record.
func (p *probe) metered(key core.ThreadKey, version uint64, usage *store.Usage) {
	p.t.Helper()
	p.commit(key, store.Commit{Usage: usage, Head: head(version, 1)})
}

// usage reads the records of an hour in pages, as "run payload".
func (p *probe) usage(tenant string, hour int64, page int) (lines []string) {
	p.t.Helper()
	for after := ""; ; {
		records, err := p.b.UsageRecords(p.ctx, tenant, hour, after, page)
		if err != nil {
			p.t.Fatalf("UsageRecords(%s, %d): %v", tenant, hour, err)
		}
		if len(records) > page {
			p.t.Fatalf("UsageRecords returns %d records, the limit is %d", len(records), page)
		}
		for _, r := range records {
			lines = append(lines, fmt.Sprintf("%s %d %d %s", r.Name[2:4], r.Fence, r.Version, r.Payload))
		}
		if len(records) == 0 {
			return lines
		}
		after = records[len(records)-1].Name
	}
}

func (p *probe) wantUsage(hour int64, want ...string) {
	p.t.Helper()
	if diff := cmp.Diff(want, p.usage(p.tenant, hour, 100)); diff != "" {
		p.t.Errorf("usage of hour %d (-want +got):\n%s", hour, diff)
	}
}

func (p *probe) marks(tenant string) []store.UsageMark {
	p.t.Helper()
	marks, err := p.b.UsageMarks(p.ctx, store.UsageMark{Tenant: p.tenant}.Shard(), tenant, nil, 1000)
	if err != nil {
		p.t.Fatalf("UsageMarks(%s): %v", tenant, err)
	}
	return marks
}

// mark is the tenant's only one.
func (p *probe) mark(hour int64) store.UsageMark {
	p.t.Helper()
	marks := p.marks(p.tenant)
	if len(marks) != 1 || marks[0].Hour != hour || marks[0].Tenant != p.tenant {
		p.t.Fatalf("the marks are %+v, want one of hour %d", marks, hour)
	}
	return marks[0]
}

func (p *probe) sum(mark store.UsageMark, replaces uint64, payload string) error {
	return p.b.SumUsage(p.ctx, mark, store.UsageTotal{Hour: mark.Hour, Revision: replaces, Payload: []byte(payload)})
}

func (p *probe) total(hour int64) store.UsageTotal {
	p.t.Helper()
	totals, err := p.b.UsageTotals(p.ctx, p.tenant, hour, hour, 2)
	if err != nil || len(totals) != 1 {
		p.t.Fatalf("UsageTotals of hour %d returns %+v, %v, want one", hour, totals, err)
	}
	return totals[0]
}

func usageIsReadInOrder(p *probe) {
	for i, run := range []byte{3, 1, 2} {
		p.metered(p.key(fmt.Sprint("t", i)), 1, usageOf(pastHour, run, 1, 1, fmt.Sprint("used ", run)))
	}
	p.metered(p.key("t9"), 1, usageOf(pastHour+1, 1, 1, 1, "an hour later"))
	p.wantUsage(pastHour, "01 1 1 used 1", "02 1 1 used 2", "03 1 1 used 3")
	if diff := cmp.Diff([]string{"01 1 1 used 1", "02 1 1 used 2", "03 1 1 used 3"}, p.usage(p.tenant, pastHour, 1)); diff != "" {
		p.t.Errorf("one by one (-want +got):\n%s", diff)
	}
	p.wantUsage(pastHour+1, "01 1 1 an hour later")
	p.wantUsage(pastHour - 1)
}

// usageIsRewritten: the record of a commit whose head was refused is replaced by the worker
// that ends the stretch, and by no earlier one.
func usageIsRewritten(p *probe) {
	key := p.key("t")
	p.set(key, head(1, 1))
	out, err := p.b.Commit(p.ctx, key, store.Commit{Usage: usageOf(pastHour, 1, 2, 5, "orphan"), Head: head(5, 1)})
	if err != nil || out.Written {
		p.t.Fatalf("a Commit of a wrong version is %+v, %v", out, err)
	}
	p.metered(key, 2, usageOf(pastHour, 1, 3, 2, "of a higher fence"))
	p.wantUsage(pastHour, "01 3 2 of a higher fence")
	p.metered(key, 3, usageOf(pastHour, 1, 3, 3, "of a later version"))
	p.metered(key, 4, usageOf(pastHour, 1, 3, 3, "of a later version")) // the same again
	for _, tt := range []struct {
		name  string
		usage *store.Usage
		want  error
	}{
		{"other bytes at the same version", usageOf(pastHour, 1, 3, 3, "other"), store.ErrConflict},
		{"an earlier version", usageOf(pastHour, 1, 3, 2, "older"), store.ErrFenced},
		{"a lower fence", usageOf(pastHour, 1, 2, 9, "zombie"), store.ErrFenced},
	} {
		_, err := p.b.Commit(p.ctx, key, store.Commit{Usage: tt.usage, Head: head(5, 1)})
		if refused, ok := errors.AsType[*store.RefusedError](err); !ok || refused.Name != tt.usage.Name || !errors.Is(err, tt.want) {
			p.t.Errorf("%s: %v, want a RefusedError of %s with %v", tt.name, err, tt.usage.Name, tt.want)
		}
	}
	p.wantUsage(pastHour, "01 3 3 of a later version")
	p.wantHead(key, head(4, 1))
}

func usageIsNoRecordOfAThread(p *probe) {
	key := p.key("t")
	u := usageOf(pastHour, 1, 1, 1, "used")
	p.metered(key, 1, u)
	p.wantNoRecord(key, u.Name)
	p.wantRecords(key, "", "", 10)
	if err := p.b.Put(p.ctx, key, u.Record); core.CodeOf(err) != core.CodeInvalid {
		p.t.Errorf("Put of a usage record is %v, want code invalid", err)
	}
	if _, err := p.b.Commit(p.ctx, key, store.Commit{Records: []store.Record{u.Record}, Head: head(2, 1)}); core.CodeOf(err) != core.CodeInvalid {
		p.t.Errorf("Commit of a usage record among the thread's is %v, want code invalid", err)
	}
	if _, err := p.b.Commit(p.ctx, key, store.Commit{Usage: &store.Usage{Hour: pastHour, Record: logRecord(1, 1)}, Head: head(2, 1)}); core.CodeOf(err) != core.CodeInvalid {
		p.t.Errorf("Commit of a log record as usage is %v, want code invalid", err)
	}
}

func usageOutlivesItsThread(p *probe) {
	key := p.key("t")
	p.commit(key, store.Commit{Records: everyKind(), Usage: usageOf(pastHour, 1, 1, 1, "used"), Head: head(1, 1)})
	for n := 1; n > 0; n = p.erase(key, 100) {
	}
	p.wantUsage(pastHour, "01 1 1 used")
	p.mark(pastHour)
}

// usageMarksItsHour: a record that was put after the mark was listed leaves the mark, for
// every sum, or sets it again.
func usageMarksItsHour(p *probe) {
	p.metered(p.key("t"), 1, usageOf(pastHour, 1, 1, 1, "one"))
	first := p.mark(pastHour)
	p.metered(p.key("u"), 1, usageOf(pastHour, 2, 1, 1, "two"))
	second := p.mark(pastHour)
	if first.Revision == second.Revision {
		p.t.Errorf("the mark has revision %d before and after it was set again", first.Revision)
	}
	if err := p.sum(first, 0, "sum of one"); err != nil {
		p.t.Fatal(err)
	}
	if third := p.mark(pastHour); third != second { // else the second record would be in no sum
		p.t.Errorf("the mark is %+v after an earlier one was summed, want %+v", third, second)
	}
	if err := p.sum(second, p.total(pastHour).Revision, "sum of two"); err != nil {
		p.t.Fatal(err)
	}
	if marks := p.marks(p.tenant); len(marks) > 0 {
		p.t.Errorf("the marks %+v are left after the sum, want none", marks)
	}
	if got := p.total(pastHour); string(got.Payload) != "sum of two" {
		p.t.Errorf("the total is %q", got.Payload)
	}
	p.metered(p.key("u"), 2, usageOf(pastHour, 2, 1, 2, "two, rewritten"))
	late := p.mark(pastHour)
	if late.Revision == first.Revision || late.Revision == second.Revision {
		p.t.Errorf("a new mark has the revision %d of one that was removed", late.Revision)
	}
}

func usageMarksAreListed(p *probe) {
	var want []store.UsageMark
	for i, hour := range []int64{pastHour + 10, pastHour, pastHour + 9} {
		p.metered(p.key(fmt.Sprint("t", i)), 1, usageOf(hour, 1, 1, 1, "used"))
	}
	var last *store.UsageMark
	for {
		page, err := p.b.UsageMarks(p.ctx, store.UsageMark{Tenant: p.tenant}.Shard(), p.tenant, last, 1)
		if err != nil {
			p.t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		want, last = append(want, page...), &page[0]
	}
	var hours []int64
	for _, m := range want {
		hours = append(hours, m.Hour)
	}
	if diff := cmp.Diff([]int64{pastHour, pastHour + 9, pastHour + 10}, hours); diff != "" {
		p.t.Errorf("hours of the marks (-want +got):\n%s", diff)
	}
	var own []store.UsageMark
	for _, m := range p.marks("") {
		if m.Tenant == p.tenant {
			own = append(own, m)
		}
	}
	if diff := cmp.Diff(want, own); diff != "" {
		p.t.Errorf("marks of the shard (-one by one +all):\n%s", diff)
	}
	after := &store.UsageMark{Tenant: p.tenant, Hour: pastHour + 8}
	page, err := p.b.UsageMarks(p.ctx, store.UsageMark{Tenant: p.tenant}.Shard(), p.tenant, after, 10)
	if err != nil || len(page) != 2 || page[0].Hour != pastHour+9 {
		p.t.Errorf("marks after an hour without one: %+v, %v, want the two later ones", page, err)
	}
	for _, m := range want {
		if err := p.sum(m, 0, "sum"); err != nil {
			p.t.Fatal(err)
		}
	}
}

// olderSumIsRefused: of two that have read the same total one stores its sum.
func olderSumIsRefused(p *probe) {
	p.metered(p.key("t"), 1, usageOf(pastHour, 1, 1, 1, "one"))
	slow := p.mark(pastHour)
	p.metered(p.key("u"), 1, usageOf(pastHour, 2, 1, 1, "two"))
	if err := p.sum(p.mark(pastHour), 0, "one and two"); err != nil {
		p.t.Fatal(err)
	}
	if err := p.sum(slow, 0, "one"); !errors.Is(err, store.ErrConflict) {
		p.t.Errorf("a first sum where one is stored: %v, want ErrConflict", err)
	}
	first := p.total(pastHour)
	if err := p.sum(slow, first.Revision, "again"); err != nil {
		p.t.Fatal(err)
	}
	if err := p.sum(slow, first.Revision, "older"); !errors.Is(err, store.ErrConflict) {
		p.t.Errorf("a sum over a replaced one: %v, want ErrConflict", err)
	}
	if got := p.total(pastHour); string(got.Payload) != "again" {
		p.t.Errorf("the total is %q, want %q", got.Payload, "again")
	}
}

func usageTotalsAreRead(p *probe) {
	for _, hour := range []int64{pastHour + 2, pastHour, pastHour + 1} {
		if err := p.sum(store.UsageMark{Tenant: p.tenant, Hour: hour, Revision: 1}, 0, fmt.Sprint("sum ", hour)); err != nil {
			p.t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		from, to int64
		limit    int
		want     []string
	}{
		{pastHour, pastHour + 2, 10, []string{"sum 400000", "sum 400001", "sum 400002"}},
		{pastHour, pastHour + 2, 2, []string{"sum 400000", "sum 400001"}},
		{pastHour + 1, pastHour + 1, 10, []string{"sum 400001"}},
		{0, pastHour, 10, []string{"sum 400000"}},
		{pastHour + 3, pastHour + 9, 10, nil},
		{pastHour + 2, pastHour, 10, nil},
	} {
		totals, err := p.b.UsageTotals(p.ctx, p.tenant, tt.from, tt.to, tt.limit)
		if err != nil {
			p.t.Fatal(err)
		}
		var got []string
		for _, total := range totals {
			got = append(got, string(total.Payload))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			p.t.Errorf("totals %d..%d, at most %d (-want +got):\n%s", tt.from, tt.to, tt.limit, diff)
		}
	}
	if err := p.b.SumUsage(p.ctx, store.UsageMark{Tenant: p.tenant, Hour: pastHour + 5}, store.UsageTotal{Hour: pastHour + 5, Payload: []byte("gone"), Expires: 1}); err != nil {
		p.t.Fatal(err)
	}
	if totals, err := p.b.UsageTotals(p.ctx, p.tenant, pastHour+5, pastHour+5, 1); err != nil || p.expires() && len(totals) > 0 {
		p.t.Errorf("an expired total is %+v, %v", totals, err)
	}
}

// expires reports whether the backend drops what has expired. The one in memory does
// not.
func (p *probe) expires() bool {
	key := p.key("expiry")
	p.put(key, store.Record{Name: "Q#9#0", Payload: []byte("gone"), Expires: 1})
	_, ok, err := p.b.Get(p.ctx, key, "Q#9#0")
	return err == nil && !ok
}

func usageIsTheTenantsOwn(p *probe) {
	other := core.ThreadKey{Tenant: p.tenant + ".2", Thread: "t"}
	p.metered(p.key("t"), 1, usageOf(pastHour, 1, 1, 1, "mine"))
	p.metered(other, 1, usageOf(pastHour, 1, 1, 1, "theirs"))
	p.wantUsage(pastHour, "01 1 1 mine")
	if diff := cmp.Diff([]string{"01 1 1 theirs"}, p.usage(other.Tenant, pastHour, 10)); diff != "" {
		p.t.Errorf("usage of %s (-want +got):\n%s", other.Tenant, diff)
	}
	if err := p.sum(p.mark(pastHour), 0, "mine"); err != nil {
		p.t.Fatal(err)
	}
	if totals, err := p.b.UsageTotals(p.ctx, other.Tenant, 0, pastHour*2, 10); err != nil || len(totals) > 0 {
		p.t.Errorf("%s has the totals %+v, %v", other.Tenant, totals, err)
	}
	marks, err := p.b.UsageMarks(p.ctx, store.UsageMark{Tenant: other.Tenant}.Shard(), other.Tenant, nil, 10)
	if err != nil || len(marks) != 1 {
		p.t.Errorf("%s has the marks %+v, %v, want one", other.Tenant, marks, err)
	}
}

func usageIsChecked(p *probe) {
	const bad = "a#b"
	shard := store.UsageMark{Tenant: p.tenant}.Shard()
	for name, err := range map[string]error{
		"records of a bad tenant": func() error { _, err := p.b.UsageRecords(p.ctx, bad, pastHour, "", 1); return err }(),
		"marks of a bad tenant":   func() error { _, err := p.b.UsageMarks(p.ctx, shard, bad, nil, 1); return err }(),
		"marks of no shard":       func() error { _, err := p.b.UsageMarks(p.ctx, 16, "", nil, 1); return err }(),
		"marks of a wrong shard":  func() error { _, err := p.b.UsageMarks(p.ctx, (shard+1)%16, p.tenant, nil, 1); return err }(),
		"totals of a bad tenant":  func() error { _, err := p.b.UsageTotals(p.ctx, bad, 1, 2, 1); return err }(),
		"a sum of a bad tenant":   p.sum(store.UsageMark{Tenant: bad, Hour: pastHour}, 0, ""),
		"a sum of another hour":   p.b.SumUsage(p.ctx, store.UsageMark{Tenant: p.tenant, Hour: 1}, store.UsageTotal{Hour: 2}),
	} {
		if core.CodeOf(err) != core.CodeInvalid {
			p.t.Errorf("%s: %v, want code invalid", name, err)
		}
	}
}
