package run_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// A step whose thread is deleted while it works has lost its claim, whatever else it
// comes to: nobody tries it again.
func TestStepOfADeletedThreadHasLostItsClaim(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"the model answers", nil},
		{"the model fails, and the claim would be given back", &model.Error{Kind: model.KindOverloaded, Message: "overloaded"}},
		{"the model fails for good", &model.Error{Kind: model.KindInvalid, Message: "no"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var w *world
			w = newWorld(t, options{model: modelFunc(func(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
				if err := w.box.Delete(ctx, key, ""); err != nil {
					t.Error(err)
				}
				return func(yield func(model.Delta, error) bool) {
					if tt.err != nil {
						yield(model.Delta{}, tt.err)
						return
					}
					for _, d := range text("hello") {
						if !yield(d, nil) {
							return
						}
					}
				}
			})})
			w.submit(t, key, "hi", mailbox.ModeQueue)
			_, err := w.stepper.Step(t.Context(), run.Work{Key: key, Head: w.take(t, key)}, nil)
			if !errors.Is(err, thread.ErrFenced) || !errors.Is(err, thread.ErrDeleted) {
				t.Errorf("the step comes to %v, want that its claim is lost to a delete", err)
			}
		})
	}
}
