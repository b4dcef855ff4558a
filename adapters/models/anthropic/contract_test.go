package anthropic_test

import (
	"context"
	"iter"
	"testing"

	"github.com/reveille-run/reveille/adapters/models/anthropic"
	"github.com/reveille-run/reveille/adapters/models/internal/wiretest"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/modeltest"
)

// provider is the adapter with a model of a name; with makes of it what the suite asks.
func provider(name string, with func(model.Model) model.Model) modeltest.Provider {
	return modeltest.Provider{
		Name: "anthropic", Model: name, Echo: `"signature":"signature-1+/="`, Own: "messages",
		Open: func(t *testing.T, play string) modeltest.Opened {
			s := wiretest.Serve(t, "testdata/transcripts", play)
			m, err := anthropic.New(anthropic.Options{APIKey: modeltest.Key, BaseURL: s.URL})
			if err != nil {
				t.Fatal(err)
			}
			return modeltest.Opened{Model: with(m), Requests: s.Requests, Gone: s.Gone()}
		},
		Stops: map[string]core.StopReason{
			"stop_end": core.StopEndTurn, "stop_limit": core.StopMaxTokens, "stop_sequence": core.StopSequence,
			"stop_refusal": core.StopContentFilter, "stop_window": core.StopContextOverflow, "stop_pause": core.StopOther,
			"stop_unknown": core.StopOther, "stop_calls_though_it_ends": core.StopToolUse, "stop_redacted": core.StopEndTurn,
		},
	}
}

// thinker asks for reasoning where nothing forbids it: a model that does not reason is
// given no reasoning back.
type thinker struct{ model.Model }

func (m thinker) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	if r.ReasoningEffort == "" && r.Temperature == nil {
		r.ReasoningEffort = model.EffortLow
	}
	return m.Model.Stream(ctx, r)
}

func asked(m model.Model) model.Model { return thinker{m} }
func plain(m model.Model) model.Model { return m }

func TestContract(t *testing.T) { provider("claude-sonnet-4-5", asked).Run(t) }

func TestNoHistoryBreaksTheRules(t *testing.T) {
	for _, p := range []modeltest.Provider{
		provider("claude-sonnet-4-5", asked), provider("claude-sonnet-4-5", plain), provider("claude-sonnet-5", plain), provider("another-vendors", plain),
		provider("claude-opus-4-8", asked), provider("claude-opus-5-5", plain),
	} {
		t.Run(p.Model, func(t *testing.T) {
			p.Histories(t, wiretest.CheckAnthropic)
		})
	}
}

func TestRequestsForSchemas(t *testing.T) {
	wiretest.WriteRequests(t, "anthropic", provider("claude-sonnet-4-5", asked))
	wiretest.WriteRequests(t, "anthropic-new", provider("claude-opus-5-5", plain))
}
