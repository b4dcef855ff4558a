package registry_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/model"
)

// slow says a word each second for so many seconds.
type slow int

func (s slow) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		for range int(s) {
			select {
			case <-ctx.Done():
				yield(model.Delta{}, fmt.Errorf("slow: %w", ctx.Err()))
				return
			case <-time.After(time.Second):
			}
			if !yield(model.Delta{Type: model.DeltaText, Text: "a "}, nil) {
				return
			}
		}
		yield(model.Delta{Type: model.DeltaStop}, nil)
	}
}

// strictly refuses every request.
type strictly struct{ slow }

func (strictly) Check(model.Request) error { return errors.New("cannot") }

// timedRegistry has an agent a, whose provider's adapter makes m.
func timedRegistry(m model.Model, limit time.Duration) (*registry.Registry, error) {
	return registry.New(agent.Parts{
		Specs:      []agent.Spec{{ID: "a", Model: "m"}},
		ModelSpecs: []agent.ModelSpec{{ID: "m", Provider: "p", UpstreamModel: "m"}},
		Providers:  []agent.ProviderSpec{{ID: "p", Adapter: "slow", TimeoutMS: int(limit.Milliseconds())}},
		Adapters:   map[string]func(agent.ProviderSpec) (model.Model, error){"slow": func(agent.ProviderSpec) (model.Model, error) { return m, nil }},
	})
}

// timedModel returns the client of that agent.
func timedModel(t *testing.T, m model.Model, limit time.Duration) model.Model {
	t.Helper()
	r, err := timedRegistry(m, limit)
	if err != nil {
		t.Fatal(err)
	}
	resolved, err := r.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	return resolved.Model
}

func TestACallOfAProviderWithATimeEndsInIt(t *testing.T) {
	tests := []struct {
		name         string
		limit        time.Duration
		cancelled    time.Duration // 0: never
		want         string
		kind         model.ErrorKind
		words, after int
	}{
		{"long enough", 5 * time.Second, 0, "<nil>", "", 3, 3},
		{"in the middle", 2500 * time.Millisecond, 0, "the call was not over after 2.5s: slow: context deadline exceeded", model.KindInterrupted, 2, 2},
		{"before it said anything", 500 * time.Millisecond, 0, "the call was not over after 500ms: slow: context deadline exceeded", model.KindTimeout, 0, 0},
		{"cancelled before", 5 * time.Second, 1500 * time.Millisecond, "slow: context deadline exceeded", "", 1, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if test.cancelled > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.cancelled)
					defer cancel()
				}
				words, began := 0, time.Now()
				var last error
				for d, err := range timedModel(t, slow(3), test.limit).Stream(ctx, model.Request{}) {
					if last = err; err == nil && d.Type == model.DeltaText {
						words++
					}
				}
				failed, _ := errors.AsType[*model.Error](last)
				var kind model.ErrorKind
				if failed != nil {
					kind = failed.Kind
				}
				if fmt.Sprint(last) != test.want || kind != test.kind || words != test.words || int(time.Since(began).Seconds()) != test.after {
					t.Errorf("%v of kind %q behind %d words and %v", last, kind, words, time.Since(began))
				}
			})
		})
	}
}

func TestATimedModelKnowsWhatItCannotExpress(t *testing.T) {
	if _, err := timedRegistry(strictly{slow(1)}, time.Second); fmt.Sprint(err) != `resolving agent "a": model "m": cannot` {
		t.Errorf("a model that checks does so no more with a time: %v", err)
	}
	if _, ok := timedModel(t, slow(1), time.Second).(model.Checker); ok {
		t.Error("a model that cannot check does so with a time")
	}
}
