package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/tool"
)

// getRun is the name of the tool with which a client comes back to a run.
const getRun = "get_run"

// keyMeta is the key of _meta that makes a call idempotent.
const keyMeta = "idempotencyKey"

// The schemas of the arguments that are not a tool's own.
const (
	agentArguments = `{"type":"object","properties":{` +
		`"message":{"type":"string","description":"What to say to the agent."},` +
		`"thread_id":{"type":"string","description":"The conversation to go on with: the thread_id of an earlier result. Absent: a new one. A message to a conversation that waits for a decision takes the place of that decision."}` +
		`},"required":["message"],"additionalProperties":false}`
	runArguments = `{"type":"object","properties":{"run_id":{"type":"string","description":"The run_id of an earlier result."}},"required":["run_id"],"additionalProperties":false}`
)

// call is one tools/call.
type call struct {
	ctx      context.Context // the HTTP request's
	session  context.Context // the SDK's, with which notifications find their response
	request  *sdk.CallToolRequest
	http     *http.Request
	identity core.Identity
}

// protect makes a handler of the SDK: an error, or a panic, becomes a result with the
// part that a client may read.
func (h *handler) protect(f func(call) (*sdk.CallToolResult, error)) sdk.ToolHandler {
	return func(ctx context.Context, request *sdk.CallToolRequest) (result *sdk.CallToolResult, _ error) {
		err := env.Protect(func() (err error) {
			r, ok := ctx.Value(requestKey{}).(*http.Request)
			if !ok {
				return core.Errorf(core.CodeInternal, "the call carries no request")
			}
			id, ok := core.IdentityFrom(r.Context())
			if !ok {
				return core.Errorf(core.CodeUnauthorized, "the request carries no identity")
			}
			result, err = f(call{ctx: r.Context(), session: ctx, request: request, http: r, identity: id})
			return err
		})
		if err != nil {
			protocol.Log(h.Log, err)
			result = refused(err)
		}
		return result, nil
	}
}

// submission makes the input of a call.
func (h *handler) submission(c call, e agent.Exposed) (s mailbox.Submission, err error) {
	s.Opening.AgentID = e.Agent
	text := string(c.request.Params.Arguments)
	if e.Parameters == nil {
		text, s.Thread.Thread, err = readArguments(c.request.Params.Arguments)
	} else if text == "" {
		text = "{}"
	}
	if err == nil && len(text) > tool.MaxArguments && e.Parameters != nil {
		// Before it is stored; the run would say the same.
		err = core.Errorf(core.CodeTooLarge, "arguments are larger than %d bytes", tool.MaxArguments)
	}
	if err != nil {
		return s, err
	}
	if s.Key.Value, err = c.key(); err != nil {
		return s, err
	}
	if s.Thread.Thread == "" {
		s.Thread.Thread = h.NewThread(c.identity, s.Key.Value)
	}
	s.Messages = []core.Message{core.UserMessage(text)}
	return s, h.Complete(&s, c.identity)
}

// readArguments reads what an agent is called with.
func readArguments(arguments json.RawMessage) (message, thread string, err error) {
	texts, err := readTexts(arguments, "message", "thread_id")
	if err != nil {
		return "", "", err
	}
	if texts["message"] == "" {
		return "", "", core.Errorf(core.CodeInvalid, "argument message is missing or empty")
	}
	if id, said := texts["thread_id"]; said {
		return texts["message"], id, core.CheckName("argument thread_id", id)
	}
	return texts["message"], "", nil
}

// runOf reads the arguments of get_run. A malformed id is treated as the id of no run.
func runOf(arguments json.RawMessage) (core.ID, error) {
	texts, err := readTexts(arguments, "run_id")
	if err != nil {
		return core.ID{}, err
	}
	if texts["run_id"] == "" {
		return core.ID{}, core.Errorf(core.CodeInvalid, "argument run_id is missing or empty")
	}
	id, err := core.ParseID(texts["run_id"])
	if err != nil {
		return id, core.Errorf(core.CodeNotFound, "run %s not found", core.Excerpt(texts["run_id"]))
	}
	return id, nil
}

// readTexts reads arguments that are texts, all of them among the allowed.
func readTexts(arguments json.RawMessage, allowed ...string) (map[string]string, error) {
	var raw map[string]json.RawMessage
	if len(arguments) > 0 {
		if err := json.Unmarshal(arguments, &raw); err != nil {
			return nil, core.Errorf(core.CodeInvalid, "the arguments are not an object")
		}
	}
	texts := make(map[string]string, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if !slices.Contains(allowed, name) {
			return nil, core.Errorf(core.CodeInvalid, "argument %q is unknown, allowed are: %s", core.Excerpt(name), strings.Join(allowed, ", "))
		}
		var text *string
		if err := json.Unmarshal(raw[name], &text); err != nil || text == nil {
			return nil, core.Errorf(core.CodeInvalid, "argument %s is not a string", name)
		}
		texts[name] = *text
	}
	return texts, nil
}

// key returns what makes the call idempotent: _meta's, or the header of the other
// routes; empty: it is not.
func (c call) key() (string, error) {
	if value, said := c.request.Params.Meta[keyMeta]; said {
		key, ok := value.(string)
		if !ok {
			return "", core.Errorf(core.CodeInvalid, "_meta.%s is not a string", keyMeta)
		}
		return key, core.CheckName("_meta."+keyMeta, key)
	}
	return protocol.IdempotencyKey(c.http)
}

// start submits and returns the outcome of the run, or its state when the time is over.
func (h *handler) start(c call, s mailbox.Submission) (*sdk.CallToolResult, error) {
	receipt, err := mailbox.Receipt{}, error(nil)
	if h.Buffered {
		receipt, err = h.Host.Submit(c.ctx, s)
	} else {
		receipt, err = h.Host.Stream(c.ctx, s, c.progress())
	}
	switch {
	case err != nil && receipt.RunID.IsZero(): // it was refused
		return nil, protocol.Hide(err, "thread", s.Thread.Thread)
	case err != nil: // the run continues, or has ended: its record decides
		protocol.Log(h.Log, err)
	case h.Buffered:
		return h.look(c, receipt.RunID)
	}
	return h.result(c, receipt.RunID)
}

// look follows a run that continues by itself, and returns its state.
func (h *handler) look(c call, run core.ID) (*sdk.CallToolResult, error) {
	record, err := h.Host.ReadRun(c.ctx, c.identity, run)
	if err != nil {
		return nil, protocol.Hide(err, "run", run.String())
	}
	if record.Status == core.RunDone || record.Status == core.RunWaiting {
		return h.resultOf(c, record)
	}
	ctx := c.ctx
	if h.Buffered {
		bounded, cancel := h.bounded(ctx)
		defer cancel()
		ctx = bounded
	}
	if err := h.Host.Follow(ctx, c.identity, run, c.progress()); err != nil {
		protocol.Log(h.Log, err)
	}
	return h.result(c, run)
}

// spare is the part of a request's time that is reserved to read the state of the run,
// and to respond.
const spare = 5 * time.Second

// bounded returns a context that ends after Options.Wait, or with ctx, or so long before
// its deadline that the answer still leaves. It has no deadline itself, of which Follow
// would keep the time of a whole step.
func (h *handler) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := h.wait
	if deadline, ok := ctx.Deadline(); ok {
		wait = min(wait, deadline.Sub(h.Env.Now())-spare)
	}
	free, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unbind := context.AfterFunc(ctx, cancel)
	timer := time.AfterFunc(wait, cancel)
	return free, func() {
		timer.Stop()
		unbind()
		cancel()
	}
}

// result returns the state of a run.
func (h *handler) result(c call, run core.ID) (*sdk.CallToolResult, error) {
	record, err := h.Host.ReadRun(c.ctx, c.identity, run)
	if err != nil {
		return nil, protocol.Hide(err, "run", run.String())
	}
	return h.resultOf(c, record)
}

// progress is the listener of the call's run.
func (c call) progress() host.Listener {
	p := &progress{call: c, token: c.request.Params.GetProgressToken()}
	return host.ListenerFunc(p.emit)
}
