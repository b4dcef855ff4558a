package run

import (
	"context"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/engine"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/inference"
	"github.com/reveille-run/reveille/core/internal/sent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
)

// prompt makes the requests of a step's inference ([inference.Prompt]), and keeps
// its decisions for the first of them, so that all others show the same. It lives
// as long as the draft that it reads: the machine makes both again at the same
// time, see [machine.forget].
//
// It writes into the draft only the fate of summaries: one that comes in force
// takes the place of messages there, and its cost is in the draft's totals. The
// draft knows of no prompt: it receives as values what records have about requests.
type prompt struct {
	holder *holder
	base   *base
	draft  *draft

	model   *registry.BoundModel // that is called next: the run's, or the member of its pool that [inference.Turn] names
	shown   window.History       // that the window is chosen from
	window  *core.Window         // the part of it that the model reads; nil: no request yet
	framed  bool                 // window is new: what it begins with is not marked yet
	beside  beside               // of the newest request
	said    []core.Message       // the words of the turn in it, and what asks for the rest
	parts   []thread.SentPart    // the messages that transforms made of it; nil: the same
	asks    bool                 // the turn asks for a summary
	noted   *core.Window         // the step's decision about summaries; nil: nothing
	settled []core.Event         // the fate of summaries, emitted when the step has started
}

var _ inference.Prompt = (*prompt)(nil)

// Request implements inference.Prompt. It is the only place where a request is
// made, so that a retry, a continuation and the first call differ only in the words
// so far. It depends only on the records that were read and on the draft:
//
//   - the agent's system prompt, the context messages that are part of it, and the
//     context of the run's frontend;
//   - context messages of the session and of the conversation;
//   - the conversation, cut to the window, with the run's task before it;
//   - the words of the turn so far, if a call continues it;
//   - context messages after the newest message;
//   - the agent's tools, then those of the run's frontend, except those that
//     plugins hide, and the one that takes the answer, see
//     registry.BoundModel.Format;
//   - parameters: the agent's, then the overrides of plugins for this step;
//   - last, the plugins' transforms, in order.
func (p *prompt) Request(ctx context.Context, said ...core.Message) (model.Request, error) {
	spec := &p.base.agent.Spec
	request := model.Request{
		Step: p.draft.step, Model: p.model.Name, System: spec.SystemPrompt, Tools: p.base.agent.ModelTools,
		MaxTokens: spec.MaxTokens, Temperature: spec.Temperature, TopP: spec.TopP, ReasoningEffort: spec.ReasoningEffort,
		StopSequences: spec.StopSequences, ResponseFormat: spec.ResponseFormat, ToolChoice: p.toolChoice(),
		ProviderOptions: spec.ProviderOptions[p.model.Provider],
	}
	asked, err := p.base.hooks.engine.Adjustments(p.draft.snapshot)
	if err != nil {
		return request, endAt("plugin", "what plugins ask of the request", err)
	}
	if asked.Override.UpstreamModel != "" && p.base.agent.Pooled() { // which member's provider would it be?
		return request, endAt("plugin", "a plugin asks for a model by name, and the agent's model is a pool", nil)
	}
	asked.Override.Apply(&request)
	request.Origin = p.model.Origin(request.Model)
	request.StreamIdleTimeout = p.idle(request.ReasoningEffort)
	if asked.Filters() {
		request.Tools = offered(request.Tools, &asked)
		if request.ToolChoice.Mode == model.ToolNamed && !asked.Offers(request.ToolChoice.Name) {
			request.ToolChoice = model.ToolChoice{} // what is hidden cannot be chosen
		}
	}
	p.model.Format(&request)
	if len(request.Tools) == 0 { // providers refuse a choice of nothing
		request.ToolChoice = model.ToolChoice{}
	}
	request.NoPromptCache = !p.base.agent.Spec.Context.Cached()
	p.beside = p.placed(&request, append(asked.Messages, shownBy(p.base.record.Frontend)...))
	if err := p.compact(ctx, &request); err != nil {
		return request, err
	}
	p.announceSummaries()
	p.frame(&request, p.beside)
	if p.base.agent.Reads && asked.Offers(toolcall.ReadResult) && window.Shortens(p.shown, *p.window) {
		request.Tools = append(slices.Clip(request.Tools), window.Definition())
	}
	request.Messages = p.arrange(p.beside, said)
	p.said, p.parts = said, nil
	p.marked(&request, p.beside)
	if p.base.hooks.engine.Transforms() {
		return p.transform(ctx, request)
	}
	return request, nil
}

// Shorten implements inference.Prompt. If the provider counts more than it accepts,
// the next estimates continue from that count, unless it reports a better one.
func (p *prompt) Shorten(refused *model.Request) (first uint64, ok bool) {
	was := *p.window
	r := p.reckoning(refused, p.beside)
	w, ok := r.Again(was)
	if !ok {
		return was.First, false
	}
	w.Tokens = int(int64(w.Estimate) * int64(max(r.Limit, r.Most)) / int64(max(was.Estimate, 1)))
	w.Refused = true
	p.window, p.framed = &w, true
	return w.First, true
}

// Use implements inference.Prompt. Another model has kept nothing of the beginning of the
// requests before.
func (p *prompt) Use(m *registry.BoundModel) { p.model, p.framed = m, true }

// Counted implements inference.Prompt.
func (p *prompt) Counted(tokens int) {
	p.window.Tokens = p.holder.s.choices.Counted(p.holder.id, p.draft.step, tokens)
}

// Taken implements inference.Prompt. It looks in the window alone: no model sees an
// older call together with this one.
func (p *prompt) Taken(callID string) bool {
	for _, m := range p.draft.messages.Slice() {
		for _, c := range m.ToolCalls {
			if c.ID == callID {
				return true
			}
		}
	}
	return false
}

// idle is how long the stream may be silent: twice as long where the model reasons, since
// many providers show nothing of it. 0: what the model was made with counts.
func (p *prompt) idle(effort model.Effort) time.Duration {
	retry := &p.base.agent.Spec.Retry
	switch {
	case p.model.Reasons(effort):
		return 2 * retry.StreamIdleTimeout()
	case retry.StreamIdleTimeoutMS == nil:
		return 0
	}
	return retry.StreamIdleTimeout()
}

// transform is apart from Request so that the request of an agent without transforms
// stays on the stack.
func (p *prompt) transform(ctx context.Context, request model.Request) (model.Request, error) {
	var m engine.Moment
	v := p.draft.view()
	p.base.hooks.fill(&m, core.PhaseBeforeInference, &v)
	given := request.Messages
	request.Messages = slices.Clone(given) // a transform that replaces one changes no history
	err := p.base.hooks.engine.Transform(ctx, m, &request)
	p.parts = sent.Parts(given, request.Messages)
	if err != nil && ctx.Err() != nil {
		return request, context.Cause(ctx)
	}
	if err != nil {
		return request, endAt("plugin", "request transform", err)
	}
	return request, nil
}

// toolChoice is the agent's choice of tools. One that forces a call holds until the
// run has called a tool: a model that must call one in every turn never ends.
func (p *prompt) toolChoice() model.ToolChoice {
	choice := p.base.agent.Spec.ToolChoice
	if forced := choice.Mode == model.ToolRequired || choice.Mode == model.ToolNamed; forced && len(p.draft.totals.Calls) > 0 {
		return model.ToolChoice{}
	}
	return choice
}

// offered returns the tools that the model sees, in a separate slice.
func offered(tools []model.ToolDefinition, asked *engine.Adjustments) []model.ToolDefinition {
	var shown []model.ToolDefinition
	for _, t := range tools {
		if asked.Offers(t.Name) {
			shown = append(shown, t)
		}
	}
	return shown
}

// arrange returns the messages of the request. If the request has nothing but the
// conversation, the conversation's own slice is the request's: nothing is copied.
func (p *prompt) arrange(b beside, said []core.Message) []core.Message {
	conversation := window.View(p.shown, *p.window, p.draft.past.Summary.Shown(), p.front(), p.base.agent.Reads)
	if len(b.before)+len(b.behind) == 0 {
		return append(conversation[:len(conversation):len(conversation)], said...)
	}
	messages := make([]core.Message, 0, len(b.before)+len(conversation)+len(said)+len(b.behind))
	messages = append(append(messages, b.before...), conversation...)
	return append(append(messages, said...), b.behind...)
}
