package inference

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/breaker"
	"github.com/reveille-run/reveille/core/model"
)

// deaf is a listener that hears nothing.
type deaf struct{}

func (deaf) Hear(model.Delta) error                                       { return nil }
func (deaf) Stopped() bool                                                { return false }
func (deaf) Circuit(context.Context, breaker.CircuitState, time.Duration) {}

func TestAResponseHasALimit(t *testing.T) {
	whole := strings.Repeat("x", 32<<20)
	for name, of := range map[string]func(text string) model.Delta{
		"text":      func(text string) model.Delta { return model.Delta{Type: model.DeltaText, Text: text} },
		"arguments": func(text string) model.Delta { return model.Delta{Type: model.DeltaToolArgument, Text: text} },
		"an echo": func(text string) model.Delta {
			return model.Delta{Type: model.DeltaReasoning, Echo: json.RawMessage(text)}
		},
		"the id of a call": func(text string) model.Delta { return model.Delta{Type: model.DeltaToolStart, CallID: text} },
		"the name of one":  func(text string) model.Delta { return model.Delta{Type: model.DeltaToolStart, Name: text} },
		"an address":       func(text string) model.Delta { return cites(core.Annotation{URL: text}) },
		"a title":          func(text string) model.Delta { return cites(core.Annotation{Title: text}) },
		"a quote":          func(text string) model.Delta { return cites(core.Annotation{Quote: text}) },
		"an id":            func(text string) model.Delta { return cites(core.Annotation{ID: text}) },
	} {
		h := hearer{spent: &accounting.Spent{}, to: deaf{}}
		if !h.hear(of(whole), nil) || h.err != nil {
			t.Errorf("%s of 32 MB: error %v, want none", name, h.err)
		}
		const want = "the response of the model is longer than 32 MB, the limit"
		if h.hear(of("x"), nil) || h.err == nil || h.err.Error() != want || Passing(h.err) {
			t.Errorf("%s of a byte more: error %v, want %s, which is permanent", name, h.err, want)
		}
	}
}

func cites(a core.Annotation) model.Delta {
	return model.Delta{Type: model.DeltaAnnotation, Annotation: &a}
}

// A sum of counts must stay a number above zero.
func TestCountsOfAProviderAreBounded(t *testing.T) {
	const limit, most = 1_000_000_000, int(^uint(0) >> 1)
	got := counted(core.Usage{Input: most, Output: limit + 1, CacheRead: limit, CacheWrite: -1, Reasoning: -most, CacheWriteHour: limit - 1, Long: &core.LongUsage{Input: 7}})
	want := core.Usage{Input: limit, Output: limit, CacheRead: limit, CacheWriteHour: limit - 1}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
