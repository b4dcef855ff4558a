package run

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/plugin"
	"github.com/reveille-run/reveille/core/tool"
	"github.com/reveille-run/reveille/core/window"
)

// prepare makes the request for an inference of this step: the only place where one
// is made, so that a retry, a continuation and the first call differ in nothing but
// what is said so far. It depends on the draft alone:
//
//   - the agent's system prompt, the context messages that are part of it, and what
//     the run's frontend shows;
//   - context messages of the session and of the conversation;
//   - the conversation, cut to the window, with what the run was asked before it;
//   - what the turn has said, if a call is to go on from it;
//   - context messages behind the newest message;
//   - the agent's tools, then those of the run's frontend, but for those that plugins
//     hide, and the one that takes the answer, see agent.BoundModel.Format;
//   - parameters: the agent's, then what plugins override for this step;
//   - last, the plugins' transforms, in order.
func (d *draft) prepare(ctx context.Context, said ...core.Message) (model.Request, error) {
	spec := &d.base.agent.Spec
	request := model.Request{
		Model: d.base.model.Name, System: spec.SystemPrompt, Tools: d.base.agent.ModelTools,
		MaxTokens: spec.MaxTokens, Temperature: spec.Temperature, TopP: spec.TopP, ReasoningEffort: spec.ReasoningEffort,
		StopSequences: spec.StopSequences, ResponseFormat: spec.ResponseFormat, ToolChoice: d.toolChoice(),
		ProviderOptions: spec.ProviderOptions[d.base.model.Provider],
	}
	asked, err := d.base.hooks.engine.Adjustments(d.snapshot)
	if err != nil {
		return request, endAt("plugin", "what plugins ask of the request", err)
	}
	if asked.Override.UpstreamModel != "" && d.base.agent.Pooled() { // which member's provider would it be?
		return request, endAt("plugin", "a plugin asks for a model by name, and the agent's model is a pool", nil)
	}
	asked.Override.Apply(&request)
	request.Origin = d.base.model.Origin(request.Model)
	request.StreamIdleTimeout = d.idle(request.ReasoningEffort)
	if asked.Filters() {
		request.Tools = offered(request.Tools, &asked)
		if request.ToolChoice.Mode == model.ToolNamed && !asked.Offers(request.ToolChoice.Name) {
			request.ToolChoice = model.ToolChoice{} // what is hidden cannot be chosen
		}
	}
	d.base.model.Format(&request)
	if len(request.Tools) == 0 { // providers refuse a choice of nothing
		request.ToolChoice = model.ToolChoice{}
	}
	request.NoPromptCache = !d.base.agent.Spec.Context.Cached()
	d.beside = d.placed(&request, append(asked.Messages, shownBy(d.base.record.Frontend)...))
	if err := d.compact(ctx, &request); err != nil {
		return request, err
	}
	d.announceSummaries()
	d.frame(&request, d.beside)
	if d.base.agent.Reads && asked.Offers(tool.ReadResult) && window.Shortens(d.shown, *d.window) {
		request.Tools = append(slices.Clip(request.Tools), window.Definition())
	}
	request.Messages = d.arrange(d.beside, said)
	d.marked(&request, d.beside)
	if d.base.hooks.engine.Transforms() {
		return d.transform(ctx, request)
	}
	return request, nil
}

// idle is how long the stream may be silent: twice as long where the model reasons, since
// many providers show nothing of it. 0: what the model was made with counts.
func (d *draft) idle(effort model.Effort) time.Duration {
	retry := &d.base.agent.Spec.Retry
	switch {
	case d.base.model.Reasons(effort):
		return 2 * retry.StreamIdleTimeout()
	case retry.StreamIdleTimeoutMS == nil:
		return 0
	}
	return retry.StreamIdleTimeout()
}

// transform is apart from prepare so that the request of an agent without transforms
// stays on the stack.
func (d *draft) transform(ctx context.Context, request model.Request) (model.Request, error) {
	err := d.base.hooks.engine.Transform(ctx, d.base.hooks.moment(core.PhaseBeforeInference, d.view(), plugin.Moment{}), &request)
	if err != nil && ctx.Err() != nil {
		return request, context.Cause(ctx)
	}
	if err != nil {
		return request, endAt("plugin", "request transform", err)
	}
	return request, nil
}

// toolChoice is the agent's choice of tools. One that forces a call holds until the
// run has called a tool: a model that must call one in every turn never comes to an
// end.
func (d *draft) toolChoice() model.ToolChoice {
	choice := d.base.agent.Spec.ToolChoice
	if forced := choice.Mode == model.ToolRequired || choice.Mode == model.ToolNamed; forced && len(d.totals.Calls) > 0 {
		return model.ToolChoice{}
	}
	return choice
}

// offered returns the tools that the model is shown, in a slice of its own.
func offered(tools []model.ToolDefinition, asked *plugin.Adjustments) []model.ToolDefinition {
	var shown []model.ToolDefinition
	for _, t := range tools {
		if asked.Offers(t.Name) {
			shown = append(shown, t)
		}
	}
	return shown
}

// beside is what a request says besides the conversation and the system prompt.
type beside struct {
	before []core.Message // the conversation: the same from step to step, as long as plugins keep it
	behind []core.Message // its newest message: what holds for this step alone
}

// placed puts context messages where they belong. What lasts stands before the
// conversation, in the system prompt or behind it. What is this step's alone stands
// behind the newest message, whatever its target, so that what providers keep of the
// request's beginning is not lost with each step.
func (d *draft) placed(request *model.Request, context []plugin.ContextMessage) (b beside) {
	var text strings.Builder
	for i := range context {
		switch m := &context[i]; {
		case m.Target == plugin.TargetSuffix || !m.Persistent:
			if text.Len() > 0 {
				text.WriteString("\n\n")
			}
			text.WriteString(m.Text)
		case m.Target == plugin.TargetSystem || m.Target == "":
			request.System = strings.TrimPrefix(request.System+"\n\n"+m.Text, "\n\n")
		default:
			b.before = append(b.before, d.contextMessage(m))
		}
	}
	if text.Len() > 0 {
		b.behind = []core.Message{d.contextMessage(&plugin.ContextMessage{Key: "step", Text: text.String()})}
	}
	return b
}

// arrange returns the messages of the request. Where nothing stands beside the
// conversation its own slice is the request's: nothing is copied.
func (d *draft) arrange(b beside, said []core.Message) []core.Message {
	conversation := window.View(d.shown, *d.window, d.past.Summary.Shown(), d.front(), d.base.agent.Reads)
	if len(b.before)+len(b.behind) == 0 {
		return append(conversation[:len(conversation):len(conversation)], said...)
	}
	messages := make([]core.Message, 0, len(b.before)+len(conversation)+len(said)+len(b.behind))
	messages = append(append(messages, b.before...), conversation...)
	return append(append(messages, said...), b.behind...)
}

// contextMessage is a context message as the model reads it. Its id says whose it
// is, and never stands in a log.
func (d *draft) contextMessage(m *plugin.ContextMessage) core.Message {
	role := m.Role
	if role == "" {
		role = core.RoleSystem
	}
	return core.Message{
		ID: "context." + m.Key, Role: role, RunID: d.base.holder.id, Content: []core.Block{{Type: core.BlockText, Text: m.Text}},
	}
}
