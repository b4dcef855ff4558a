package mailbox_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

// A queued run is shown with what its input says; without the input, which is
// stored for a limited time, it is still a run.
func TestQueuedRunIsReadFromItsInput(t *testing.T) {
	unreadable := errors.New("read timed out")
	tests := []struct {
		name    string
		arrange func(w *world, input string)
		agent   string
		err     error
		ok      bool
	}{
		{"as submitted", func(*world, string) {}, "demo", nil, true},
		{"the input is gone", func(w *world, input string) { w.store.lost = map[string]bool{input: true} }, "", nil, true},
		{"the input cannot be read", func(w *world, input string) { w.store.failures = map[string]error{input: unreadable} }, "", unreadable, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			receipt := w.submit(t, input("one", ""))
			head, err := w.Head(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			tt.arrange(w, store.InputName(receipt.DispatchID, 0))
			got, ok, err := w.Run(t.Context(), key, head, receipt.RunID, receipt.DispatchID)
			if ok != tt.ok || !errors.Is(err, tt.err) {
				t.Fatalf("run %+v, %v, %v; want %v, %v", got, ok, err, tt.ok, tt.err)
			}
			if !ok {
				return
			}
			if got.CreatedAt == 0 {
				t.Error("the run has no time of creation")
			}
			want := core.Run{
				ID: receipt.RunID, ThreadID: "t1", Dispatch: receipt.DispatchID, AgentID: tt.agent,
				Status: core.RunCreated, CreatedAt: got.CreatedAt,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("run (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunThatNobodySubmittedIsUnknown(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	if got := w.status(t, mailbox.Receipt{RunID: core.ID{1}, DispatchID: core.ID{2}}); got != "unknown" {
		t.Errorf("the run is %q, want unknown", got)
	}
}
