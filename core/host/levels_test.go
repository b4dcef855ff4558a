package host_test

import (
	"context"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
)

// levelled keeps the levels of the requests that it receives.
type levelled struct{ received [][]string }

func (l *levelled) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	l.received = append(l.received, r.Levels)
	return func(yield func(model.Delta, error) bool) {
		_ = yield(model.Delta{Type: model.DeltaText, Text: "a"}, nil) && yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil)
	}
}

// The catalog's levels of a model reach its provider's code.
func TestARequestHasTheLevelsOfItsModel(t *testing.T) {
	known, err := new(catalog.Catalog).With([]byte(`{"models":[{"provider":"p","names":["m"],"context_window":100000,"reasoning":"levels","reasoning_levels":["low","high"]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	received := &levelled{}
	w := newWorld(t, func(c *host.Options) {
		m := c.Agents.Models["m"]
		m.Model, m.Name, m.Provider = received, "m", "p"
		c.Agents.Models["m"], c.Agents.Catalog = m, known
	})
	w.said(t, "t", "hello")
	if diff := cmp.Diff([][]string{{"low", "high"}}, received.received); diff != "" {
		t.Error(diff)
	}
}
