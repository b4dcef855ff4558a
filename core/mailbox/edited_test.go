package mailbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
)

func edits(arguments string) func(*mailbox.Deciding) {
	return func(d *mailbox.Deciding) { d.Decision.Arguments = json.RawMessage(arguments) }
}

// A decision with arguments says schema 2, and so does the head: a program that reads less
// does not claim the thread. Without arguments neither does.
func TestAnEditedDecisionRaisesTheSchema(t *testing.T) {
	for _, tt := range []struct {
		name   string
		d      mailbox.Deciding
		schema uint16
		record string
	}{
		{"edited", deciding("c0", "d", edits(`{ "a": 1 }`)), 2, `{"schema":2,"decision_id":"d","action":"resume","arguments":{"a":1},"user":"ann","suspension":"s0"}`},
		{"plain", deciding("c0", "d"), 1, `{"schema":1,"decision_id":"d","action":"resume","user":"ann","suspension":"s0"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, _ := waiting(t, asks(0))
			w.decide(t, tt.d)
			head, err := w.Head(t.Context(), key)
			if err != nil || head.Schema != tt.schema {
				t.Errorf("the head has schema %d, %v; want %d", head.Schema, err, tt.schema)
			}
			name := recordname.Decision(head.Run.ID, 1, 0, thread.DecisionKey(head.Run.ID, "s0", "d"))
			if r, ok, err := w.store.Get(t.Context(), key, name); err != nil || !ok || string(r.Payload) != tt.record {
				t.Errorf("the record is %s, %v, %v; want %s", r.Payload, ok, err, tt.record)
			}
		})
	}
}

// What the arguments are is a part of what a decision says.
func TestADecisionWithOtherArgumentsIsAnother(t *testing.T) {
	w, _ := waiting(t, asks(0), asks(1))
	w.decide(t, deciding("c0", "d", edits(`{"a":1}`)))
	for _, other := range []func(*mailbox.Deciding){func(*mailbox.Deciding) {}, edits(`{"a":2}`)} {
		if _, err := w.Decide(t.Context(), key, deciding("c0", "d", other)); core.CodeOf(err) != core.CodeConflict {
			t.Errorf("the same id: %v, want code conflict", err)
		}
	}
	if got := w.decide(t, deciding("c0", "d", edits(` {"a": 1}`))); !got.Duplicate {
		t.Error("the same, in other white space, is no duplicate")
	}
	w.decide(t, deciding("c1", "", edits(`{"a":1}`)))
	if got := w.decide(t, deciding("c1", "", edits(`{"a":1}`))); !got.Duplicate {
		t.Error("the same without an id is no duplicate")
	}
	for _, other := range []func(*mailbox.Deciding){func(*mailbox.Deciding) {}, edits(`{"a":2}`)} {
		if _, err := w.Decide(t.Context(), key, deciding("c1", "", other)); core.CodeOf(err) != core.CodeDecided {
			t.Errorf("another without an id: %v, want code decided", err)
		}
	}
}

// A decision that names its call is compared with what was decided, also if the call waits
// again for something that the decision would not fit.
func TestARepeatedDecisionNeedNotFitTheNextSuspension(t *testing.T) {
	w, _ := waiting(t, asks(0))
	edited := deciding("c0", "d", edits(`{"a":1}`))
	w.decide(t, edited)
	w.suspend(t, w.claim(t), thread.Wait, asks(0, func(t *core.Ticket) { t.Suspension.ID, t.Mode = "s0b", core.ResumeAsResult }))
	if got := w.decide(t, edited); !got.Duplicate || got.SuspensionID != "s0" {
		t.Errorf("repeated: %+v, want the first one's duplicate", got)
	}
	if _, err := w.Decide(t.Context(), key, deciding("c0", "d2", edits(`{"a":1}`))); core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("another one: %v, want code invalid", err)
	}
}

// The tool's check is asked before anything is stored, and only about arguments; the same
// decision again is not checked again.
func TestTheToolChecksEditedArguments(t *testing.T) {
	var asked []string
	refused := errors.New("no")
	w, before := waiting(t, asks(0))
	record, err := thread.Records{}.EncodeRun(&thread.RunRecord{Run: core.Run{ID: before.Run.ID, AgentID: "clerk"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Put(t.Context(), key, store.Record{Name: recordname.Run(before.Run.ID), Fence: 1, Version: before.Version, Payload: record}); err != nil {
		t.Fatal(err)
	}
	w.Service, err = mailbox.New(mailbox.Options{
		Env: env.System(), Store: w.store, Waker: w.queue, Logger: slog.New(slog.DiscardHandler),
		Accepts: func(_ context.Context, r thread.RunRecord, tool string, arguments json.RawMessage) error {
			asked = append(asked, fmt.Sprint(r.AgentID, " ", tool, " ", string(arguments)))
			return refused
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Decide(t.Context(), key, deciding("c0", "d", edits(`{"a":1}`))); !errors.Is(err, refused) {
		t.Errorf("refused arguments: %v", err)
	}
	if after, err := w.Head(t.Context(), key); err != nil || after.Version != before.Version {
		t.Errorf("the head has version %d, %v; want %d, as before", after.Version, err, before.Version)
	}
	refused = nil
	for range 2 {
		w.decide(t, deciding("c0", "d", edits(`{"a":1}`)))
	}
	if want := `["clerk ask {\"a\":1}" "clerk ask {\"a\":1}"]`; fmt.Sprintf("%q", asked) != want {
		t.Errorf("asked %q, want %s", asked, want)
	}
}
