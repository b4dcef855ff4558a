package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
)

// Options configures [New]. Every field may be zero.
type Options struct {
	// Buffered is set if the transport cannot stream: a call then gets its result at its end,
	// and nothing before it.
	Buffered bool
	Log      *slog.Logger // nil: slog.Default()
	// Wait is the longest time of a call if the transport cannot stream. Then the call
	// returns that its run continues. 0: 20 s, since API Gateway gives a request 30 s.
	Wait time.Duration
}

// defaultWait is Options.Wait that says nothing.
const defaultWait = 20 * time.Second

// name is how the server presents itself.
const name = "reveille"

// instructions tell a client's model what is the same of all tools.
const instructions = "Each tool starts a run, and its result has the run's id. A run with the status waiting needs the decision of a person; " +
	"one with the status running or queued goes on by itself. Ask " + getRun + " for either, later."

type handler struct {
	protocol.Server
	wait    time.Duration            // Options.Wait
	offered []agent.Exposed          // the tools that clients are offered
	exposed map[string]agent.Exposed // those by the agent that runs
	sdk     http.Handler
}

// New returns the handler of POST /v1/mcp over a host, whose exposed agents and tools it
// offers; nil options are the zero ones. It is for the Mounts of package httpapi, which
// identifies callers. It panics if an agent or a tool has the name get_run, which is a tool
// of the server, and if a tool's parameters have an x-mcp-header that the protocol does not
// allow.
func New(host protocol.Host, o *Options) http.Handler {
	if o == nil {
		o = &Options{}
	}
	offered := host.Exposed()
	h := &handler{
		Server: protocol.NewServer(host, protocol.Options{Buffered: o.Buffered, Log: o.Log}),
		wait:   cmp.Or(o.Wait, defaultWait), offered: offered, exposed: make(map[string]agent.Exposed, len(offered)),
	}
	sure := true // that the SDK takes all parameters
	for _, e := range offered {
		if e.Name == getRun {
			panic(fmt.Sprintf("mcp: %q is the name of a tool of the server, rename the agent or tool", getRun))
		}
		h.exposed[e.Agent] = e
		sure = sure && !hasHeaders(e.Parameters)
	}
	if h.sdk = protocol.Later(h.server); !sure {
		h.sdk = h.server()
	}
	return h.Handle(h.post)
}

// hasHeaders reports whether a schema may have an x-mcp-header, in any spelling that JSON
// has of it: the one keyword of a tool's parameters that the SDK may refuse, since
// core/tool checks their type.
func hasHeaders(schema []byte) bool {
	return bytes.Contains(schema, []byte(`\`)) || bytes.Contains(bytes.ToLower(schema), []byte("x-mcp-header"))
}

// server makes the SDK's part, with the tools. The SDK panics at parameters that it
// cannot offer.
func (h *handler) server() http.Handler {
	server := sdk.NewServer(&sdk.Implementation{Name: name, Version: "1"}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},                               // the list never changes; no logging
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" }, // it needs a token
	})
	for _, e := range h.offered {
		server.AddTool(h.toolOf(e))
	}
	server.AddTool(h.runTool())
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: h.Buffered,
		MaxRequestBodyBytes:        -1,   // package httpapi has bounded the body
		DisableLocalhostProtection: true, // the local host knows which names are its own
	})
}

// requestKey is the context key of a call's HTTP request: the SDK's context carries its
// values alone, and the run is to keep to the request's deadline, its reader to the client.
type requestKey struct{}

// post handles one JSON-RPC message. Malformed messages are refused here, with JSON-RPC
// errors; the SDK handles the rest.
func (h *handler) post(w http.ResponseWriter, r *http.Request, _ core.Identity) error {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return core.Errorf(core.CodeMethod, "%s is not allowed here, allowed are POST", r.Method)
	}
	m, failure, err := readMessage(r)
	switch {
	case err != nil:
		return err
	case failure != nil:
		failure.write(w, m.ID)
		return nil
	case !m.call(): // what happened to a call that another instance may have answered
		w.WriteHeader(http.StatusAccepted)
		return nil
	}
	if len(r.Header.Values("Accept")) == 0 { // who names none takes any; the SDK wants to read it
		r.Header.Set("Accept", "*/*")
	}
	r = r.WithContext(context.WithValue(r.Context(), requestKey{}, r))
	b := &bridge{id: m.ID, header: http.Header{}}
	if h.Buffered {
		h.sdk.ServeHTTP(b, r)
		b.send(w)
		return nil
	}
	b.out = protocol.NewWriter(w)
	if err := b.out.While(r.Context(), h.Env, func() error {
		h.sdk.ServeHTTP(b, r)
		return nil
	}); err != nil {
		return err
	}
	if !b.out.Started() {
		b.send(w)
	}
	return nil
}

// toolOf makes the tool of an agent, or of a tool by itself.
func (h *handler) toolOf(e agent.Exposed) (*sdk.Tool, sdk.ToolHandler) {
	t := &sdk.Tool{Name: e.Name, Description: e.Description, InputSchema: e.Parameters}
	if e.Parameters == nil {
		t.InputSchema = json.RawMessage(agentArguments)
	}
	if e.ReadOnly {
		t.Annotations = &sdk.ToolAnnotations{ReadOnlyHint: true}
	}
	return t, h.protect(func(c call) (*sdk.CallToolResult, error) {
		s, err := h.submission(c, e)
		if err != nil {
			return nil, err
		}
		return h.start(c, s)
	})
}

// runTool is the tool with which a client comes back to a run.
func (h *handler) runTool() (*sdk.Tool, sdk.ToolHandler) {
	t := &sdk.Tool{
		Name: getRun, InputSchema: json.RawMessage(runArguments), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
		Description: "Returns how a run stands that another tool has reported as waiting, running or queued, and its answer once it is done. It changes nothing.",
	}
	return t, h.protect(func(c call) (*sdk.CallToolResult, error) {
		run, err := runOf(c.request.Params.Arguments)
		if err != nil {
			return nil, err
		}
		return h.look(c, run)
	})
}
