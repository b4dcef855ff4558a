package hosttest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// saying is a run over one thread, with the records of its log: input, turn and a step record,
// and a record before them that supersedes the log's tail.
type saying struct {
	text      string
	supersede uint64
	began     uint64        // sequence of its first record
	back      *thread.Range // that it supersedes
	pages     []string      // of the whole thread, after it
}

var sayings = []saying{
	{text: "one", began: 1, pages: []string{"one", "re: one"}},
	{text: "two", began: 4, pages: []string{"one", "re: one", "two", "re: two"}},
	{text: "three", began: 7, pages: []string{"one", "re: one", "two", "re: two", "three", "re: three"}},
	{text: "two again", supersede: 4, began: 10, back: &thread.Range{From: 4, To: 9},
		pages: []string{"one", "re: one", "two again", "re: two again"}},
	{text: "three again", supersede: 7, began: 14, back: &thread.Range{From: 4, To: 13}, // which is superseded itself by now
		pages: []string{"one", "re: one", "three again", "re: three again"}},
	{text: "and again", supersede: 15, began: 18, back: &thread.Range{From: 4, To: 17}, // the input after the record
		pages: []string{"one", "re: one", "and again", "re: and again"}},
	{text: "four", began: 22,
		pages: []string{"one", "re: one", "and again", "re: and again", "four", "re: four"}},
	{text: "four again", supersede: 22, began: 25, back: &thread.Range{From: 22, To: 24},
		pages: []string{"one", "re: one", "and again", "re: and again", "four again", "re: four again"}},
	{text: "five", began: 29,
		pages: []string{"one", "re: one", "and again", "re: and again", "four again", "re: four again", "five", "re: five"}},
	{text: "from the start", supersede: 1, began: 32, back: &thread.Range{From: 1, To: 31}, pages: []string{"from the start", "re: from the start"}},
}

// Superseded supersedes the log's tail again and again: a reader of the messages sees none that
// is superseded, in pages of any size.
func (o Options) Superseded(t *testing.T) {
	w := newWorld(t, o)
	program := w.sayer(t)
	var runs []core.ID
	for _, s := range sayings {
		runs = append(runs, w.say(program, s))
		for _, limit := range []int{1, 2, 3, 200} {
			if got := w.read(program, 0, limit); !slices.Equal(got, s.pages) {
				t.Errorf("after %q, pages of %d have %q, want %q", s.text, limit, got, s.pages)
			}
		}
		entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, theThread, s.began, s.began)
		if err != nil {
			t.Fatal(err)
		}
		if back := entries[0].Superseded; (back == nil) != (s.back == nil) || back != nil && *back != *s.back {
			t.Errorf("%q supersedes %v, want %v", s.text, back, s.back)
		}
	}
	for i, want := range [][]string{{"re: one"}, {"re: two again"}, {"re: from the start"}} {
		if got := w.stream(program, runs[[]int{0, 3, 9}[i]]); !slices.Equal(got, want) {
			t.Errorf("the stream of a run has %q, want %q, superseded or not", got, want)
		}
	}
}

// SupersededPage supersedes the log's tail while a client pages through it.
func (o Options) SupersededPage(t *testing.T) {
	for _, test := range []struct {
		runs  int
		after uint64
		want  []string
	}{
		{4, 1, []string{"re: one", "two again", "re: two again"}},
		{4, 3, []string{"two again", "re: two again"}},
		{4, 5, []string{"two again", "re: two again"}},
		{4, 9, []string{"two again", "re: two again"}},
		{4, 10, []string{"two again", "re: two again"}},
		{4, 11, []string{"re: two again"}},
		{8, 5, []string{"and again", "re: and again", "four again", "re: four again"}},
		{8, 20, []string{"four again", "re: four again"}},
		{8, 24, []string{"four again", "re: four again"}},
		{8, 40, nil},
	} {
		t.Run(fmt.Sprintf("after %d of %d runs", test.after, test.runs), func(t *testing.T) {
			w := newWorld(t, o)
			program := w.sayer(t)
			for _, s := range sayings[:test.runs] {
				w.say(program, s)
			}
			for _, limit := range []int{1, 200} {
				if got := w.read(program, test.after, limit); !slices.Equal(got, test.want) {
					t.Errorf("pages of %d have %q, want %q", limit, got, test.want)
				}
			}
		})
	}
}

// say submits a run and takes it to its end.
func (w *world) say(program *host.Host, s saying) core.ID {
	w.t.Helper()
	receipt, err := program.Submit(w.t.Context(), mailbox.Submission{
		Thread: theThread, Opening: mailbox.Opening{AgentID: "sayer", Supersede: s.supersede}, Messages: []core.Message{core.UserMessage(s.text)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for hint, ok := w.receive(); ok; hint, ok = w.receive() {
		if err := program.WorkBatch(w.t.Context(), []core.WakeUp{hint})[0]; err != nil {
			w.t.Fatal(err)
		}
	}
	return receipt.RunID
}

// read is the texts of a thread's messages, page by page.
func (w *world) read(program *host.Host, after uint64, limit int) (texts []string) {
	w.t.Helper()
	for q := (host.MessageQuery{After: after, Limit: limit}); ; {
		page, err := program.Messages(w.t.Context(), core.Identity{Tenant: theThread.Tenant}, theThread.Thread, q)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, m := range page.Messages {
			texts = append(texts, m.Text())
		}
		if q.After = page.Next; q.After == 0 {
			return texts
		}
	}
}

// stream returns the texts that a follower of a run receives.
func (w *world) stream(program *host.Host, run core.ID) (texts []string) {
	w.t.Helper()
	err := program.Follow(w.t.Context(), core.Identity{Tenant: theThread.Tenant}, run, host.ListenerFunc(func(e core.Event) error {
		if e.Type == core.EventTextDelta {
			texts = append(texts, e.Delta)
		}
		return nil
	}))

	if err != nil {
		w.t.Fatal(err)
	}
	return texts
}

// sayer is a runtime whose agent repeats its last input.
func (w *world) sayer(t *testing.T) *host.Host {
	t.Helper()
	p := parts(t) // which count steps in the state, so that each step has a record
	p.Models["parrot"] = agent.ModelBinding{Model: parrot{}}
	p.Specs[0].ID, p.Specs[0].Model = "sayer", "parrot"
	return w.build(release{name: "sayer"}, p)
}

type parrot struct{}

// Stream implements model.Model.
func (parrot) Stream(_ context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	last := request.Messages[len(request.Messages)-1].Text()
	return func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Type: model.DeltaText, Text: "re: " + last}, nil) &&
			yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
	}
}
