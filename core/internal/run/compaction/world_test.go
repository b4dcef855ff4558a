package compaction_test

import (
	"context"
	"encoding/binary"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/store/storetest"
)

var (
	key   = core.ThreadKey{Tenant: "t", Thread: "t1"}
	runID = core.ID{1}
)

// talker is a model that summaries are asked of. It notes what it is asked, and says the
// next answer; behind the last one it says that one again.
type talker struct {
	asked   []model.Request
	owners  []string
	answers []answer
	takes   time.Duration // each call
	during  func()        // is called in each call; nil: nothing
}

// answer is what a model says, and the error behind it, if there is one.
type answer struct {
	deltas []model.Delta
	err    error
}

func says(text string) answer {
	return answer{deltas: []model.Delta{
		{Type: model.DeltaUsage, Usage: core.Usage{Input: 300, Output: 20}},
		{Type: model.DeltaText, Text: text},
		{Type: model.DeltaStop, Stop: core.StopEndTurn},
	}}
}

func stopped(text string, why core.StopReason) answer {
	return answer{deltas: []model.Delta{{Type: model.DeltaText, Text: text}, {Type: model.DeltaStop, Stop: why}}}
}

func fails(err error) answer { return answer{err: err} }

func (m *talker) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	who, _ := core.IdentityFrom(ctx)
	m.asked, m.owners = append(m.asked, r), append(m.owners, who.Tenant+"/"+who.User)
	if time.Sleep(m.takes); m.during != nil {
		m.during()
	}
	a := m.answers[min(len(m.asked), len(m.answers))-1]
	return func(yield func(model.Delta, error) bool) {
		for _, d := range a.deltas {
			if !yield(d, nil) {
				return
			}
		}
		if a.err != nil {
			yield(model.Delta{}, a.err)
		}
	}
}

// heads is a thread's head.
type heads struct {
	head thread.Head
	err  error
}

func (h *heads) Head(context.Context, core.ThreadKey) (thread.Head, error) { return h.head, h.err }

// agents resolves one agent, whatever a run began with, and notes what it is asked for.
type agents struct {
	agent  *registry.Resolved
	err    error
	asked  []string
	during func() // is called by each; nil: nothing
}

func (a *agents) Resolve(_ context.Context, id, pin string) (*registry.Resolved, error) {
	if a.asked = append(a.asked, id+"@"+pin); a.during != nil {
		a.during()
	}
	return a.agent, a.err
}

// world is a Maker on a thread whose log the test has written.
type world struct {
	maker  *compaction.Maker
	store  *storetest.Faulty
	heads  heads
	agents agents
	log    strings.Builder
	env    *env.Env

	circuits *inference.Circuits
}

// setting is what a test may change of its world.
type setting struct {
	log    []thread.Entry  // from sequence 1 on
	before *thread.Summary // in force, up to the second record; nil: none is
	spec   agent.Spec
	facts  model.Facts
	limits account.Limits
	reads  uint16 // the newest schema that the program reads; 0: that of this release
}

// compacting is a policy of which only the threshold is said.
func compacting() *agent.ContextWindowPolicy {
	return &agent.ContextWindowPolicy{AutocompactThreshold: 3000}
}

func newWorld(t *testing.T, m *talker, s setting) *world {
	t.Helper()
	if s.spec.Context == nil {
		s.spec.Context = compacting()
	}
	return newWorldOf(t, agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Model: m, Name: "large", Provider: "p", Facts: s.facts}},
	}, "m", s)
}

// newWorldOf is newWorld with an agent whose model, or pool, is among the parts.
func newWorldOf(t *testing.T, parts agent.Parts, named string, s setting) *world {
	t.Helper()
	s.spec.ID, s.spec.Model = "demo", named
	parts.Specs = []agent.Spec{s.spec}
	agents, err := registry.New(parts)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{store: &storetest.Faulty{Backend: memory.New()}, env: env.System()}
	w.env.Random = func(b []byte) { // pauses are a nanosecond shorter than their limits
		binary.BigEndian.PutUint64(b, uint64(128*time.Second-1))
	}
	if w.agents.agent, err = agents.Resolve("demo"); err != nil {
		t.Fatal(err)
	}
	w.heads.head = thread.Head{Version: 7, Owner: "ann", Seq: uint64(len(s.log))}
	records := thread.Records{Schemas: thread.Schemas{Reads: s.reads}}
	logger := slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "tenant" || a.Key == "thread" {
			return slog.Attr{}
		}
		return a
	}}))
	for i := range s.log {
		w.put(t, store.LogName(uint64(i+1)), encoded(t)(records.EncodeEntry(&s.log[i])))
	}
	w.put(t, recordname.Run(runID), encoded(t)(records.EncodeRun(&thread.RunRecord{Run: core.Run{ID: runID, AgentID: "demo", Resolution: "pinned"}})))
	if s.before != nil {
		w.heads.head.Summary = 2
		w.put(t, recordname.Summary(2), encoded(t)(records.EncodeSummary(2, s.before)))
	}
	gate, err := accounting.NewGate(accounting.GateOptions{Env: w.env, Store: w.store, Limits: account.Tenants{Default: s.limits},
		Cost: func(_, name string, u core.Usage, _ time.Time) (core.USD, bool) {
			return core.USD(accounting.Tokens(u)) * core.USD(1e9) / 100, name == "large"
		}})
	if err != nil {
		t.Fatal(err)
	}
	w.circuits = &inference.Circuits{Env: w.env}
	w.maker = compaction.New(compaction.Options{
		Env: w.env, Store: w.store, Records: records, Heads: &w.heads, Agents: &w.agents,
		Reader:   checkpoint.New(checkpoint.Options{Env: w.env, Store: w.store, Records: records, Log: logger}),
		Circuits: w.circuits, Books: &accounting.Books{Gate: gate, Records: records, Store: w.store}, Log: logger,
	})
	return w
}

func encoded(t *testing.T) func([]byte, error) []byte {
	return func(b []byte, err error) []byte {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
}

// put stores a record past all faults.
func (w *world) put(t *testing.T, name string, payload []byte) {
	t.Helper()
	if err := w.store.Backend.Put(t.Context(), key, store.Record{Name: name, Payload: payload}); err != nil {
		t.Fatal(err)
	}
}

// fail lets an operation of the store fail, of a record, from the nth time on.
func (w *world) fail(method, name string, nth int, err error) {
	w.store.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		if op.Method == method && strings.HasPrefix(op.Name, name) {
			if nth--; nth <= 0 {
				return err
			}
		}
		return do(ctx)
	}
}

// lose lets the store find a record no more.
func (w *world) lose(name string) {
	w.store.OnGet = func(ctx context.Context, key core.ThreadKey, wanted string) (store.Record, bool, error) {
		if wanted == name {
			return store.Record{}, false, nil
		}
		return w.store.Backend.Get(ctx, key, wanted)
	}
	w.store.OnLogBackwards = func(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
		return func(yield func(store.Record, error) bool) {
			for r, err := range w.store.Backend.LogBackwards(ctx, key, from, to) {
				if r.Name != name && !yield(r, err) {
					return
				}
			}
		}
	}
}

// change lets the store find another payload of a record.
func (w *world) change(name string, payload []byte) {
	w.store.OnRecord = func(_ storetest.Operation, r store.Record) store.Record {
		if r.Name == name {
			r.Payload = payload
		}
		return r
	}
}

// compact follows one hint, which must be over with.
func (w *world) compact(t *testing.T) {
	t.Helper()
	if err := w.maker.Compact(t.Context(), key); err != nil {
		t.Fatal(err)
	}
}

// summary is the stored summary up to a sequence; nil: there is none.
func (w *world) summary(t *testing.T, upTo uint64) *thread.Summary {
	t.Helper()
	r, ok, err := w.store.Backend.Get(t.Context(), key, recordname.Summary(upTo))
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return nil
	}
	s, err := thread.Records{}.DecodeSummary(upTo, r.Payload)
	if err != nil {
		t.Fatal(err)
	}
	return &s
}

// charge counts so many tokens as used today.
func (w *world) charge(t *testing.T, tokens int64) {
	t.Helper()
	if _, _, err := w.store.Backend.Charge(t.Context(), key.Tenant, store.Use{Day: calendar.Day(w.env.Millis()), Tokens: tokens}); err != nil {
		t.Fatal(err)
	}
}

// charged is how many tokens the tenant has used today.
func (w *world) charged(t *testing.T) int64 {
	t.Helper()
	a, err := w.store.Backend.Admission(t.Context(), key.Tenant, calendar.Day(w.env.Millis()))
	if err != nil {
		t.Fatal(err)
	}
	return a.Tokens
}

func asks(text string) thread.Entry {
	m := core.UserMessage(text).WithID("q")
	return thread.Entry{Run: runID, Message: &m}
}

func answers(text string) thread.Entry {
	m := core.Message{ID: "a", Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: text}}}
	return thread.Entry{Run: runID, Step: 1, Message: &m}
}

// names is a turn that names the target of a summary.
func names(upTo uint64) thread.Entry {
	e := answers("named")
	e.Window = &core.Window{Compact: upTo}
	return e
}

// conversation is a log of two rounds, the first of which is to be summarised: what was
// asked in it has 4,000 bytes, 1,000 tokens.
func conversation() []thread.Entry {
	return []thread.Entry{asks(strings.Repeat("x", 4000)), answers("one"), asks("second"), names(2)}
}

// said is the conversation's part that Inline is handed.
func said() window.History {
	log := conversation()
	return window.History{
		Messages: []core.Message{*log[0].Message, *log[1].Message},
		Places:   []window.Place{{Sequence: 1}, {Sequence: 2}},
	}
}

// inline makes the summary within a step.
func (w *world) inline(ctx context.Context, before *checkpoint.Summary) (*checkpoint.Summary, error) {
	return w.maker.Inline(ctx, compaction.Target{Incarnation: 9,
		Key: key, Run: runID, UpTo: 2, Before: before, Agent: w.agents.agent, Model: w.agents.agent.ModelOf(key, runID),
	}, said())
}
