package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// stateless is the first version of the protocol without a handshake. An unknown method
// is a 404 since then.
const stateless = "2026-07-28"

// methods are what clients may call.
var methods = []string{"initialize", "ping", "server/discover", "tools/list", "tools/call"}

// message is the envelope of a JSON-RPC message.
type message struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  *string         `json:"method"`
	Params  json.RawMessage `json:"params"`
}

// call reports whether the message wants a response: it is not a notification, and not an
// unrequested response.
func (m message) call() bool { return m.Method != nil && m.ID != nil }

// failure is a JSON-RPC error before or around the SDK.
type failure struct {
	status int
	code   int
	text   string
}

// readMessage reads the body and puts it back. The message has an id as soon as it is
// known, so that a failure can name it.
func readMessage(r *http.Request) (m message, f *failure, err error) {
	var body []byte
	if r.Body != nil {
		if body, err = protocol.Body(r); err != nil {
			return m, nil, err
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	text := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case !json.Valid(body):
		return m, &failure{http.StatusBadRequest, protocol.RPCParse, "the body is not JSON"}, nil
	case text[0] == '[':
		return m, &failure{http.StatusBadRequest, protocol.RPCInvalidRequest, "batches are not taken, send one message at a time"}, nil
	case text[0] != '{':
		return m, &failure{http.StatusBadRequest, protocol.RPCInvalidRequest, "the body is not an object"}, nil
	}
	if err := json.Unmarshal(body, &m); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) {
			return m, &failure{http.StatusBadRequest, protocol.RPCInvalidRequest, wrong.Field + " is a " + wrong.Value + ", want a string"}, nil
		}
		return m, &failure{http.StatusBadRequest, protocol.RPCInvalidRequest, "the body is not a JSON-RPC message"}, nil
	}
	return m, m.check(r.Header.Get("Mcp-Protocol-Version")), nil
}

// check looks at what the SDK would refuse in other words than JSON-RPC's.
func (m *message) check(version string) *failure {
	id := m.ID
	if id != nil && id[0] != '"' && (id[0] < '0' || id[0] > '9') && id[0] != '-' {
		m.ID = nil
		return &failure{http.StatusBadRequest, protocol.RPCInvalidRequest, "id must be a string or a number"}
	}
	switch {
	case m.JSONRPC != "2.0":
		return &failure{http.StatusBadRequest, protocol.RPCInvalidRequest, `jsonrpc must be "2.0"`}
	case !m.call():
		return nil
	case slices.Contains(methods, *m.Method):
		return m.checkParams(version)
	}
	status := http.StatusOK
	if version >= stateless {
		status = http.StatusNotFound
	}
	return &failure{status, protocol.RPCNoMethod, "method " + core.Excerpt(*m.Method) + " is unknown"}
}

// checkParams refuses params that the SDK could not decode, since the SDK's error would
// name its own types.
func (m *message) checkParams(version string) *failure {
	var params any
	switch *m.Method {
	case "initialize":
		params = &sdk.InitializeParams{}
	case "ping":
		params = &sdk.PingParams{}
	case "server/discover":
		params = &sdk.DiscoverParams{}
	case "tools/list":
		params = &sdk.ListToolsParams{}
	case "tools/call":
		params = &sdk.CallToolParamsRaw{}
	}
	if len(m.Params) == 0 {
		return nil
	}
	err := json.Unmarshal(m.Params, params)
	if err == nil {
		return nil
	}
	status := http.StatusOK
	if version >= stateless {
		status = http.StatusBadRequest
	}
	return &failure{status, protocol.RPCInvalidParams, "params: " + core.DecodeError(err).Error()}
}

// write responds with the failure.
func (f *failure) write(w http.ResponseWriter, id json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.status)
	_, _ = w.Write(f.encode(id)) // a client that is gone needs nothing
}

func (f *failure) encode(id json.RawMessage) []byte {
	type problem struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	text, _ := core.EncodeJSON(struct { // a number, a text and what was JSON always encode
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"` // null: not known
		Error   problem         `json:"error"`
	}{"2.0", id, problem{f.code, f.text}})
	return text
}
