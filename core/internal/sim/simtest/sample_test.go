package simtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/tool"
)

// sample is an agent that sells tickets, with the mistakes that are set.
type sample struct {
	keyless, clock, random, effect, global, field bool
}

// sold is the variable of the package that a mistake is to keep its state in.
var sold int

var (
	noted  = state.List[string]("noted", state.ScopeRun)
	mailed = plugin.Effect[string]{Name: "mail"}
	logged = plugin.Effect[string]{Name: "log"}
)

type purchase struct {
	Seat string `json:"seat"`
}

// parts are those of one process.
func (s sample) parts() (agent.Parts, error) {
	look := tool.New(tool.Spec{Name: "look", ReadOnly: true}, func(_ context.Context, _ tool.Call, p purchase) (tool.Result, error) {
		return tool.NewResult(p.Seat + " is free"), nil
	})
	charge := tool.New(tool.Spec{Name: "charge", Description: "Takes the money."}, func(_ context.Context, call tool.Call, p purchase) (string, error) {
		if !s.keyless {
			return "charged once for " + p.Seat + " under " + call.NewID("charge").String(), nil
		}
		return "charged for " + p.Seat, nil
	})
	return agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Model: model.None{}}},
		Tools:  []tool.Tool{look, charge},
		Plugins: []plugin.Plugin{
			&notes{id: "dated", note: func(c plugin.StepEnd) string {
				if s.clock {
					return time.Now().Format(time.DateTime)
				}
				return c.Now.Format(time.DateTime)
			}},
			&notes{id: "numbered", note: func(c plugin.StepEnd) string {
				if s.random {
					return fmt.Sprint(rand.Uint64())
				}
				return c.NewID("number").String()
			}},
			&notes{id: "counted", note: func(c plugin.StepEnd) string {
				if s.global {
					sold++
					return fmt.Sprint("sold ", sold)
				}
				return fmt.Sprint("sold ", c.Step)
			}},
			&notes{id: "remembered", steps: s.field, note: func(c plugin.StepEnd) string { return fmt.Sprint(c.Step) }},
			letters{s.effect},
		},
		Specs:   []agent.Spec{{ID: "seller", Model: "m", Plugins: []string{"dated", "numbered", "counted", "remembered", "letters"}}},
		Default: "seller",
	}, nil
}

// notes adds a note to the run's at the end of each step.
type notes struct {
	id    string
	note  func(c plugin.StepEnd) string
	steps bool // it counts steps in memory
	seen  int
}

// ID implements plugin.Plugin.
func (n *notes) ID() string { return n.id }

// Register implements plugin.Plugin.
func (n *notes) Register(r *plugin.Registrar) error {
	key := state.List[string](n.id, state.ScopeRun)
	r.Key(key)
	r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (state.Command, error) {
		text := n.note(c)
		if n.steps {
			n.seen++
			text = fmt.Sprint("step ", n.seen, " of this process")
		}
		return key.Update(text), nil
	})
	return nil
}

// letters writes to people when a run ends: as an effect that the state takes for done,
// or as one that nobody counts on.
type letters struct{ promised bool }

// ID implements plugin.Plugin.
func (letters) ID() string { return "letters" }

// Register implements plugin.Plugin.
func (l letters) Register(r *plugin.Registrar) error {
	r.Key(noted)
	nothing := func(context.Context, plugin.HandlerContext, string) error { return nil }
	mailed.Handle(r, nothing)
	logged.Handle(r, nothing)
	r.OnStepEnd(func(_ context.Context, c plugin.StepEnd) (state.Command, error) {
		if l.promised && c.Step == 1 {
			return state.Combine(mailed.Emit("your ticket"), noted.Update("mailed")), nil
		}
		return logged.Emit("a step"), nil
	})
	return nil
}

var sale = Scenario{Name: "sale", Person: []Act{Say(`call: look {"seat":"4A"}`), Say(`call: charge {"seat":"4A"}`)}}

// found plays scenarios and returns what was found, as kind and name.
func found(t *testing.T, parts func() (agent.Parts, error), scenarios ...Scenario) []string {
	t.Helper()
	return foundIn(t, func() World { return World{Parts: parts} }, scenarios...)
}

func foundIn(t *testing.T, world func() World, scenarios ...Scenario) (names []string) {
	t.Helper()
	c, err := newCast(world)
	if err != nil {
		t.Fatal(err)
	}
	if told(t, c, scenarios) {
		t.SkipNow()
	}
	u := suite{options: Options{Passings: searched, Seed: 1}, cast: c, told: map[string]bool{}}
	u.report = func(_ *testing.T, m mistake, world string) {
		names = append(names, fmt.Sprintf("%s: %s", m.kind, m.name))
		t.Logf("%s: %s (%s)", m.kind, m.text, world)
	}
	began := time.Now()
	for _, s := range scenarios {
		u.play(t, s)
	}
	t.Logf("%d worlds in %s", u.worlds, time.Since(began))
	return names
}

func TestEachMistakeIsNamed(t *testing.T) {
	const (
		twice  = "work done twice: charge"
		clock  = "clock: hook 1 of plugin dated at step_end"
		random = "randomness: hook 1 of plugin numbered at step_end"
		global = "state in a package variable: hook 1 of plugin counted at step_end"
		field  = "state that does not survive a takeover: hook 1 of plugin remembered at step_end"
		lost   = "lost effect: mail"
	)
	tests := []struct {
		name string
		with sample
		want []string
	}{
		{"none", sample{}, nil},
		{"no key", sample{keyless: true}, []string{twice}},
		{"clock", sample{clock: true}, []string{clock}},
		{"randomness", sample{random: true}, []string{random}},
		{"package variable", sample{global: true}, []string{global}},
		{"field", sample{field: true}, []string{field}},
		{"lost effect", sample{effect: true}, []string{lost}},
		{"all but the field", sample{keyless: true, clock: true, random: true, global: true, effect: true}, []string{random, global, clock, lost, twice}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if raced && tt.want != nil && len(tt.want) == 1 {
				t.Skip("found together with the others")
			}
			if diff := cmp.Diff(tt.want, found(t, tt.with.parts, sale)); diff != "" {
				t.Errorf("mistakes (-want +got):\n%s", diff)
			}
		})
	}
}
