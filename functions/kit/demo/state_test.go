package demo_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model/scripted"
	"github.com/reveille-run/reveille/core/reveille/reveilletest"
	"github.com/reveille-run/reveille/functions/kit/demo"
)

// Keys that a call does not name stay as they are.
func TestSetStateMergesKeysIntoTheSharedState(t *testing.T) {
	e := env.System()
	parts, err := demo.Parts(map[string]agent.ModelBinding{demo.Model: {Model: scripted.New(e)}})
	if err != nil {
		t.Fatal(err)
	}
	r, err := host.New(host.Options{Agents: parts})
	if err != nil {
		t.Fatal(err)
	}
	say := func(text string) (said string) {
		t.Helper()
		_, err := r.Stream(t.Context(), mailbox.Submission{
			Thread: core.ThreadKey{Tenant: host.LocalTenant, Thread: "t"}, Opening: mailbox.Opening{AgentID: demo.ID}, Messages: []core.Message{core.UserMessage(text)},
		}, host.ListenerFunc(func(e core.Event) error {
			if e.Type == core.EventRunFinish {
				said = e.Response
			}
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		return said
	}
	for _, said := range []string{`state: {"color":"red","of":{"a":1,"b":2}}`, `state: {"of":{"c":3},"n":null}`, `state: {}`} {
		if got := say(said); got != "The state is set." {
			t.Fatalf("%s: %q", said, got)
		}
	}
	view, err := r.State(t.Context(), core.Identity{Tenant: host.LocalTenant}, "t", nil)
	if want := `{"thread":{"shared_state":{"color":"red","n":null,"of":{"c":3}}},"run":{}}`; err != nil || string(view.Document) != want {
		t.Errorf("state %s, %v; want %s", view.Document, err, want)
	}
	if got, want := say("state: [1]"), "Nothing came of it: invalid arguments: "; !strings.HasPrefix(got, want) {
		t.Errorf("a list: %q, want %s...", got, want)
	}
}

func TestSetStateTakesAnObjectAlone(t *testing.T) {
	set := named(t, "set_state")
	for _, arguments := range []string{`{}`, `{"state":1}`, `{"state":{},"more":1}`} {
		if got := reveilletest.RunTool(t, set, json.RawMessage(arguments)); !got.IsError {
			t.Errorf("%s: %+v; want an error result", arguments, got)
		}
	}
}
