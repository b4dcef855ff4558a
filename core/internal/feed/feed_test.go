package feed_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/feed"
)

var errBroken = errors.New("broken")

// said is a call that emits deltas and then returns an error.
func said(err error, deltas ...string) func(context.Context, func(core.Event) error) error {
	return func(_ context.Context, emit func(core.Event) error) error {
		for _, d := range deltas {
			if err := emit(core.Event{Delta: d}); err != nil {
				return err
			}
		}
		return err
	}
}

func TestALoopIsGivenEveryEventAndThenTheError(t *testing.T) {
	for name, tt := range map[string]struct {
		call func(context.Context, func(core.Event) error) error
		want []string
	}{
		"nothing":         {said(nil), nil},
		"events":          {said(nil, "a", "b"), []string{"a", "b"}},
		"an error behind": {said(errBroken, "a"), []string{"a", "error: broken"}},
		"a panic": {func(context.Context, func(core.Event) error) error { panic("no") },
			[]string{"error: panic: no"}},
	} {
		var got []string
		for e, err := range feed.Iterate(t.Context(), env.System(), tt.call) {
			if err != nil {
				first, _, _ := strings.Cut(err.Error(), "\n")
				got = append(got, "error: "+first)
				continue
			}
			got = append(got, e.Delta)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// The call never waits for the loop, and what is left of it ends with the loop.
func TestALoopThatIsLeftEndsTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		for e := range feed.Iterate(t.Context(), env.System(), func(ctx context.Context, emit func(core.Event) error) error {
			for i := range 1000 { // before the loop has taken the first
				_ = emit(core.Event{Delta: fmt.Sprint(i)})
			}
			<-ctx.Done()
			ended = core.CodeOf(context.Cause(ctx)) == core.CodeUnavailable
			return ctx.Err()
		}) {
			synctest.Wait()
			if e.Delta == "10" {
				break
			}
		}
		if !ended {
			t.Error("the call still runs, or does not know that the reader has left")
		}
	})
}
