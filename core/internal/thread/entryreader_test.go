package thread_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// Entries that are decoded together share memory, and nothing of one is changed by another.
func TestEntriesOfALogAreTheirOwn(t *testing.T) {
	entry := func(i int) thread.Entry {
		e := usualTurn()
		e.Prompt = fmt.Sprintf("%032x", i/3)
		e.Message.Content[0].Text, e.Message.Usage.Input, e.Window.Estimate = fmt.Sprint("text ", i), 1000+i, 2000+i
		for range i % 3 {
			e.Message.Content = append(e.Message.Content, core.Block{Type: core.BlockReasoning, Text: fmt.Sprint("thought ", i)})
		}
		return e
	}
	r := thread.Records{}.Entries()
	var read []thread.Entry
	for i := range 200 {
		e, err := r.Decode(encodeEntry(t, entry(i)))
		if err != nil {
			t.Fatal(err)
		}
		read = append(read, e)
	}
	for i := range read { // whoever appends to one, or changes it, does so for itself
		_ = append(read[i].Message.Content, core.Block{Text: "more"})
		if i%2 == 1 {
			read[i].Message.Usage.Input, read[i].Window.Estimate, read[i].Message.Content[0].Text, read[i].Message.Model = 1, 1, "changed", "other"
		}
	}
	for i := 0; i < len(read); i += 2 {
		if diff := cmp.Diff(entry(i), read[i]); diff != "" {
			t.Fatalf("entry %d (-want +got):\n%s", i, diff)
		}
	}
}

// The reader of a conversation leaves out what it does not need of older turns, and nothing
// else; and a field that is left out is one of its type.
func TestEntriesWithoutTotals(t *testing.T) {
	whole := usualTurn()
	whole.Arguments, whole.Decision, whole.Blocked = json.RawMessage(`{}`), "d", "b"
	whole.Hooks, whole.Intents = &state.Command{}, &state.Command{}
	whole.Attempts, whole.Sent = []thread.Attempt{{Model: "m", Began: 1, Ended: 2}}, &thread.Sent{MaxTokens: 5}
	whole.Member, whole.Toolless, whole.Queued, whole.Retried = &thread.Member{Pool: "p", Model: "m"}, []int{0}, 7, 2
	b := encodeEntry(t, whole)
	r := thread.Records{}.Entries()
	got, err := r.Decode(b)
	if diff := cmp.Diff(whole, got); diff != "" || err != nil {
		t.Errorf("all of it: %v (-want +got):\n%s", err, diff)
	}
	r.Abridge()
	lean := whole
	lean.Totals, lean.Arguments, lean.Hooks, lean.Intents, lean.Attempts, lean.Sent = nil, nil, nil, nil, nil, nil
	got, err = r.Decode(b)
	if diff := cmp.Diff(lean, got); diff != "" || err != nil {
		t.Errorf("without totals: %v (-want +got):\n%s", err, diff)
	}
	for _, damaged := range []string{"1:1 6:1", "1:1 26:1", "1:1 32:1"} {
		if _, err := r.Decode(written(t, damaged)); core.CodeOf(err) != core.CodeCorrupt {
			t.Errorf("%s: %v, want that it is damaged", damaged, err)
		}
	}
}
