package live_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// Two builds share a mark: its form stays, what another build adds is passed over, and what
// a build cannot read is an error, for which no step and no stream ends.
func TestTwoBuildsShareAMark(t *testing.T) {
	const form = `{"schema":1,"run":"01000000-0000-0000-0000-000000000000","until":1767225600001`
	mark := live.Mark{Run: core.ID{1}, Until: 1_767_225_600_001}
	got, err := mark.Record(thread.Records{}, thread.Head{Fence: 3, Version: 7})
	want := store.Record{Name: "F#", Fence: 3, Version: 7, Payload: []byte(form + "}"), Expires: 1_767_225_601}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	s := memory.New()
	key := core.ThreadKey{Tenant: "t", Thread: "t1"}
	find := func(payload string) (live.Mark, error) {
		t.Helper()
		want.Fence++
		want.Payload = []byte(payload)
		if err := s.Put(t.Context(), key, want); err != nil {
			t.Fatal(err)
		}
		return live.FindMark(t.Context(), s, thread.Records{}, key)
	}
	if found, err := find(form + `,"mood":"calm"}`); err != nil || found != mark {
		t.Errorf("with another build's field: %+v, %v", found, err)
	}
	if found, err := find(`{"schema":3,"run":"` + mark.Run.String() + `","until":1767225600001}`); found != (live.Mark{}) || !errors.Is(err, thread.ErrSchema) {
		t.Errorf("of a newer schema: %+v, %v", found, err)
	}
	if found, err := find(`{"schema":1,"until":"soon"}`); found != (live.Mark{}) || core.CodeOf(err) != core.CodeCorrupt {
		t.Errorf("what is no mark: %+v, %v", found, err)
	}
}
