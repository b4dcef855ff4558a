package mailbox_test

import (
	"context"
	"errors"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
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

// An edit whose response was lost is listed too, also if others have written since, or the run
// is open by then. It does not replace the listing of a later edit.
func TestAnEditWithALostResponseIsListed(t *testing.T) {
	edit := func(t *testing.T, w *world, receipt mailbox.Receipt, text string) {
		t.Helper()
		if err := w.Edit(t.Context(), key, receipt.DispatchID, []core.Message{core.UserMessage(text)}); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	for name, test := range map[string]struct {
		happens func(*testing.T, *world, mailbox.Receipt)
		want    string
	}{
		"another input":   {func(t *testing.T, w *world, _ mailbox.Receipt) { w.submit(t, input("other", "")) }, "new"},
		"the run opens":   {func(t *testing.T, w *world, _ mailbox.Receipt) { w.claim(t) }, "new"},
		"a later edit":    {func(t *testing.T, w *world, r mailbox.Receipt) { edit(t, w, r, "newest") }, "newest"},
		"and a run of it": {func(t *testing.T, w *world, r mailbox.Receipt) { edit(t, w, r, "newest"); w.claim(t) }, "newest"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			receipt := w.submit(t, input("old", ""))
			w.lose(t, func(thread.Head) { test.happens(t, w, receipt) })
			edit(t, w, receipt, "new")
			record, _, err := w.store.Backend.Get(t.Context(), key, recordname.Listing(receipt.RunID))
			if err != nil {
				t.Fatal(err)
			}
			if l, err := (thread.Records{}).DecodeListing(record.Payload); err != nil || l.Asked != test.want {
				t.Errorf("%+v, %v, want it asked %q", l, err, test.want)
			}
		})
	}
}
