package run_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/mailbox/mailboxtest"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
)

// trace lists, in their order, what a process writes, announces and counts for one
// thread: puts, heads, effects, events, observer calls, slots and usage. Tools and the
// watch add lines from their own goroutines, hence the lock.
type trace struct {
	mu    sync.Mutex
	lines []string
	ids   map[string]string // the names of ids: their numbers, in the order in which they appear
	began time.Time

	options options // of the world
}

func (r *trace) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, r.named(fmt.Sprintf(format, args...)))
}

// named is a line with names for its ids, and without the text of a large answer.
func (r *trace) named(line string) string {
	line = longText.ReplaceAllString(line, "x...")
	return anyID.ReplaceAllStringFunc(line, func(id string) string {
		if r.ids[id] == "" {
			r.ids[id] = fmt.Sprintf("ID%d", len(r.ids)+1)
		}
		return r.ids[id]
	})
}

// longText finds the text of an answer that is large.
var longText = regexp.MustCompile("x{100,}")

// anyID finds what is random in a line: the ids of runs and inputs, and the part of a run's
// that is in those of its calls.
var anyID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|call_[0-9a-f]{12}`)

// ms is a stored time, in milliseconds since the trace began; 0 stays 0.
func (r *trace) ms(at int64) int64 {
	if at == 0 {
		return 0
	}
	return at - r.began.UnixMilli()
}

// record is a record in a line of the trace: under which claim and head it goes, and what
// of its content a reader of the thread depends on.
func (r *trace) record(s store.Record) string {
	line := fmt.Sprintf("%s f%d v%d", s.Name, s.Fence, s.Version)
	if parts := strings.Split(s.Name, "#"); s.Name[0] == 'C' && len(parts) == 5 && parts[3] != "once" {
		parts[4] = "TICKET"
		line = fmt.Sprintf("%s f%d v%d", strings.Join(parts, "#"), s.Fence, s.Version)
	}
	records := thread.Records{}
	switch kind := s.Name[0]; {
	case kind == 'M':
		if e, err := records.DecodeEntry(s.Payload); err == nil {
			line += " " + r.entry(&e)
		}
	case kind == 'R':
		if run, err := records.DecodeRun(s.Payload); err == nil {
			line += " " + r.run(&run.Run) + fmt.Sprintf(" in_round=%t bases=%d", run.InRound, len(run.Bases))
			if e := run.Ending; e != nil {
				line += fmt.Sprintf(" ending=v%d %s form %d", e.Version, e.Termination.Type, e.Form)
			}
		}
	case s.IsUsage():
		var used account.Record
		if err := records.Decode("usage", s.Payload, &used); err == nil {
			line += " " + r.used(&used)
		}
	case s.Name == recordname.Activity:
		if l, err := records.DecodeListing(s.Payload); err == nil && l.Last != nil {
			line += fmt.Sprintf(" %s at %d %q", l.Last.Status, r.ms(l.At), l.Excerpt)
		}
	}
	return line
}

func (r *trace) entry(e *thread.Entry) string {
	line := logLine(e)
	if e.Message != nil && e.Message.ToolResult != nil {
		line += " (" + string(e.Message.ToolResult.Status) + ")"
	}
	if e.Message != nil {
		line += fmt.Sprintf(" said %d", r.ms(e.Message.CreatedAt))
	}
	if e.Closing {
		line += " closing"
	}
	return fmt.Sprintf("%s at %d patch %d attempt %d", line, r.ms(e.At), len(e.Patch), e.Attempt)
}

func (r *trace) run(run *core.Run) string {
	line := fmt.Sprintf("%s steps=%d tokens=%d finished %d %q", run.Status, run.Steps, accounting.Tokens(run.Usage), r.ms(run.FinishedAt), wire.Shorten(run.Response, 20))
	if t := run.Termination; t != nil {
		line += fmt.Sprintf(" %s/%s", t.Type, t.Code)
	}
	return line
}

func (r *trace) used(u *account.Record) string {
	models := 0
	for _, m := range u.Models {
		models += m.Inferences
	}
	return fmt.Sprintf("%s until %d, %d calls of models, %d of tools", u.End, r.ms(u.Until), models, u.Tools)
}

// event notes an event of the stream that readers are shown.
func (r *trace) event(e core.Event) error {
	at := "-"
	if e.Position != "" {
		at = e.Position
	}
	line := fmt.Sprintf("> %s %s", e.Type, at)
	for _, part := range []string{e.CallID, e.Delta, e.Status, string(e.Result), e.Reason, string(e.Patch)} {
		if part != "" {
			line += " " + part
		}
	}
	if e.Termination != nil {
		line += " " + string(e.Termination.Type)
	}
	r.note("%s", line)
	return nil
}

// Logged implements [run.Observer].
func (r *trace) Logged(_ string, entries []thread.Entry) {
	for i := range entries {
		r.note("observed: logged %s", logLine(&entries[i]))
	}
}

// Stepped implements [run.Observer].
func (r *trace) Reported(run.StepReport) {}

func (r *trace) Stepped(_ string, took time.Duration) { r.note("observed: a step in %s", took) }

// Ended implements [run.Observer].
func (r *trace) Ended(run core.Run) { r.note("observed: %s", r.run(&run)) }

// watch makes the trace note what goes to the store.
func (r *trace) watch(b *backend) {
	b.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		outcome, err := b.Backend.Commit(ctx, key, c)
		h, now := &c.Head, "over"
		if h.Open() {
			now = fmt.Sprintf("%s %s %v step %d", h.Run.Status, h.Run.Cursor, h.Run.Calls, h.Run.Step)
		}
		r.note("head v%d f%d seq %d: %s, %d tickets, %v", h.Version, h.Claim.Fence, h.Seq, now, len(h.Tickets), err)
		for _, s := range c.Records {
			r.note("  with %s", r.record(s))
		}
		if c.Usage != nil {
			r.note("  with %s", r.record(c.Usage.Record))
		}
		return outcome, err
	}
	b.OnPut = func(ctx context.Context, key core.ThreadKey, s store.Record) error {
		err := b.Backend.Put(ctx, key, s)
		r.note("put %s, %v", r.record(s), err)
		return err
	}
	b.OnAdmission = func(ctx context.Context, tenant string, day int64) (store.Admission, error) {
		r.note("slot: look")
		return b.Backend.Admission(ctx, tenant, day)
	}
	b.OnAdmit = func(ctx context.Context, tenant string, a store.Admitting) (store.Admission, bool, error) {
		after, admitted, err := b.Backend.Admit(ctx, tenant, a)
		r.note("slot: enter with %d tokens, admitted %t", a.Slot.Tokens, admitted)
		return after, admitted, err
	}
	b.OnCharge = func(ctx context.Context, tenant string, c store.Use) (store.Admission, bool, error) {
		after, charged, err := b.Backend.Charge(ctx, tenant, c)
		r.note("slot: charge %d tokens, has a slot %t, charged %t", c.Tokens, c.Slot != store.Slot{}, charged)
		return after, charged, err
	}
	b.OnRelease = func(ctx context.Context, tenant string, c store.Use) (bool, error) {
		released, err := b.Backend.Release(ctx, tenant, c)
		r.note("slot: leave, %d tokens are taken off, released %t", c.Tokens, released)
		return released, err
	}
}

// limit refuses records of more bytes, as a backend does before it sends them.
func (r *trace) limit(b *backend, bytes int) {
	b.Around = func(ctx context.Context, op storetest.Operation, do func(context.Context) error) error {
		for _, s := range op.Records {
			if len(s.Payload) > bytes {
				r.note("too large: %s", r.record(s))
				return store.ErrTooLarge
			}
		}
		return b.around(ctx, op, do)
	}
}

// plugin asks for an effect in each phase that has one, and changes the state in those
// whose records the log keeps apart.
func (r *trace) plugin() plugin.Plugin {
	return pluginFunc{"traced", func(p *plugin.Registrar) {
		p.Key(piled)
		tell := plugin.Effect[core.Phase]{Name: "tell"}
		tell.Handle(p, func(_ context.Context, _ plugin.HandlerContext, of core.Phase) error {
			r.note("effect of %s", of)
			return nil
		})
		everywhere(p, func(m engine.Moment) (state.Command, error) {
			r.note("phase %s", m.Phase)
			switch m.Phase {
			case core.PhaseAfterInference, core.PhaseAfterToolExecute:
				return tell.Emit(m.Phase), nil
			case core.PhaseStepEnd, core.PhaseRunEnd:
				return state.Combine(piled.Update(string(m.Phase)), tell.Emit(m.Phase)), nil
			}
			return state.Command{}, nil
		})
	}}
}

// newTraced makes a world that meters and limits, and traces it.
func newTraced(t *testing.T, tt traced, plugins bool) (*world, *trace) {
	t.Helper()
	random := rand.NewChaCha8([32]byte{})
	r, o := &trace{began: time.Now(), ids: map[string]string{}}, tt.options
	if o.model == nil {
		o.model = replies(text("one"))
	}
	o.observer = r
	if o.limits.IsZero() {
		o.limits = account.Limits{TokensADay: 1_000_000}
	}
	o.metering = &accounting.Metering{Keep: 100 * 365 * 24 * time.Hour, Ended: func(_ string, u account.Record) { r.note("usage: %s", r.used(&u)) }}
	if plugins {
		o.plugins = append(o.plugins, r.plugin())
	}
	if tt.gate != nil {
		o.plugins = append(o.plugins, gates(tt.gate))
	}
	o.env = env.System()
	o.env.Random = func(b []byte) { _, _ = random.Read(b) } // pauses are the same in every run of the test
	o = o.complete(t)
	r.options = o
	w := &world{store: newBackend(), queue: &mailboxtest.Queue{}}
	r.watch(w.store)
	var err error
	w.box, err = mailbox.New(mailbox.Options{Env: o.env, Store: w.store, Waker: w.queue, Logger: quiet, Records: o.records, KeepUsage: o.metering.Keep, Limits: account.Tenants{Default: o.limits}})
	if err != nil {
		t.Fatal(err)
	}
	w.stepper = newStepper(t, w, o)
	if o.limit > 0 {
		r.limit(w.store, o.limit)
	}
	if o.refuse > 0 {
		w.refuseClose(o.refuse, store.ErrThrottled)
	}
	return w, r
}

// run brings the world to its end.
func (tt *traced) run(t *testing.T, w *world, r *trace) {
	t.Helper()
	if tt.act != nil {
		tt.act(t, w, r)
		return
	}
	r.submitFirst(t, w)
	w.finish(t, key, r.event)
}

// The trace of each kind of end, without plugins and with one that listens to every phase:
// what is put before which head, what readers, observers and ledgers are told behind it.
func TestTracesOfAllEnds(t *testing.T) {
	var got bytes.Buffer
	for i := range tracedEnds() {
		for _, plugins := range []bool{false, true} {
			tt := tracedEnds()[i] // with a model that has said nothing yet
			t.Run(fmt.Sprintf("%s, plugins %t", tt.name, plugins), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w, r := newTraced(t, tt, plugins)
					tt.run(t, w, r)
					fmt.Fprintf(&got, "# %s, plugins %t\n%s\n\n", tt.name, plugins, strings.Join(r.lines, "\n"))
				})
			})
		}
	}
	path := filepath.Join("testdata", "traces.txt")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}
