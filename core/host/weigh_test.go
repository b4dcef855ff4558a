package host_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

// scale is a store that weighs what is read of it: bytes, and the units that DynamoDB
// would bill for strongly consistent reads, one for each 4 KB of a request begun.
type scale struct {
	store.Backend
	bytes, units atomic.Int64
}

const readUnit = 4 << 10

func (s *scale) weigh(n int) {
	s.bytes.Add(int64(n))
	s.units.Add(int64(max(1, (n+readUnit-1)/readUnit)))
}

// Head implements store.Backend.
func (s *scale) Head(ctx context.Context, key core.ThreadKey) (thread.Head, error) {
	h, err := s.Backend.Head(ctx, key)
	s.weigh(len(h.AppendBinary(nil)))
	return h, err
}

// Get implements store.Backend.
func (s *scale) Get(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
	r, ok, err := s.Backend.Get(ctx, key, name)
	s.weigh(len(r.Name) + len(r.Payload))
	return r, ok, err
}

// Log implements store.Backend.
func (s *scale) Log(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return s.all(s.Backend.Log(ctx, key, from, to))
}

// LogBackwards implements store.Backend.
func (s *scale) LogBackwards(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return s.all(s.Backend.LogBackwards(ctx, key, from, to))
}

func (s *scale) all(records iter.Seq2[store.Record, error]) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		n := 0
		defer func() { s.weigh(n) }()
		for r, err := range records {
			if n += len(r.Name) + len(r.Payload); !yield(r, err) {
				return
			}
		}
	}
}

// Records implements store.Backend.
func (s *scale) Records(ctx context.Context, key core.ThreadKey, prefix, after string, limit int) ([]store.Record, error) {
	found, err := s.Backend.Records(ctx, key, prefix, after, limit)
	n := 0
	for _, r := range found {
		n += len(r.Name) + len(r.Payload)
	}
	s.weigh(n)
	return found, err
}

// summing is a model that calls a tool in each turn with 200 bytes, and says a summary of
// 2 KB when it is asked for one.
type summing struct{ asked, made atomic.Int64 }

// Stream implements model.Model.
func (m *summing) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if r.Messages[0].ID == "summary" {
			m.made.Add(1)
			_ = yield(model.Delta{Type: model.DeltaText, Text: strings.Repeat("They spoke. ", 170)}, nil) &&
				yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
			return
		}
		_ = yield(model.Delta{Type: model.DeltaToolStart, Name: "echo"}, nil) &&
			yield(model.Delta{Type: model.DeltaToolArgument, Text: fmt.Sprintf(`{"text":"%d %s"}`, m.asked.Add(1), strings.Repeat("x", 200))}, nil) &&
			yield(model.Delta{Type: model.DeltaStop, Stop: core.StopToolUse}, nil)
	}
}

// A thread that is summarised is as cheap to take up behind 10,000 messages as ever: a
// process that knows nothing of it reads its head, the run, the state and the summary, and
// of the log what came since.
func TestAColdStepUnderASummaryReadsAtMost64KB(t *testing.T) {
	const summedUp = 9_985 // the last result of a round, 15 messages of 2 KB before the end
	r, said, backend := newRig(t), &summing{}, memory.New()
	change := func(c *host.Options) {
		c.Agents.Models["m"] = binding(said)
		c.Agents.Specs[0].MaxRounds = new(0)
		c.Agents.Specs[0].Context = &agent.ContextWindowPolicy{AutocompactThreshold: 4000}
	}
	key := longThread(t, backend, 1)
	head := func() thread.Head {
		t.Helper()
		h, err := backend.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	payload, err := thread.Records{}.EncodeSummary(summedUp, &thread.Summary{Text: twoKB})
	if err != nil {
		t.Fatal(err)
	}
	next := head()
	next.Version, next.Summary = next.Version+1, summedUp
	c := store.Commit{Head: next, Records: []store.Record{{Name: recordname.Summary(summedUp), Payload: payload}}}
	if outcome, err := backend.Commit(t.Context(), key, c); err != nil || !outcome.Written {
		t.Fatalf("%+v, %v", outcome, err)
	}
	hint, most, units := core.WakeUp{Tenant: key.Tenant, Thread: key.Thread}, int64(0), int64(0)
	for range 80 { // wherever the summary and the stored state stand
		weighed := &scale{Backend: backend}
		if err := r.process("cold", weighed, change).WorkLocal(t.Context(), hint); err != nil {
			t.Fatal(err)
		}
		most, units = max(most, weighed.bytes.Load()), max(units, weighed.units.Load())
		for h, ok := r.queue.Receive(); ok; h, ok = r.queue.Receive() {
			if h.Kind != core.WakeCompact { // the next cold process works on it
				continue
			}
			if err := r.process("compactor", backend, change).WorkLocal(t.Context(), h); err != nil {
				t.Fatal(err)
			}
		}
	}
	if h := head(); h.Seq < 10_100 || h.Summary < 10_050 || said.made.Load() < 2 {
		t.Errorf("behind %d messages the summary is up to %d, %d were made", h.Seq, h.Summary, said.made.Load())
	}
	if most > 64<<10 || most < 16<<10 {
		t.Errorf("a cold step has read up to %d bytes, wanted are at most 65,536", most)
	}
	if units > 24 {
		t.Errorf("a cold step has read up to %d units, wanted are at most 24", units)
	}
}
