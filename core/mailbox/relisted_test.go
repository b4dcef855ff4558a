package mailbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// A queued run is listed by its input as it was edited. If only the list cannot be written,
// the edit holds.
func TestAnEditedInputIsListed(t *testing.T) {
	for name, test := range map[string]struct {
		fails bool
		want  string
	}{"listed": {false, "new"}, "the listing fails": {true, "old"}} {
		w := newWorld(t)
		receipt := w.submit(t, input("old", ""))
		if test.fails {
			w.store.OnPut = func(context.Context, core.ThreadKey, store.Record) error { return errors.New("write timed out") }
		}
		if err := w.Edit(t.Context(), key, receipt.DispatchID, []core.Message{core.UserMessage("new")}); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		record, _, err := w.store.Backend.Get(t.Context(), key, recordname.Listing(receipt.RunID))
		if err != nil {
			t.Fatal(err)
		}
		if l, err := (thread.Records{}).DecodeListing(record.Payload); err != nil || l.Asked != test.want || l.AgentID != "demo" {
			t.Errorf("%s: %+v, %v, want it asked %q", name, l, err, test.want)
		}
	}
}
