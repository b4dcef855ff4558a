package mailbox_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// A log is searched in pages that grow, up to 1024 records.
func TestHowALogIsSearched(t *testing.T) {
	w := newWorld(t)
	w.submit(t, input("one", ""))
	w.store.OnHead = func(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
		h, err := w.store.Backend.Head(ctx, key)
		if key.Thread == "t1" {
			h.Seq = 5000
		}
		return h, err
	}
	var pages []string
	state := encoded(t, thread.Entry{Run: core.ID{1}, Step: 1})
	w.store.OnLogBackwards = func(_ context.Context, _ core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
		pages = append(pages, fmt.Sprint(from, "-", to))
		return func(yield func(store.Record, error) bool) {
			for seq := to; seq >= from && yield(store.Record{Name: store.LogName(seq), Payload: state}, nil); seq-- {
			}
		}
	}
	_, err := w.Fork(t.Context(), forking("m"))
	want := []string{"4969-5000", "4905-4968", "4777-4904", "4521-4776", "4009-4520", "2985-4008", "1961-2984", "937-1960", "1-936"}
	if diff := cmp.Diff(want, pages); diff != "" {
		t.Errorf("%v; pages (-want +got):\n%s", err, diff)
	}
}

// Where a fork ends is told by run, step and what a record has.
func TestWhereAForkEnds(t *testing.T) {
	call := core.ToolCall{ID: "c"}
	closing := func(run core.ID, step int) thread.Entry { return thread.Entry{Run: run, Step: step, Closing: true} }
	state := func(run core.ID, step int) thread.Entry { return thread.Entry{Run: run, Step: step} }
	withdraws := func(run core.ID) thread.Entry {
		return thread.Entry{Run: run, Step: 1, Superseded: &thread.Range{From: 1, To: 1}}
	}
	for _, tt := range []struct {
		name string
		at   string
		log  []thread.Entry
		seq  uint64
	}{
		{"with the last result", "a", []thread.Entry{said(runOne, core.ID{1}, "m"), by(runOne, core.RoleAssistant, "a", call), by(runOne, core.RoleTool, "r")}, 3},
		{"before the state of another step", "a", []thread.Entry{by(runOne, core.RoleAssistant, "a"), state(runOne, 2)}, 1},
		{"with the state at the end of the run", "a", []thread.Entry{by(runOne, core.RoleAssistant, "a"), closing(runOne, 2)}, 2},
		{"before what another run writes", "a", []thread.Entry{by(runOne, core.RoleAssistant, "a"), closing(runTwo, 1)}, 1},
		{"before another message of the step", "a", []thread.Entry{by(runOne, core.RoleAssistant, "a"), by(runOne, core.RoleAssistant, "b")}, 1},
		{"before what withdraws", "a", []thread.Entry{by(runOne, core.RoleAssistant, "a"), withdraws(runOne)}, 1},
		{"with a result whose turn it does not have", "r", []thread.Entry{by(runOne, core.RoleTool, "r"), state(runOne, 1)}, 1},
		{"with a result behind a record of state", "r", []thread.Entry{by(runOne, core.RoleAssistant, "a", call, call), state(runOne, 1), by(runOne, core.RoleTool, "r")}, 3},
	} {
		w := logged(t, tt.log...)
		if made, err := w.Fork(t.Context(), forking(tt.at)); err != nil || made.Messages != tt.seq {
			t.Errorf("%s: %+v, %v; want %d records", tt.name, made, err, tt.seq)
		}
	}
}

// A fork has the newest record before its end that withdraws others, and is known by what it
// was made of.
func TestWhatAForkIsMadeWith(t *testing.T) {
	w := newWorld(t)
	newer := w.withSchemas(t, 2, 2)
	if _, err := newer.Submit(t.Context(), input("begin", "")); err != nil {
		t.Fatal(err)
	}
	w.Service = w.withSchemas(t, 2, 1)
	step := goOn
	head := w.writes(t, w.claim(t), step, said(runOne, core.ID{1}, "m1"), said(runOne, core.ID{2}, "m2"))
	step.Cut = 2
	head = w.writes(t, head, step, thread.Entry{Run: runTwo, Superseded: &thread.Range{From: 2, To: 2}}, said(runTwo, core.ID{3}, "m3"))
	head = w.writes(t, head, goOn, said(runTwo, core.ID{4}, "m4"))
	step.Cut = 5
	head = w.writes(t, head, step, thread.Entry{Run: runTwo, Superseded: &thread.Range{From: 5, To: 5}}, said(runTwo, core.ID{4}, "m4b"))
	w.writes(t, head, over, said(runTwo, core.ID{5}, "m5"))
	var pointers []store.Pointer
	w.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		pointers = c.Pointers
		return w.store.Backend.Commit(ctx, key, c)
	}
	if _, err := w.Fork(t.Context(), forking("m5")); err != nil {
		t.Fatal(err)
	}
	if h := w.at(t, "t2"); h.Supersedes != 6 || h.Schema != 2 {
		t.Errorf("record %d supersedes, the schema is %d; want 6 and 2", h.Supersedes, h.Schema)
	}
	want := []store.Pointer{{Name: "fork:t2", Value: []byte(`{"thread":"t1","run":"","dispatch":"","body":"b5f2031eb62e37c6d38287b38f83afea"}`)}}
	if diff := cmp.Diff(want, pointers); diff != "" {
		t.Errorf("pointers (-want +got):\n%s", diff)
	}
	w.store.OnPut = func(context.Context, core.ThreadKey, store.Record) error { return errors.New("no connection") }
	if made, err := w.Fork(t.Context(), forking("m5")); err != nil || !made.Duplicate { // nothing is copied again
		t.Errorf("again: %+v, %v", made, err)
	}
}

// What the write of a fork has failed with is its error, also where it cannot be looked at
// afterwards; and each record is copied once.
func TestAForkThatIsNotWritten(t *testing.T) {
	w := forkable(t)
	puts := 0
	var mu sync.Mutex
	w.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
		mu.Lock()
		puts++
		mu.Unlock()
		return w.store.Backend.Put(ctx, key, r)
	}
	w.store.OnCommit = func(context.Context, core.ThreadKey, store.Commit) (store.Outcome, error) {
		w.store.OnHead = func(context.Context, core.ThreadKey) (thread.Head, error) {
			return thread.Head{}, errors.New("no connection")
		}
		return store.Outcome{}, store.ErrCorrupt
	}
	if made, err := w.Fork(t.Context(), forking("a1")); !errors.Is(err, store.ErrCorrupt) || puts != 7 {
		t.Errorf("%+v, %v after %d writes; want the store's error after 7", made, err, puts)
	}
}
