package host_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// A listing of an older program says neither how the input begins nor whose it was: then
// the run's own records do. What this program has listed excludes a run without them.
func TestRunsThatAnOlderProgramHasListed(t *testing.T) {
	m := newMade(t)
	m.says("a1", "b2")
	m.listing('a', thread.Listing{List: recordname.RunsList(""), At: 5, AgentID: "demo"})
	m.listing('b', thread.Listing{List: recordname.RunsList(""), At: 6, AgentID: "demo", Asked: "y"})
	way := newWay(m.store)
	m.process(m.run('a', 1, func(r *thread.RunRecord) { r.Origin, r.CreatedAt = core.OriginInternal, 5 }), m.run('b', 2, func(r *thread.RunRecord) { r.CreatedAt = 6 }))
	p := newRig(t).process("w", way)
	names := map[core.ID]string{idOf('a', 0): "a", idOf('b', 0): "b"}
	for name, test := range map[string]struct {
		q     host.RunQuery
		want  []string
		reads counts
	}{
		"internal":      {host.RunQuery{Origin: new(core.OriginInternal)}, []string{"a"}, counts{"head": 1, "get": 2, "listed": 1, "log": 1, "record": 1}},
		"of users":      {host.RunQuery{Origin: new(core.OriginUser)}, []string{"b"}, counts{"head": 1, "get": 3, "listed": 1, "log": 1, "record": 1}},
		"by its text":   {host.RunQuery{Text: "xx"}, []string{"a"}, counts{"head": 1, "get": 2, "listed": 1, "log": 1, "record": 1}},
		"later":         {host.RunQuery{Since: 6}, []string{"b"}, counts{"head": 1, "get": 2, "listed": 1}},
		"of no program": {host.RunQuery{Agent: "other"}, nil, counts{"listed": 1}},
	} {
		way.counts()
		page, err := p.Runs(t.Context(), local, test.q)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, run := range page.Items {
			got = append(got, names[run.ID])
			if want := map[string]int{"a": 199, "b": 1}[names[run.ID]]; len([]rune(run.Asked)) > want || run.Asked == "" {
				t.Errorf("%s: run %s has asked %q", name, names[run.ID], run.Asked)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		wantCounts(t, name, way, test.reads)
	}
}
