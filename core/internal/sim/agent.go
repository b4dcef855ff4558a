package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/cutturn"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// work is what a model, a tool or an effect does for a while. Where the fault
// is a crash it never returns.
func (h *host) work(ctx context.Context, p Site, d time.Duration) error {
	w := h.world
	fault := w.draw(request{site: p})
	switch fault {
	case FaultCrashBefore, FaultCrashAfter:
		h.dieAfter(w.random.between(0, d+1))
	case FaultPausedBefore, FaultPausedAfter:
		pause := lease + w.random.between(0, 2*lease)
		h.hindered = max(h.hindered, w.now+d+pause)
		if d += pause; w.random.chance(0.5) {
			h.freeze(pause)
		}
	case FaultNone:
	}
	return w.sleep(ctx, d)
}

// die takes the process along.
func (h *host) die() { h.dieAfter(0) }

// dieAfter takes the process along, some time later. What calls it hears nothing until then.
func (h *host) dieAfter(d time.Duration) {
	h.world.at(d, h.kill)
	t := h.world.current()
	t.dies = true
	t.park(context.Background(), nil)
}

// scriptedModel generates turns that follow from the run's input and the step.
type scriptedModel struct{ w *World }

// script is one inference.
type script struct {
	name string // of the run's first message
	step int    // turns that the run has had
	run  core.ID
}

// read finds the purpose of a request; one that continues a cut response has the purpose
// of the previous one.
func (sc scripted) read(request model.Request) script {
	sc.w.foldValue(&request)
	var s script
	messages, _ := cutturn.Continued(request.Messages)
	s.run = messages[len(messages)-1].RunID
	s.step = turnsBefore(messages, s.run)
	for _, m := range messages {
		if m.RunID == s.run && m.Role == core.RoleUser {
			s.name = m.ID
			break
		}
	}
	sc.w.people.takesUp(&s)
	return s
}

// calls is how many tools the turn calls: the run ends with the first that
// calls none.
func (s script) calls(w *World) int {
	switch {
	case s.crowdedOut(w):
		return crowdedCalls
	case s.step > int(trait(s.name, 1, 2)):
		return 0
	case s.crowded(w):
		return 12
	case s.fans(w):
		return fanned
	case w.people.mixed() && s.step == 0:
		return 4
	case s.endless(w):
		return 25
	case w.config.Agents.Long && !w.config.People.Asks && s.step == 0 && trait(s.name, 2, 3) == 0:
		return 12
	}
	return int(trait(fmt.Sprintf("%s.%d", s.name, s.step), 3, 4))
}

// loud is which part of the turns says much in a tight world: of those that end a run more.
func (s script) loud(w *World) uint64 {
	if s.calls(w) == 0 {
		return 3
	}
	return 9
}

// Stream implements model.Model.
func (m scriptedModel) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	if request.Messages[0].ID == "summary" {
		return m.summarize(ctx, request)
	}
	return func(yield func(model.Delta, error) bool) {
		w := m.w
		h := w.current().host
		s := w.receive(request)
		nonce := w.id()
		h.traceCall(nonce, s)
		th := w.threadOf(s.name)
		served := w.provider.serve(h, th, s.run, request.Model)
		defer served.end()
		comesTo := th.inquire(h, s, request.Model)
		first, last := served.usages(nonce, &request)
		use := func(u core.Usage) bool {
			served.usage = u
			return yield(model.Delta{Type: model.DeltaUsage, Usage: u}, nil)
		}
		known := th.school(h, s, &request)
		before, said := cutturn.Continued(request.Messages)
		say := th.speaks(h, s, said != "")
		text := func(piece string) bool {
			say(piece)
			return yield(model.Delta{Type: model.DeltaText, Text: piece}, nil)
		}
		defer h.calling(ctx, th)()
		th.logged.checkShown(h, before, s)
		th.runs.checkWithin(h, s)
		th.calls.infers()
		w.scripted.poison(h, th, s.name, 'm')
		began := w.now
		wait := max(w.config.Slow, w.random.between(500*time.Millisecond, 12*time.Second))
		if s.crowdedOut(w) {
			wait += besideAfter
		}
		if err := h.work(ctx, SiteModel, wait/2); err != nil {
			yield(model.Delta{}, &model.Error{Kind: model.KindTimeout, Message: err.Error()})
			return
		}
		if failure := th.measured(ctx, h, s, &request, known); failure != nil {
			comesTo(ctx, failure, false)
			yield(model.Delta{}, failure)
			return
		}
		if first != (core.Usage{}) && !use(first) {
			return
		}
		failure := m.fails(s, request.Model)
		spoke := failure == nil || nonce%2 == 0
		if spoke && !text(fmt.Sprintf("%s.%d:%d", s.name, s.step, nonce)) {
			return
		}
		if failure != nil {
			th.runs.modelFails(ctx, h, s)
			comesTo(ctx, failure, spoke)
			yield(model.Delta{}, failure)
			return
		}
		if !m.talk(ctx, s, wait/2, text, yield) {
			return
		}
		if !m.cites(s, yield) {
			return
		}
		th.runs.checkHolds(h, began)
		if m.finish(s, nonce, yield, func() bool { return use(last) }) {
			comesTo(ctx, nil, true)
		}
	}
}

// traceCall writes a call of a model into the trace, if there is one.
func (h *host) traceCall(nonce uint64, s script) {
	if h.world.config.Trace != nil {
		h.world.config.Trace("%s: inference %d of %s, step %d", h.name, nonce, s.name, s.step)
	}
}

// talk says the rest of a text; false: the caller wants no more, or the inference was cut.
func (m scriptedModel) talk(ctx context.Context, s script, within time.Duration, text func(string) bool, yield func(model.Delta, error) bool) bool {
	for i := range pieces {
		if err := m.w.sleep(ctx, within/pieces); err != nil {
			yield(model.Delta{}, &model.Error{Kind: model.KindTimeout, Message: err.Error()})
			return false
		}
		if !text(fmt.Sprintf(" %d", i)) {
			return false
		}
	}
	bulk := m.w.scripted.bulk(fmt.Sprintf("%s.%d", s.name, s.step), 60, s.loud(m.w))
	return bulk == "" || text(bulk)
}

// fails returns how an inference fails, before or after its first words; nil: it does not.
func (m scriptedModel) fails(s script, name string) *model.Error {
	w := m.w
	if failure := w.scripted.away(); failure != nil {
		return failure
	}
	if !w.auditor.doomed(s.name) && !w.scripted.breaks(s) {
		if failure := w.scripted.refuses(name); failure != nil {
			return failure
		}
		if !w.scripted.flaky() || !w.random.chance(0.08) {
			return nil
		}
	}
	failure := &model.Error{Kind: model.KindOverloaded, Message: "overloaded"}
	if !w.auditor.disturbed() && w.random.chance(0.5) {
		failure.RetryAfter = 20 * time.Second // time enough for people to interfere
	}
	return failure
}

// pieces is how many a model generates after its first words.
const pieces = 3

// flaky: models fail at times.
func (sc scripted) flaky() bool { return !sc.w.innocent() && sc.w.now < sc.w.stop }

func (m scriptedModel) finish(s script, nonce uint64, yield func(model.Delta, error) bool, use func() bool) (whole bool) {
	n := s.calls(m.w)
	for i := range n {
		name := fmt.Sprintf("%s.%d.%d", s.name, s.step, i)
		deltas := []model.Delta{
			{Type: model.DeltaToolStart, Index: i, CallID: m.w.scripted.callID(nonce, i), Name: m.w.current().host.known(m.w.scripted.toolFor(s, name))},
			{Type: model.DeltaToolArgument, Index: i, Text: fmt.Sprintf(`{"k":"%d.%d"}`, nonce, i)},
		}
		for _, d := range deltas {
			if !yield(d, nil) {
				return false
			}
		}
	}
	stop := core.StopEndTurn
	if n > 0 {
		stop = core.StopToolUse
	}
	return use() && yield(model.Delta{Type: model.DeltaStop, Stop: stop}, nil)
}

// toolNames are what a model calls; some oftener.
var toolNames = []string{"echo", "echo", "once", "once", "slow", "fail", "note", "mail", "mail", "big"}

// newTools are in no program 1/1 of a world with Lacks. Its model calls another in their
// place, and no call of one ever reads that it is missing: programs that have it come
// within the waiting time.
var newTools = []string{"note", "slow", "guard", "askonce", "childresult"}

// lacks reports whether the process's program has not the new tools.
func (h *host) lacks() bool { return h.world.config.Programs.Lacks && h.schemas.Reads == 1 }

// known is the tool, or another in the place of one that the program has not.
func (h *host) known(name string) string {
	if h.lacks() && slices.Contains(newTools, name) {
		return "echo"
	}
	return name
}

// simTool is a tool of the world.
type simTool struct {
	w    *World
	spec tool.Spec
}

func (sc scripted) tools() []tool.Tool {
	var list []tool.Tool
	for _, name := range []string{"echo", "once", "slow", "fail", "note", "mail", "big"} {
		spec := tool.Spec{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}
		if name == "once" {
			spec.AtMostOnce = true
		}
		list = append(list, simTool{sc.w, spec})
	}
	list = slices.Concat(list, sc.childTools(), sc.askingTools(), sc.timerTools(), sc.letterTools())
	for i, t := range list {
		t := t.(simTool)
		t.spec.ReadOnly = sc.readOnly(t.spec.Name)
		list[i] = t
	}
	return list
}

// readOnly reports whether a tool says that it only reads: in every second world of each
// kind all do. What they do counts with their results, and is lost with a turn that is not
// committed.
func (sc scripted) readOnly(name string) bool {
	return name == "echo" || sc.w.config.Seed/Kinds%2 == 1
}

// Spec implements tool.Tool.
func (t simTool) Spec() tool.Spec { return t.spec }

// Check implements tool.Tool.
func (t simTool) Check(json.RawMessage) error { return nil }

// Run implements tool.Tool.
func (t simTool) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	w := t.w
	h := w.current().host
	key := callKey(string(call.Arguments))
	th := w.partition(call.Thread).state
	defer h.calling(ctx, th)()
	th.calls.execute(h, key, call, t.spec)
	w.scripted.poison(h, th, th.inputs.textOf(th.p.head.Run.Dispatch), 't')
	began := w.now
	if deaf(t.spec.Name) {
		return th.calls.ignore(ctx, h, call, key)
	}
	d := w.random.between(50*time.Millisecond, 3*time.Second)
	show := func() {}
	if t.spec.Name == "slow" {
		show = th.calls.shows(call, key)
		d = w.random.between(4*time.Second, 16*time.Second) / 3
		for range 2 {
			show()
			if err := w.sleep(ctx, d); err != nil {
				return tool.Result{}, err
			}
		}
	}
	if err := h.work(ctx, SiteTool, d); err != nil {
		return tool.Result{}, err
	}
	show()
	if left, ok, err := th.asks.delegate(ctx, t.spec.Name, call, key); ok || err != nil {
		th.calls.acts[key] = th.calls.acts[key] && left.Suspend == nil
		return left, err
	}
	if _, err := th.asks.mail(ctx, t.spec.Name, call, key); err != nil {
		return tool.Result{}, err
	}
	if suspended, ok, err := th.asks.ask(ctx, t.spec.Name, key, call); ok || err != nil {
		if err == nil {
			th.calls.acts[key] = false // it has only asked
		}
		return suspended, err
	}
	if napping, ok := th.asks.nap(h, t.spec.Name, key, call); ok {
		th.calls.acts[key] = false
		return napping, nil
	}
	switch t.spec.Name {
	case "fail":
		return tool.Failed("failed " + key), nil
	case "big":
		if trait(key, 5, 20) == 0 && !w.scripted.narrow() {
			return tool.NewResult(strings.Repeat("x", w.auditor.mostBytes(store.Record{}))), nil
		}
	}
	th.runs.complete(ctx, h, call, began)
	th.runs.checkHolds(h, began)
	result := w.scripted.draws(tool.NewResult(key+w.scripted.bulk(key, 61, 12)), key)
	in := th.inputs.byText[th.inputs.textOf(th.p.head.Run.Dispatch)]
	keeping := in != nil && keeps(in.agent)
	if name := t.spec.Name; name == "note" || name == "mail" || call.Resume != nil {
		if keeping {
			result.Command = trailCommand("tool." + key)
		}
	}
	if keeping {
		result.Command = state.Combine(result.Command, w.scripted.grows(key, 62, w.scripted.grown()))
		if w.config.Agents.Seats && trait(key, 66, 2) == 0 {
			result.Command = state.Combine(result.Command, seatKey.Update(call.Step))
		}
	}
	return result, nil
}

// callKey is what names a call in its arguments.
func callKey(arguments string) string {
	_, rest, _ := strings.Cut(arguments, `"k":"`)
	key, _, _ := strings.Cut(rest, `"`)
	return key
}
