package inference

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
)

// silent is a model that says nothing.
type silent struct{}

func (silent) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(func(model.Delta, error) bool) {}
}

// The window of a pool is the smallest that was told of its members, each for an hour.
func TestThePoolsWindowIsTheSmallest(t *testing.T) {
	r, err := registry.New(agent.Parts{
		Models: map[string]agent.ModelBinding{"a": {Model: silent{}, Name: "m-a"}, "b": {Model: silent{}, Name: "m-b"}, "c": {Model: silent{}, Name: "m-c"}},
		Pools:  []agent.ModelPoolSpec{{ID: "p", Routing: agent.RouteFirstHealthy, Members: []agent.PoolMember{{Model: "a"}, {Model: "b"}}}},
		Specs:  []agent.Spec{{ID: "pooled", Model: "p"}, {ID: "alone", Model: "c"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	pooled, err := r.Resolve("pooled")
	if err != nil {
		t.Fatal(err)
	}
	alone, err := r.Resolve("alone")
	if err != nil {
		t.Fatal(err)
	}
	noon := time.Unix(1_800_000_000, 0)
	var w Windows
	known := func(what string, at time.Duration, ofPool, ofOther int) {
		t.Helper()
		if p, o := w.Known(pooled, noon.Add(at)), w.Known(alone, noon.Add(at)); p != ofPool || o != ofOther {
			t.Errorf("%s: %d of the pool, %d of another model, want %d and %d", what, p, o, ofPool, ofOther)
		}
	}
	known("nothing was told", 0, 0, 0)
	members := pooled.CallableModels()
	w.Learn(members[0], members[0].Name, 4_000, noon)
	known("of one", 0, 4_000, 0)
	w.Learn(members[1], members[1].Name, 9_000, noon.Add(time.Minute))
	known("more of the second", time.Minute, 4_000, 0)
	known("to the hour", time.Hour, 4_000, 0)
	known("after it", time.Hour+1, 9_000, 0)
	known("after both", 2*time.Hour, 0, 0)
	w.Learn(members[0], "another name", 500, noon)
	known("of a name that the pool does not call", 0, 0, 0)
}

func TestTheLimitAfterARefusal(t *testing.T) {
	unknown, known := &registry.BoundModel{Name: "m", Facts: model.Facts{Assumed: true}}, &registry.BoundModel{Name: "m"}
	for _, tt := range []struct {
		what    string
		failure *model.Error
		of      *registry.BoundModel
		name    string
		want    int
	}{
		{"a number", &model.Error{Limit: 4096}, unknown, "m", 4096},
		{"no number, of a model that nobody knows", &model.Error{}, unknown, "m", 8192},
		{"no model error", nil, unknown, "m", 8192},
		{"no number, of a known model", &model.Error{}, known, "m", 0},
		{"no number, of a model that a plugin names", &model.Error{}, unknown, "other", 0},
	} {
		if got := limitOf(tt.failure, tt.of, tt.name); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.what, got, tt.want)
		}
	}
}
