package dynamo

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// TestAnHourIsMarkedOnceWhileItLasts, and behind each record once it has passed: always
// between the record and the head. A mark that failed is set by the next.
func TestAnHourIsMarkedOnceWhileItLasts(t *testing.T) {
	const hour = 400_000
	w := &wire{t: t}
	now := time.UnixMilli(hour*time.Hour.Milliseconds() + 1000)
	s := New(testClient(t, w), Options{Now: func() time.Time { return now }})
	partition := regexp.MustCompile(`"pk":\{"S":"([A-Z])#`)
	version := uint64(0)
	commit := func(tenant string, hour int64, replies ...reply) string {
		t.Helper()
		if version++; replies == nil {
			replies = []reply{done, done, done}
		}
		w.replies, w.requests = replies, nil
		key := core.ThreadKey{Tenant: tenant, Thread: "t1"}
		_, _ = s.Commit(t.Context(), key, store.Commit{Head: testHead(version, 0), Usage: &store.Usage{Hour: hour, Record: store.Record{
			Name: "U#01000000-0000-0000-0000-000000000000#000000", Fence: 1, Version: version, Payload: []byte("used"),
		}}})
		var puts []string
		for _, r := range w.requests {
			puts = append(puts, partition.FindStringSubmatch(r.body)[1])
		}
		return strings.Join(puts, "")
	}
	for _, tt := range []struct {
		name string
		do   func() string
		want string
	}{
		{"the first of the hour, whose mark is refused", func() string { return commit("acme", hour, done, invalid) }, "UW"},
		{"the next", func() string { return commit("acme", hour) }, "UWT"},
		{"and the next", func() string { return commit("acme", hour, done, done) }, "UT"},
		{"another tenant's", func() string { return commit("other", hour) }, "UWT"},
		{"the first's again", func() string { return commit("acme", hour, done, done) }, "UT"},
		{"the hour before", func() string { return commit("acme", hour-1) }, "UWT"},
		{"the hour before, again", func() string { return commit("acme", hour-1) }, "UWT"},
		{"the hour, when it has passed", func() string { now = now.Add(time.Hour); return commit("acme", hour) }, "UWT"},
		{"the hour, again", func() string { return commit("acme", hour) }, "UWT"},
		{"the next hour", func() string { return commit("acme", hour+1) }, "UWT"},
		{"the next hour, again", func() string { return commit("acme", hour+1, done, done) }, "UT"},
	} {
		if diff := cmp.Diff(tt.want, tt.do()); diff != "" {
			t.Errorf("%s: partitions that were put into (-want +got):\n%s", tt.name, diff)
		}
	}
}
