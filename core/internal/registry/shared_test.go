package registry_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
)

// What one agent may not call, and what its plugins bring, is no other agent's matter.
func TestAgentsOfARegistryHaveTheirOwnTools(t *testing.T) {
	r := built(t, parts(
		agent.Spec{ID: "a", Model: "small", AllowedTools: []string{"read"}, Plugins: []string{"quiet"}},
		agent.Spec{ID: "b", Model: "small", ExcludedTools: []string{"drop"}}, agent.Spec{ID: "c", Model: "small"},
	))
	for id, want := range map[string][]string{"a": {"read"}, "b": {"read", "write"}, "c": {"drop", "read", "write"}} {
		got, err := r.Resolve(id)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, toolNames(got)); diff != "" {
			t.Errorf("agent %s: %s", id, diff)
		}
	}
	again, err := r.ResolveContent([]byte(`{"spec":{"id":"d","model":"small"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"drop", "read", "write"}, toolNames(again)); diff != "" {
		t.Error(diff)
	}
}

func TestARegistryGivesItsListsAway(t *testing.T) {
	r := built(t, parts(agent.Spec{ID: "a", Model: "small", AllowedToolPatterns: []string{"x*"}}))
	r.IDs()[0], r.Warnings()[0].Field = "changed", "changed"
	if !slices.Equal(r.IDs(), []string{"a"}) || r.Warnings()[0].Field != "allowed_tool_patterns[0]" {
		t.Errorf("ids %v, warnings %v", r.IDs(), r.Warnings())
	}
}

// An agent of yesterday brings models and a provider of its own: today's stay.
func TestStoredContentLeavesTheRegistryAsItIs(t *testing.T) {
	before := vendors(nil)
	before.Providers[0].BaseURL = "https://yesterday.example"
	before.ModelSpecs = append(before.ModelSpecs, agent.ModelSpec{ID: "old", Provider: "east", UpstreamModel: "old-1"})
	before.Specs[0].Model = "old"
	yesterday, today := resolve(t, before, "a").Content(), built(t, vendors(nil))
	got, err := today.ResolveContent(yesterday)
	if err != nil || got.Model.(*client).spec.BaseURL != "https://yesterday.example" {
		t.Fatalf("%+v, %v", got, err)
	}
	if _, err := today.ResolveContent([]byte(`{"spec":{"id":"a","model":"old"}}`)); err == nil {
		t.Error("yesterday's model is one of today's")
	}
	a, err := today.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	again, err := today.ResolveContent(a.Content())
	if err != nil || again.Model.(*client).spec.BaseURL != "" {
		t.Errorf("today's agent calls %+v, %v", again.Model, err)
	}
}
