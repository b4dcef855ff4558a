package providers

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/model"
)

// Adapters are what the adapter of an [agent.ProviderSpec] may name, for agent.Parts: the
// ids of the providers. Their options are, of openai and its kin, "dialect" and
// "organization", of openai-responses "reasoning_summary" too, of anthropic "version" and
// "betas"; another is an error.
func Adapters() map[string]func(agent.ProviderSpec) (model.Model, error) {
	all := map[string]func(agent.ProviderSpec) (model.Model, error){}
	for id, make := range makers() {
		if id == "scripted" {
			continue
		}
		all[id] = func(p agent.ProviderSpec) (model.Model, error) {
			m, err := make(connection{id: id, key: p.APIKey, baseURL: p.BaseURL, options: p.Options})
			if err != nil || p.TimeoutMS == 0 {
				return m, err
			}
			return within(m, time.Duration(p.TimeoutMS)*time.Millisecond), nil
		}
	}
	return all
}

// timed is a model whose calls end after a time.
type timed struct {
	model.Model
	limit time.Duration
}

// checked is a timed one that knows what it cannot express.
type checked struct {
	timed
	model.Checker
}

func within(m model.Model, limit time.Duration) model.Model {
	t := timed{m, limit}
	if c, ok := m.(model.Checker); ok {
		return checked{t, c}
	}
	return t
}

var errLimit = errors.New("the provider's timeout_ms is over")

// Stream implements model.Model.
func (t timed) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		ctx, cancel := context.WithTimeoutCause(ctx, t.limit, errLimit)
		defer cancel()
		began := false
		for delta, err := range t.Model.Stream(ctx, request) {
			if err != nil && errors.Is(context.Cause(ctx), errLimit) {
				kind := model.KindTimeout
				if began {
					kind = model.KindInterrupted
				}
				err = &model.Error{Kind: kind, Message: fmt.Sprintf("the call was not over after %v: %v", t.limit, err)}
			}
			began = true
			if !yield(delta, err) {
				return
			}
		}
	}
}
