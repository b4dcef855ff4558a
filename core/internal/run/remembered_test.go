package run

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
)

// The next step continues from what the step before has measured of the thread, and from the
// messages of its request; a step that has made no request changes neither.
func TestAStepRemembersItsRequest(t *testing.T) {
	said := textOf(core.RoleUser, 368)
	h := window.History{Messages: []core.Message{said}, Places: []window.Place{{Sequence: 1}}}
	m := &machine{
		holder: holder{s: &Stepper{reader: checkpoint.New(checkpoint.Options{Env: env.System()})}},
		base:   base{conversation: checkpoint.Empty(1), agent: resolved(t, nil)},
	}
	m.begin()
	m.prompt.window, m.prompt.shown = &core.Window{}, h
	m.prompt.model = m.base.agent.CallableModels()[0]
	if got := m.prompt.reckoning(&model.Request{}, beside{}, 0).Next().Estimate; got != 192 {
		t.Fatalf("the request is estimated at %d, want 192", got)
	}
	kept := m.prompt.keep()
	for _, asks := range []bool{true, false} {
		m.remember(t.Context())
		c := m.base.conversation
		if c.Sum == (window.Sum{}) || c.Kept != kept || c.Kept.Borrow() != kept {
			t.Fatalf("with a request %v: the sum is %+v, and the messages are kept: %v", asks, c.Sum, c.Kept == kept)
		}
		kept.Release()
		m.begin()
	}
	m.prompt.shown = window.History{Messages: []core.Message{textOf(core.RoleUser, 5000), said}, Places: []window.Place{{Sequence: 1}, {Sequence: 2}}}
	if got := m.prompt.reckoning(&model.Request{}, beside{}, 0).Next().Estimate; got != 384 {
		t.Errorf("the next request is estimated at %d, want 384: the older message was measured again", got)
	}
	if m.prompt.keep() != kept {
		t.Error("the next request has other messages")
	}
}
