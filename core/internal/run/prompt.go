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
	sum     window.Sum           // of the thread's messages, see window.Request
	kept    *window.Kept         // the messages of the newest request that had a slice of its own; nil: none had
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
	request.Inputs = p.model.Inputs
	if asked.Override.UpstreamModel != "" {
		request.Inputs = nil // nothing is known of that model
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
	shown := p.arrange(p.beside, said)
	p.said, p.parts = said, nil
	p.marked(&request, p.beside)
	if p.base.hooks.engine.Transforms() {
		return p.transform(ctx, request, &shown)
	}
	request.Messages = p.messages(&shown)
	return request, nil
}

// Shorten implements inference.Prompt. If the provider counts more than it accepts,
// the next estimates continue from that count, unless it reports a better one. If the
// model's window is smaller than expected, the estimate may have been right.
func (p *prompt) Shorten(refused *model.Request, limit int) (first uint64, ok bool) {
	was := *p.window
	r := p.reckoning(refused, p.beside, least(was.Known, limit))
	w, ok := r.Again(was)
	if !ok {
		return was.First, false
	}
	if w.Tokens = w.Estimate; limit == 0 {
		w.Tokens = int(int64(w.Estimate) * int64(max(r.Limit, r.Most)) / int64(max(was.Estimate, 1)))
	}
	w.Refused, w.Limit = true, limit
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
func (p *prompt) transform(ctx context.Context, request model.Request, shown *window.Shown) (model.Request, error) {
	var m engine.Moment
	v := p.draft.view()
	p.base.hooks.fill(&m, core.PhaseBeforeInference, &v)
	given := p.apart(shown)
	request.Messages = given
	err := p.base.hooks.engine.Transform(ctx, m, &request)
	p.parts = p.changed(shown, given, &request)
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

// arrange says what the request shows: the conversation under its window, between the
// context messages before it, and the words of the turn and the context messages behind it.
func (p *prompt) arrange(b beside, said []core.Message) window.Shown {
	behind := b.behind
	if len(said) > 0 {
		behind = append(said[:len(said):len(said)], behind...)
	}
	shown := window.Show(p.shown, *p.window, p.draft.past.Summary.Shown(), p.front(), p.base.agent.Reads)
	return shown.Between(b.before, behind)
}

// changed returns what transforms have made of the messages that they were given; nil: the
// same. Then the request has the slice that it would have without transforms.
func (p *prompt) changed(shown *window.Shown, given []core.Message, request *model.Request) []thread.SentPart {
	made := request.Messages
	intact := shown.Is(given) // it must be, but a transform that writes into it must not change a later request
	if intact && len(made) == len(given) && (len(made) == 0 || &made[0] == &given[0]) {
		if shown.Lasts() {
			request.Messages = p.messages(shown)
		}
		return nil
	}
	if p.kept != nil {
		p.kept.Forget()
	}
	if !intact {
		given = shown.Copy()
	}
	return sent.Parts(given, made)
}

// messages are those of the request. If it has nothing but the conversation, the
// conversation's own slice is the request's: nothing is copied.
func (p *prompt) messages(shown *window.Shown) []core.Message {
	if messages, ok := shown.Whole(); ok {
		return messages
	}
	if !shown.Lasts() {
		return shown.Copy()
	}
	return p.keep().Messages(shown)
}

// apart returns the messages of the request in a slice that is not the conversation's.
func (p *prompt) apart(shown *window.Shown) []core.Message {
	if !shown.Lasts() {
		return shown.Copy()
	}
	return p.keep().Apart(shown)
}

// keep returns what the step before has kept of its request.
func (p *prompt) keep() *window.Kept {
	if p.kept == nil {
		p.kept = p.draft.past.Kept.Borrow()
	}
	return p.kept
}
