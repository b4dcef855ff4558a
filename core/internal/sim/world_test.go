package sim

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func TestTheHashIsOfWhatIsStoredAndOfEvents(t *testing.T) {
	hashes := map[uint64]string{}
	for name, change := range map[string]func(w *World){
		"nothing":         func(*World) {},
		"a record":        func(w *World) { w.foldRecord(&store.Record{Name: "M#1", Payload: []byte("a long payload")}) },
		"another payload": func(w *World) { w.foldRecord(&store.Record{Name: "M#1", Payload: []byte("a lony payload")}) },
		"another fence":   func(w *World) { w.foldRecord(&store.Record{Name: "M#1", Fence: 1, Payload: []byte("a long payload")}) },
		"an event":        func(w *World) { w.foldValue(&core.Event{Type: core.EventTextDelta, Delta: "a"}) },
		"another event":   func(w *World) { w.foldValue(&core.Event{Type: core.EventTextDelta, Delta: "b"}) },
	} {
		w := New(Kind(0))
		change(w)
		if other := hashes[w.Hash()]; other != "" {
			t.Errorf("%s and %s have the same hash", name, other)
		}
		hashes[w.Hash()] = name
	}
}
