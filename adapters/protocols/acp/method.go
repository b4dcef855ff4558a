package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

type rawJSON = json.RawMessage

// handle answers a request or takes a notification. A panic is that request's error.
func (c *connection) handle(ctx context.Context, method string, params rawJSON) (any, *sdk.RequestError) {
	if !c.enter() {
		return nil, refusal(c.log, host.ErrStopping)
	}
	defer c.working.Done()
	var result any
	err := env.Protect(func() (err error) {
		result, err = c.call(ctx, method, params)
		return err
	})
	if err != nil {
		if method == sdk.AgentMethodSessionCancel { // which has no answer
			c.log.Warn("malformed cancel from the client", "error", err)
		}
		return nil, refusal(c.log, err)
	}
	return result, nil
}

func (c *connection) call(ctx context.Context, method string, params rawJSON) (any, error) {
	switch method {
	case sdk.AgentMethodInitialize:
		return with(params, c.initialize)
	case sdk.AgentMethodSessionNew:
		return with(params, c.newSession)
	case sdk.AgentMethodSessionLoad:
		return with(params, c.loadSession)
	case sdk.AgentMethodSessionResume:
		return with(params, c.resumeSession)
	case sdk.AgentMethodSessionClose:
		return with(params, func(p sdk.CloseSessionRequest) (any, error) {
			c.sessions.end(string(p.SessionId))
			return struct{}{}, nil
		})
	case sdk.AgentMethodSessionPrompt:
		return c.prompt(ctx, params)
	case sdk.AgentMethodSessionCancel:
		return with(params, func(p sdk.CancelNotification) (any, error) {
			c.sessions.cancel(string(p.SessionId))
			return struct{}{}, nil
		})
	}
	return nil, &sdk.RequestError{Code: protocol.RPCNoMethod, Message: "method " + core.Excerpt(method) + " is not supported"}
}

// with decodes the parameters of a method. Unknown keys are ignored, as the protocol
// wants it.
func with[P any](params rawJSON, f func(P) (any, error)) (any, error) {
	p, err := decode[P](params)
	if err != nil {
		return nil, err
	}
	return f(p)
}

func decode[P any](params rawJSON) (p P, err error) {
	if len(params) == 0 {
		return p, core.Errorf(core.CodeInvalid, "the request has no params")
	}
	err = json.Unmarshal(params, &p)
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return p, core.Errorf(core.CodeInvalid, "params: %s cannot be of the type %s", cmp.Or(wrong.Field, "they"), wrong.Value)
	}
	if err != nil {
		return p, core.Errorf(core.CodeInvalid, "params: %w", err)
	}
	if v, ok := any(&p).(interface{ Validate() error }); ok {
		if err := v.Validate(); err != nil {
			return p, core.Errorf(core.CodeInvalid, "params: %w", err)
		}
	}
	return p, nil
}

// capabilities are what an agent here can do.
var capabilities = agentCapabilities{
	LoadSession: true,
	Prompt:      promptCapabilities{EmbeddedContext: true},
	Session:     sessionCapabilities{Resume: &struct{}{}, Close: &struct{}{}},
}

// The capabilities in types of this package: the library's types have parts that are not
// in the protocol yet.
type (
	agentCapabilities struct {
		LoadSession bool                `json:"loadSession"`
		Prompt      promptCapabilities  `json:"promptCapabilities"`
		MCP         mcpCapabilities     `json:"mcpCapabilities"`
		Session     sessionCapabilities `json:"sessionCapabilities"`
	}
	promptCapabilities struct {
		Image           bool `json:"image"`
		Audio           bool `json:"audio"`
		EmbeddedContext bool `json:"embeddedContext"`
	}
	mcpCapabilities struct {
		HTTP bool `json:"http"`
		SSE  bool `json:"sse"`
	}
	sessionCapabilities struct {
		Resume *struct{} `json:"resume,omitempty"`
		Close  *struct{} `json:"close,omitempty"`
	}
	initialized struct {
		Version      int                 `json:"protocolVersion"`
		Capabilities agentCapabilities   `json:"agentCapabilities"`
		Info         *sdk.Implementation `json:"agentInfo"`
		AuthMethods  []struct{}          `json:"authMethods"`
	}
)

// initialize returns the only supported version for every version of the client: if the
// client does not support it, it closes the connection, by the protocol.
func (c *connection) initialize(sdk.InitializeRequest) (any, error) {
	return initialized{
		Version: sdk.ProtocolVersionNumber, Capabilities: capabilities, AuthMethods: []struct{}{},
		Info: &sdk.Implementation{Name: "reveille", Title: sdk.Ptr("Reveille"), Version: c.Version},
	}, nil
}

// newSession makes a thread's id. The thread begins with its first prompt.
func (c *connection) newSession(p sdk.NewSessionRequest) (any, error) {
	id := c.Host.Env().NewID()
	c.passOver(id.String(), p.McpServers)
	c.sessions.open(id.String())
	return sdk.NewSessionResponse{SessionId: sdk.SessionId(id.String())}, nil
}

// passOver logs that tools of the client's MCP servers are not available to the agent,
// whose tools are those of its spec. A refusal would exclude every client that has a
// server.
func (c *connection) passOver(session string, servers []sdk.McpServer) {
	if len(servers) > 0 {
		c.log.Warn("ignoring MCP servers of the client", "session", session, "servers", len(servers))
	}
}

// loadSession opens a thread of an earlier connection, and shows its messages.
func (c *connection) loadSession(p sdk.LoadSessionRequest) (any, error) {
	id := string(p.SessionId)
	if err := c.reopen(id, p.McpServers); err != nil {
		return nil, err
	}
	if err := c.replay(id); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// resumeSession is loadSession for a client that has kept the messages.
func (c *connection) resumeSession(p sdk.ResumeSessionRequest) (any, error) {
	if err := c.reopen(string(p.SessionId), p.McpServers); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

func (c *connection) reopen(id string, servers []sdk.McpServer) error {
	if err := core.CheckName("session id", id); err != nil {
		return err
	}
	_, err := c.Host.Thread(c.ctx, c.Identity, id)
	switch code := core.CodeOf(err); {
	case code == core.CodeNotFound && c.sessions.isOpen(id): // made here, and nothing said yet
	case code == core.CodeNotFound || code == core.CodeForbidden:
		return unknownSession(id)
	case err != nil:
		return err
	}
	c.passOver(id, servers)
	c.sessions.open(id)
	return nil
}

// update tells the client of a session.
func (c *connection) update(session string, u update) error {
	err := c.wire.SendNotification(c.ctx, sdk.ClientMethodSessionUpdate, struct {
		Session string `json:"sessionId"`
		Update  update `json:"update"`
	}{session, u})
	if err != nil {
		return fmt.Errorf("notify the client: %w", err)
	}
	return nil
}

// submission is the input of a prompt.
func (c *connection) submission(session string, prompt []sdk.ContentBlock) (mailbox.Submission, error) {
	m, err := message(prompt)
	s := mailbox.Submission{
		Thread: core.ThreadKey{Tenant: c.Identity.Tenant, Thread: session}, User: c.Identity.User,
		Opening: mailbox.Opening{AgentID: c.Agent}, Messages: []core.Message{m},
	}
	if err != nil {
		return s, err
	}
	return s, s.Check()
}
