package mailbox_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

func TestTickets(t *testing.T) {
	w, _ := waiting(t, asks(0), asks(1))
	w.decide(t, deciding("c0", "d"))
	head := w.head(t)
	got, err := w.Tickets(t.Context(), key, head)
	want := []core.Ticket{asks(0, func(t *core.Ticket) { t.Decided = true }), asks(1)}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if got, err := w.Tickets(t.Context(), key, thread.Head{}); got != nil || err != nil {
		t.Errorf("without tickets: %v, %v", got, err)
	}
	name := store.SuspensionName(head.Run.ID, 1, 1, thread.TicketKey(head.Run.ID, "s1"))
	w.store.lost = map[string]bool{name: true}
	if got, err := w.Tickets(t.Context(), key, head); !errors.Is(err, store.ErrCorrupt) || got != nil {
		t.Errorf("a lost record: %v, %v; want corrupt", got, err)
	}
	w.store.lost = nil
	w.put(t, store.Record{Name: name, Fence: 9, Payload: encoded(t, thread.TicketRecord{Ticket: asks(0)})})
	if got, err := w.Tickets(t.Context(), key, head); !errors.Is(err, store.ErrCorrupt) || got != nil {
		t.Errorf("another's record: %v, %v; want corrupt", got, err)
	}
}
