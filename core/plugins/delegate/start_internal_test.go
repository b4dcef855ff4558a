package delegate

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
)

// starter starts runs for calls below some agents, or fails to.
type starter struct {
	above []string
	err   error
	child tool.Child // the last one
}

func (s *starter) StartChild(_ context.Context, _ tool.Call, child tool.Child) (core.ID, error) {
	s.child = child
	return core.ID{15: 7}, s.err
}

func (s *starter) Lineage() tool.Lineage { return tool.Lineage{Agents: s.above} }

// The settings of a delegate decide about its run.
func TestTheRunOfADelegate(t *testing.T) {
	for _, tt := range []struct {
		settings Settings
		want     tool.Child
	}{
		{Settings{}, tool.Child{}},
		{Settings{Thread: "new", OnParentEnd: "cancel"}, tool.Child{}},
		{Settings{Thread: "kept"}, tool.Child{Kept: "poet"}},
		{Settings{OnParentEnd: "detach"}, tool.Child{Detached: true}},
	} {
		s := &starter{above: []string{"lead"}}
		r, err := delegation{plugin.Delegate{ID: "poet"}, tt.settings}.run(t.Context(), tool.Call{Thread: core.ThreadKey{Tenant: "acme", Thread: "t"}, Children: s}, arguments{"go"})
		tt.want.Agent, tt.want.Messages = "poet", []core.Message{core.UserMessage("go")}
		if diff := cmp.Diff(tt.want, s.child); diff != "" || err != nil || r.Suspend == nil || r.Suspend.ID != "00000000-0000-0000-0000-000000000007" || r.Suspend.Mode != core.ResumeReplay {
			t.Errorf("%+v: %v, %+v (-want +got):\n%s", tt.settings, err, r.Suspend, diff)
		}
	}
}

// A circle is named from the agent that would be in it twice.
func TestACircleOfDelegates(t *testing.T) {
	s := &starter{above: []string{"lead", "poet", "critic"}}
	r, err := delegation{agent: plugin.Delegate{ID: "poet"}}.run(t.Context(), tool.Call{Thread: core.ThreadKey{Tenant: "acme", Thread: "t"}, Children: s}, arguments{"go"})
	if want := "delegation to poet failed: cycle poet -> critic -> poet"; err != nil || r.Message != want || s.child.Agent != "" {
		t.Errorf("%q, %v; want %q", r.Message, err, want)
	}
}

// What a model can do something about is a result, and anything else the error of the call.
func TestADelegateThatCannotStart(t *testing.T) {
	for _, tt := range []struct {
		code   core.Code
		result bool
	}{
		{core.CodeInvalid, true}, {core.CodeNotFound, true}, {core.CodeFull, true}, {core.CodeTooLarge, true}, {core.CodeUnsupported, true},
		{core.CodeTenantLimit, true}, {core.CodeTenantSpend, true},
		{core.CodeThrottled, false}, {core.CodeUnavailable, false}, {core.CodeInternal, false}, {core.CodeDeleted, false}, {core.CodeForbidden, false},
	} {
		s := &starter{err: core.Errorf(tt.code, "no")}
		r, err := delegation{agent: plugin.Delegate{ID: "poet"}}.run(t.Context(), tool.Call{Thread: core.ThreadKey{Tenant: "acme", Thread: "t"}, Children: s}, arguments{"go"})
		if tt.result && (err != nil || r.Message != "delegation to poet failed: no" || !r.IsError) || !tt.result && core.CodeOf(err) != tt.code {
			t.Errorf("%s: %+v, %v", tt.code, r, err)
		}
	}
}

func TestWhoHasThePlugin(t *testing.T) {
	for n, want := range map[int]bool{0: false, 1: true} {
		if got := (Plugin{}).Implied(make([]plugin.Delegate, n)); got != want {
			t.Errorf("with %d delegates it is implied: %t", n, got)
		}
	}
}
