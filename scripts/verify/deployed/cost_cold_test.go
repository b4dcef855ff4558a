//go:build aws

package deployed

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	runtime "github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/functions/kit/demo"
	"github.com/reveille-run/reveille/scripts/verify/deployed/cost"
	"github.com/reveille-run/reveille/scripts/verify/deployed/wire"
)

// coldReads are the sizes of conversations whose cold reads are measured: messages of about
// 500 tokens.
var coldReads = []cost.Reading{{Tokens: 10_000, Messages: 20}, {Tokens: 32_000, Messages: 64}, {Tokens: 100_000, Messages: 200}, {Tokens: 200_000, Messages: 400}}

// coldReads measures the first step of a run that a new process of Step takes, of conversations
// that other processes have had.
func (k *bookkeeper) coldReads(t *testing.T, f *cost.Figures) {
	for _, r := range coldReads {
		id := "cold-" + string(rune('a'+len(f.Reads)))
		k.converse(t, id, r.Messages)
		k.say(t, k.door(t, "HttpApi"), id)
		k.settled(t)
		if err := k.host.Recycle(k.name(t, "StepFunction")); err != nil {
			t.Fatal(err)
		}
		r.Units = math.Round(k.measure(t, func() { k.poll(t) }).Read)
		k.poll(t)
		if h := k.head(t, id); h.Open() || h.Ready() {
			t.Fatalf("the run of %d messages is not done: %+v", r.Messages, h)
		}
		f.Reads = append(f.Reads, r)
	}
}

// checkColdReads compares them with recorded ones. The bytes of ids and times vary.
func checkColdReads(t *testing.T, want, got []cost.Reading) {
	t.Helper()
	for i, r := range got {
		if i >= len(want) || want[i].Tokens != r.Tokens || math.Abs(want[i].Units-r.Units) > 1 {
			t.Errorf("the cold reads are other ones than in infra/cost.json; if they are right, make cost WRITE=1\nrecorded %v\nmeasured %v", want, got)
			return
		}
	}
}

// converse stores a conversation of so many messages of 2,000 bytes of prose, two a run. Its
// runs are taken in memory, which is quicker.
func (k *bookkeeper) converse(t *testing.T, id string, messages int) {
	t.Helper()
	text := prose{rand.New(rand.NewPCG(1, uint64(messages)))}
	parts, err := wire.Parts(map[string]agent.ModelBinding{demo.Model: {Model: text, Name: "m"}})
	if err != nil {
		t.Fatal(err)
	}
	from := memory.New()
	h, err := runtime.New(runtime.Options{Store: from, Agents: parts})
	if err != nil {
		t.Fatal(err)
	}
	for range messages / 2 {
		s := mailbox.Submission{Thread: key(id), Opening: mailbox.Opening{AgentID: demo.ID}, Messages: []core.Message{core.UserMessage(text.next())}}
		if _, err := h.Stream(t.Context(), s, runtime.ListenerFunc(func(core.Event) error { return nil })); err != nil {
			t.Fatal(err)
		}
	}
	head, err := from.Head(t.Context(), key(id))
	if err != nil {
		t.Fatal(err)
	}
	var puts errgroup.Group
	puts.SetLimit(16)
	for after := ""; ; {
		page, err := from.Records(t.Context(), key(id), "", after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			puts.Go(func() error { return k.store.Put(t.Context(), key(id), r) })
		}
		if len(page) < 1000 {
			break
		}
		after = page[len(page)-1].Name
	}
	if err := puts.Wait(); err != nil {
		t.Fatal(err)
	}
	head.Version = 1 // which the first write of a thread has
	if out, err := k.store.Commit(t.Context(), key(id), store.Commit{Head: head}); err != nil || !out.Written {
		t.Fatalf("%+v, %v", out, err)
	}
}

// prose is a model that says 2,000 bytes, which compress to about half, as text of people does.
type prose struct{ *rand.Rand }

func (p prose) next() string {
	syllables := strings.Fields("ba con de er for ge hi in ka lo men nu or pre ri sta ti un ver wo al th is ma")
	var b strings.Builder
	for b.Len() < 2000 {
		for range 1 + p.IntN(3) {
			b.WriteString(syllables[p.IntN(len(syllables))])
		}
		b.WriteByte(' ')
	}
	return b.String()[:2000]
}

// Stream implements model.Model.
func (p prose) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Type: model.DeltaText, Text: p.next()}, nil) && yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
	}
}
