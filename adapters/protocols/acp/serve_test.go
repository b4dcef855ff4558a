package acp_test

import (
	"strings"
	"testing"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/adapters/protocols/acp"
	"github.com/reveille-run/reveille/core"
)

// Without options, sessions talk to the default agent, on behalf of the tenant "local".
func TestServeWithoutOptions(t *testing.T) {
	w := newWorld(t)
	e := w.editorOf(w.serveWith(nil))
	session := e.session()
	if reason, text := e.says(session, "echo: hello"); reason != "end_turn" || text != "Echo: hello" {
		t.Errorf("the turn ends with %s after %q, want end_turn after \"Echo: hello\"", reason, text)
	}
	got, err := w.runtime.Thread(t.Context(), core.Identity{Tenant: "local"}, string(session))
	if err != nil || got.AgentID != "demo" {
		t.Errorf("the thread is of agent %q: %v, want demo", got.AgentID, err)
	}
}

// several is a host with several agents and no default.
type several struct{ protocol.Host }

func (several) DefaultAgent() string { return "" }

func TestServeRefusesToTalkToNoAgent(t *testing.T) {
	w := newWorld(t)
	for _, o := range []*acp.Options{nil, {Identity: identity}} {
		err := acp.Serve(t.Context(), strings.NewReader(""), &strings.Builder{}, several{w.runtime}, o)
		if core.CodeOf(err) != core.CodeInvalid || err.Error() != "acp: the host has no default agent, and Options.Agent names none" {
			t.Errorf("error %v", err)
		}
	}
	if err := acp.Serve(t.Context(), strings.NewReader(""), &strings.Builder{}, several{w.runtime}, &acp.Options{Agent: "demo"}); err != nil {
		t.Errorf("with an agent: %v", err)
	}
}
