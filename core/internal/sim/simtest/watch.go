package simtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// watched is what a world's parts were seen to do.
type watched struct {
	runs       []core.ID // in the order in which they were seen first
	seen       []sight
	executions []*execution // of tools, in order
	effects    map[string]int
	said       map[string]bool // by effect: the command that asked for it changes the state as well
	inferences int
}

func newWatched() watched { return watched{effects: map[string]int{}, said: map[string]bool{}} }

// sight is one function of the parts that was called, with its outcome.
type sight struct {
	Who   string `json:"who"`   // "hook 1 of plugin P at step_end"
	Where string `json:"where"` // "run 1, step 2, call 0"
	Came  string `json:"came"`
	Kept  bool   `json:"kept,omitempty"` // a tool that has kept a part: what it drew once is drawn
}

// execution is one run of a tool.
type execution struct {
	tool, key, where string
	spec             tool.Spec
	keyed            bool // it asked for its key, or kept parts
	kept             bool // the latter
	suspended        bool // it asked for a decision, and did not act
}

// cast are the agents that play scenarios.
type cast struct {
	world func() World
	known *registry.Registry // of parts that are never run
}

// newCast makes the parts once, to see that they can be.
func newCast(world func() World) (cast, error) {
	made, err := world().Parts()
	if err != nil {
		return cast{}, err
	}
	known, err := registry.New(bind(made, model.None{}))
	return cast{world, known}, err
}

// bind returns the parts with one model in the place of every other.
func bind(parts agent.Parts, said model.Model) agent.Parts {
	models := make(map[string]agent.ModelBinding, len(parts.Models))
	for id, bound := range parts.Models {
		bound.Model = said
		models[id] = bound
	}
	adapters := make(map[string]func(agent.ProviderSpec) (model.Model, error), len(parts.Adapters))
	for name := range parts.Adapters {
		adapters[name] = func(agent.ProviderSpec) (model.Model, error) { return said, nil }
	}
	parts.Models, parts.Adapters = models, adapters
	return parts
}

// cast returns the parts of a process: fresh ones of the user's, with the scripted model,
// and all of them watched.
func (w *world) cast(p *process) (agent.Parts, error) {
	parts, err := w.outside.Parts()
	if err != nil {
		return parts, err
	}
	said := model.Model(scripted.New(p.env()))
	if w.scenario.Turns != nil {
		said = scripted.Turns(w.scenario.Turns...)
	}
	parts = bind(parts, counted{said, w})
	parts.Tools = slices.Clone(parts.Tools)
	for i, t := range parts.Tools {
		if t != nil {
			parts.Tools[i] = watchedTool{t, p}
		}
	}
	watcher := engine.Watcher{
		Show: w.show,
		Tool: func(t tool.Tool) tool.Tool { return watchedTool{t, p} },
		Saw:  w.saw,
	}
	parts.Plugins = slices.Clone(parts.Plugins)
	for i, known := range parts.Plugins {
		if known != nil {
			parts.Plugins[i] = engine.Watched(known, watcher)
		}
	}
	return parts, nil
}

// counted counts the calls of a model, and names the calls of tools: those that a model
// leaves without an id are named by the run's. A script without the requested turn is a
// problem of the world.
type counted struct {
	model model.Model
	world *world
}

// said reports whether an error is one that a turn of the script has.
func (m counted) said(err error) bool {
	return slices.ContainsFunc(m.world.scenario.Turns, func(t scripted.Turn) bool { return t.Err != nil && errors.Is(err, t.Err) })
}

// Stream implements model.Model.
func (m counted) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	m.world.mu.Lock()
	m.world.watched.inferences++
	m.world.mu.Unlock()
	return func(yield func(model.Delta, error) bool) {
		for delta, err := range m.model.Stream(ctx, r) {
			if err != nil && m.world.scenario.Turns != nil && !m.said(err) {
				m.world.problem("%v", err)
			}
			if delta.Type == model.DeltaToolStart && delta.CallID == "" {
				delta.CallID = fmt.Sprintf("call_%d_%d", len(r.Messages), delta.Index)
			}
			if !yield(delta, err) {
				return
			}
		}
	}
}

// run is the number of a run in its world, from 1; the caller holds mu.
func (w *watched) run(id core.ID) int {
	i := slices.Index(w.runs, id)
	if i < 0 {
		i = len(w.runs)
		w.runs = append(w.runs, id)
	}
	return i + 1
}

// as returns the id and the time of a step for hooks and tools: the same in every world,
// for any repetitions and waits there.
func (w *world) as(run core.ID, step int) (core.ID, time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := w.watched.run(run)
	return core.ID{len(run) - 1: byte(n)}, base.Add(time.Duration(n)*time.Hour + time.Duration(step)*time.Minute)
}

// number is that of a run as hooks and tools are shown it.
func number(shown core.ID) int { return int(shown[len(shown)-1]) }

func (w *world) show(c plugin.Context) plugin.Context {
	c.Run, c.Now = w.as(c.Run, c.Step)
	c.Messages = slices.Clone(c.Messages)
	for i, m := range c.Messages {
		if m.CreatedAt != 0 {
			_, at := w.as(m.RunID, m.Step)
			c.Messages[i].CreatedAt = at.UnixMilli()
		}
	}
	return c
}

// saw notes the outcome of a plugin's function.
func (w *world) saw(s engine.Seen) {
	w.mu.Lock()
	defer w.mu.Unlock()
	run := number(s.Context.Run)
	where := fmt.Sprintf("run %d, step %d", run, s.Context.Step)
	if s.Call >= 0 {
		where += fmt.Sprintf(", call %d", s.Call)
	}
	who := fmt.Sprintf("%s %d of plugin %s", s.Place, s.Number, s.Plugin)
	came := any(s.Command)
	switch s.Place {
	case engine.PlaceEffect:
		w.watched.effects[fmt.Sprintf("%s of run %d: %s", s.Name, run, s.Payload)]++
		return
	case engine.PlaceHook:
		who += " at " + string(s.Context.Phase)
	case engine.PlaceAction:
		who = fmt.Sprintf("action %s of plugin %s", s.Name, s.Plugin)
	case engine.PlaceGate:
		came = s.Verdict
	case engine.PlaceTransform:
		came = requested(s.Request)
	}
	w.watched.asked(s.Command)
	if s.Err != nil {
		came = s.Err.Error()
	}
	w.watched.seen = append(w.watched.seen, sight{Who: who, Where: where, Came: encode(came)})
}

// asked notes which effects came with a change of the state; the caller holds mu.
func (w *watched) asked(c state.Command) {
	for _, e := range c.Effects {
		w.said[e.Key] = w.said[e.Key] || len(c.Batch.Mutations) > 0
	}
}

// requested is the output of a transform, without clocks and fences of its input.
func requested(r *model.Request) any {
	shown := *r
	shown.Messages = slices.Clone(r.Messages)
	for i := range shown.Messages {
		shown.Messages[i].CreatedAt = 0
	}
	return shown
}

func encode(v any) string {
	text, err := core.EncodeJSON(v)
	if err != nil {
		return fmt.Sprintf("%+v", v)
	}
	return string(text)
}

// beginning is closed when a call of the tool has started.
func (w *world) beginning(name string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.begun[name]
	if c == nil {
		c = make(chan struct{})
		w.begun[name] = c
	}
	return c
}

// watchedTool is a tool in a process.
type watchedTool struct {
	tool.Tool
	process *process
}

// Run implements tool.Tool.
func (t watchedTool) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	p, w, spec := t.process, t.process.world, t.Spec()
	p.gate()
	own := call
	place, _ := strings.CutPrefix(call.Idempotency, call.Run.String()) // sequence of the turn, and index
	call.Run, call.Now = w.as(call.Run, call.Step)
	call.Idempotency = call.Run.String() + place
	where := fmt.Sprintf("run %d, step %d, call %s", number(call.Run), call.Step, place[strings.LastIndexByte(place, '/')+1:])
	began := w.beginning(call.Name)
	w.mu.Lock()
	e := &execution{tool: call.Name, key: call.Idempotency, where: where, spec: spec}
	w.watched.executions = append(w.watched.executions, e)
	select {
	case <-began:
	default:
		close(began)
	}
	w.mu.Unlock()
	if w.scenario.poison == call.Name {
		p.die()
		p.gate()
	}
	keyed := func() {
		w.mu.Lock()
		e.keyed = true
		w.mu.Unlock()
	}
	call.KeyRead = keyed
	if call.Parts != nil {
		call.Parts = notedParts{call.Parts, func() {
			keyed()
			w.mu.Lock()
			e.kept = true
			w.mu.Unlock()
		}}
	}
	if call.Children != nil {
		call.Children = ownChildren{call.Children, own, keyed}
	}
	if call.Others != nil {
		call.Others = ownOthers{call.Others, own, keyed}
	}
	result, err := t.Tool.Run(ctx, call)
	came := encode(result)
	if err != nil {
		came = err.Error()
	}
	w.mu.Lock()
	e.suspended = result.Suspend != nil
	w.watched.asked(result.Command)
	w.watched.seen = append(w.watched.seen, sight{"tool " + call.Name, where, came, e.kept})
	w.mu.Unlock()
	p.gate()
	return result, err
}

// ownChildren starts the runs of a call as the call is, and not as it is shown: their ids
// follow from its key.
type ownChildren struct {
	starter
	own   tool.Call
	asked func()
}

// starter is the type of tool.Call.Children.
type starter interface {
	StartChild(ctx context.Context, call tool.Call, child tool.Child) (core.ID, error)
	Lineage() tool.Lineage
}

// StartChild is for tool.Call.Children.
func (o ownChildren) StartChild(ctx context.Context, _ tool.Call, child tool.Child) (core.ID, error) {
	o.asked()
	return o.starter.StartChild(ctx, o.own, child)
}

// ownOthers gives a call its access to other threads as the call is, and not as it is shown: the
// ids of messages follow from its key.
type ownOthers struct {
	run.Others
	own   tool.Call
	asked func()
}

// SendMessage is for tool.Call.Others.
func (o ownOthers) SendMessage(ctx context.Context, _ tool.Call, m tool.Message) (core.ID, error) {
	o.asked()
	return o.Others.SendMessage(ctx, o.own, m)
}

// notedParts notes that a tool keeps parts.
type notedParts struct {
	kept
	asked func()
}

// kept is the type of tool.Call.Parts.
type kept interface {
	Part(ctx context.Context, name string) (json.RawMessage, bool, error)
	Keep(ctx context.Context, name string, value json.RawMessage) (json.RawMessage, error)
}

// Part is for tool.Call.Parts.
func (n notedParts) Part(ctx context.Context, name string) (json.RawMessage, bool, error) {
	n.asked()
	return n.kept.Part(ctx, name)
}
