package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// askNames are what a model calls in a world whose calls wait for people:
//
//   - guard, guardonce: a gate suspends the call, and its tool runs when it is allowed
//   - pair: a gate suspends it twice
//   - bar: a gate blocks it, at once or when a person has allowed it
//   - given: a gate gives its result
//   - approve, approveonce: the tool's own approval suspends the call
//   - both: the approval does so, and then a gate
//   - ask, askonce: the tool suspends itself, in one of the three modes
//   - twice: the tool suspends itself twice
//   - parts: the tool does its work in parts, and suspends itself between them
//   - deaf, deaftimed: the tool ignores its context
var askNames = []string{
	"echo", "slow", "once", "note", "fail", "given", "guard", "approve", "guardonce", "pair",
	"ask", "ask", "both", "askonce", "twice", "parts", "parts", "deaf", "deaftimed", "slow",
}

// crowdNames are called in rounds with more calls that wait than a head has places.
var crowdNames = []string{"guard", "approve", "guardonce", "ask", "approveonce", "askonce", "pair", "twice"}

// The sorts of rounds of an asking world.
func (s script) crowded(w *World) bool {
	return w.config.People.Asks && !w.config.Agents.Children && s.step == 0 && trait(s.name, 2, 9) == 0
}
func (s script) endless(w *World) bool {
	return w.config.People.Asks && !w.config.Agents.Children && s.step == 0 && trait(s.name, 2, 9) == 1
}

// toolFor is the tool of the call that has the name.
func (sc scripted) toolFor(s script, name string) string {
	of := func(names []string) string { return names[trait(name, 4, uint64(len(names)))] }
	switch {
	case sc.naps(s, name):
		return of(timerNames)
	case s.fans(sc.w):
		return of([]string{"child", "childresult"})
	case sc.starts(s, name):
		return of([]string{"child", "childresult"})
	case sc.letterTool(s, name) != "":
		return sc.letterTool(s, name)
	case sc.w.config.Agents.Children && !sc.w.threadOf(s.name).child:
		if sc.w.config.People.Asks {
			return of(mixedNames)
		}
		return of(childNames)
	case !sc.w.config.People.Asks:
		return of(toolNames)
	case s.endless(sc.w):
		return "slow"
	case s.crowded(sc.w):
		return of(crowdNames)
	case trait(name, 20, 40) == 0:
		return "bar"
	}
	return of(askNames)
}

// callID is the model's id of a call. Where people name calls by it, it is
// another in each turn: they may come late.
func (sc scripted) callID(nonce uint64, i int) string {
	if sc.w.config.People.Asks || sc.w.config.Agents.Timers {
		return fmt.Sprintf("c%d.%d", nonce, i)
	}
	return fmt.Sprintf("c%d", i)
}

// deafFor is the timeout of the deaf tool that has one.
const deafFor = 6 * time.Second

func (sc scripted) askingTools() (list []tool.Tool) {
	if !sc.w.config.People.Asks {
		return nil
	}
	for _, name := range []string{"given", "guard", "guardonce", "pair", "bar", "ask", "askonce", "twice", "parts", "deaf", "deaftimed", "approve", "approveonce", "both"} {
		spec := tool.Spec{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}
		switch name {
		case "guardonce", "askonce":
			spec.AtMostOnce = true
		case "approveonce":
			spec.AtMostOnce, spec.Approval = true, "May it?"
		case "approve", "both":
			spec.Approval = "May it?"
		case "deaftimed":
			spec.Timeout = deafFor
		}
		list = append(list, simTool{sc.w, spec})
	}
	return list
}

func deaf(name string) bool { return name == "deaf" || name == "deaftimed" }

// gated reports whether a gate lets no call of the tool run before it is allowed.
func gated(name string) bool {
	switch name {
	case "guard", "guardonce", "pair", "bar", "given", "approve", "approveonce", "both":
		return true
	}
	return false
}

// guard is the plugin of the gate.
type guard struct{ of, w *World } // w: that it looks at

// ID implements plugin.Plugin.
func (guard) ID() string { return "guard" }

// Register implements plugin.Plugin.
func (p guard) Register(r *plugin.Registrar) error {
	r.Gate(p.gate)
	return nil
}

func (p guard) gate(_ context.Context, c plugin.GateCall) (plugin.Verdict, error) {
	if p.w != nil {
		p.w.partition(c.Thread).state.asks.checkGate(p.w.current().host, c)
	}
	key := callKey(string(c.Call.Arguments))
	switch c.Call.Name {
	case "given":
		data, err := core.EncodeJSON("given " + key)
		return plugin.SetResult(core.ToolResult{Data: data}), err
	case "guard", "guardonce", "both":
		var id string // one that is derived from the place
		if trait(key, 23, 2) == 0 {
			id = fmt.Sprintf("s%d", c.CallIndex) // the same in the next turn
		}
		return p.waitFor(id, key, core.ResumeReplay), nil
	case "pair":
		if c.Resume != nil { // of the first, or of the second, which then counts as allowed
			return p.waitFor("second."+key, key, core.ResumeReplay), nil
		}
		return p.waitFor("first."+key, key, core.ResumeReplay), nil
	case "bar":
		if c.Resume != nil || trait(key, 25, 2) == 0 {
			return plugin.Block("barred"), nil
		}
		return p.waitFor("", key, core.ResumeReplay), nil
	}
	return plugin.Allow, nil
}

func (p guard) waitFor(id, key string, mode core.ResumeMode) plugin.Verdict {
	return plugin.Suspend(*p.of.scripted.suspension(id, key, mode))
}

// suspension is what a call waits for; some have a deadline.
func (sc scripted) suspension(id, key string, mode core.ResumeMode) *core.TicketRequest {
	s := &core.TicketRequest{ID: id, Action: "ask", Message: sc.bulk(key, 65, 3), Mode: mode}
	if trait(key, 22, 8) == 0 {
		s.Timeout = 40 * time.Second
	}
	return s
}

// ask is the part of a tool's work that suspends its call; ok reports that it does.
func (as *asks) ask(ctx context.Context, name, key string, call tool.Call) (r tool.Result, ok bool, err error) {
	modes := []core.ResumeMode{core.ResumeReplay, core.ResumeAsResult, core.ResumeAsArguments}
	switch name {
	case "ask", "askonce":
		if call.Resume == nil {
			r.Suspend = as.th.w.scripted.suspension("", key, modes[trait(key, 21, 3)])
		}
	case "twice":
		switch {
		case call.Resume == nil:
			r.Suspend = as.th.w.scripted.suspension("one."+key, key, core.ResumeReplay)
		case call.Resume.Suspension == "one."+key:
			r.Suspend = as.th.w.scripted.suspension("two."+key, key, modes[trait(key, 21, 3)])
		}
	case "parts":
		err := as.part(ctx, call, key, "a")
		if err == nil && call.Resume == nil && trait(key, 24, 2) == 0 {
			r.Suspend = as.th.w.scripted.suspension("", key, core.ResumeReplay)
			return r, true, nil
		}
		if err == nil {
			err = as.th.w.sleep(ctx, as.th.w.random.between(50*time.Millisecond, 2*time.Second))
		}
		if err == nil {
			err = as.part(ctx, call, key, "b")
		}
		return r, false, err
	}
	return r, r.Suspend != nil, nil
}
