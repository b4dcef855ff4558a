package engine

import (
	"context"
	"encoding/json"

	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// Watcher receives the outcomes of a plugin's functions, for tests of plugins: see
// [Watched]. Each of its fields may be nil. They are called in the goroutines of the
// functions, concurrently.
type Watcher struct {
	// Show returns what a function is shown in the place of its context: with another
	// clock or run, of which NewID makes other ids.
	Show func(c plugin.Context) plugin.Context
	// Tool returns what runs in the place of a tool that the plugin adds.
	Tool func(t tool.Tool) tool.Tool
	// Saw is called for each function that has returned.
	Saw func(s Seen)
}

// Place is the kind of a function that a [Watcher] saw.
type Place string

// The places.
const (
	PlaceHook      Place = "hook"
	PlaceGate      Place = "gate"
	PlaceTransform Place = "transform"
	PlaceAction    Place = "action"
	PlaceEffect    Place = "effect"
)

// Seen is one function that was called, with its outcome.
type Seen struct {
	Place   Place
	Plugin  string
	Number  int    // of the plugin's hooks of the phase, or of the agent's gates or transforms, from 1
	Name    string // of the action or effect
	Context plugin.Context
	Call    int // index of the call that it is about, from 0; -1: none

	Command state.Command   // hooks, gates and actions
	Verdict *plugin.Verdict // gates
	Request *model.Request  // transforms: what they made; it must not be changed
	Payload json.RawMessage // actions and effects: what they were given
	Err     error
}

// Watched returns the plugin unchanged, and calls w with the outcomes of its hooks, gates,
// transforms and handlers.
func Watched(p plugin.Plugin, w Watcher) plugin.Plugin { return &watched{p, w} }

type watched struct {
	plugin.Plugin
	watcher Watcher
}

// moment is m as the watcher shows it. Hooks share m.
func (w *Watcher) moment(m *Moment) *Moment {
	shown := *m
	shown.Context = w.context(m.Context)
	return &shown
}

func (w *Watcher) context(c plugin.Context) plugin.Context {
	if w.Show != nil {
		return w.Show(c)
	}
	return c
}

func (w *Watcher) saw(s Seen) {
	s.Call = s.Context.About - 1
	if w.Saw != nil {
		w.Saw(s)
	}
}

func (w *Watcher) hook(id string, number int, run hookFunc) hookFunc {
	return func(ctx context.Context, m *Moment) (state.Command, error) {
		m = w.moment(m)
		command, err := run(ctx, m)
		w.saw(Seen{Place: PlaceHook, Plugin: id, Number: number, Context: m.Context, Command: command, Err: err})
		return command, err
	}
}

func (w *Watcher) gate(id string, number int, run gateFunc) gateFunc {
	return func(ctx context.Context, c plugin.GateCall) (plugin.Verdict, error) {
		c.Context = w.context(c.Context)
		v, err := run(ctx, c)
		w.saw(Seen{Place: PlaceGate, Plugin: id, Number: number, Context: c.Context, Command: v.Command, Verdict: &v, Err: err})
		return v, err
	}
}

func (w *Watcher) transform(id string, number int, run transformFunc) transformFunc {
	return func(ctx context.Context, c plugin.BeforeInference, request *model.Request) error {
		c.Context = w.context(c.Context)
		err := run(ctx, c, request)
		w.saw(Seen{Place: PlaceTransform, Plugin: id, Number: number, Context: c.Context, Request: request, Err: err})
		return err
	}
}

func (w *Watcher) action(id, name string, run actionFunc) actionFunc {
	return func(ctx context.Context, c plugin.HandlerContext, payload json.RawMessage) (state.Command, error) {
		c.Context = w.context(c.Context)
		command, err := run(ctx, c, payload)
		w.saw(Seen{Place: PlaceAction, Plugin: id, Name: name, Context: c.Context, Command: command, Payload: payload, Err: err})
		return command, err
	}
}

func (w *Watcher) effect(id, name string, run effectFunc) effectFunc {
	return func(ctx context.Context, c plugin.HandlerContext, payload json.RawMessage) error {
		c.Context = w.context(c.Context)
		err := run(ctx, c, payload)
		w.saw(Seen{Place: PlaceEffect, Plugin: id, Name: name, Context: c.Context, Payload: payload, Err: err})
		return err
	}
}
