package acp

import (
	"errors"
	"log/slog"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// codeNotFound is the protocol's own code, in addition to those of JSON-RPC, for an
// object that does not exist.
const codeNotFound = -32002

// codes maps what is the client's doing; any other error is internal.
var codes = map[core.Code]int{
	core.CodeInvalid:     protocol.RPCInvalidParams,
	core.CodeUnsupported: protocol.RPCInvalidParams,
	core.CodeTooLarge:    protocol.RPCInvalidParams,
	core.CodeNotFound:    codeNotFound,
	core.CodeDeleted:     codeNotFound,
	core.CodeBusy:        protocol.RPCInvalidRequest,
	core.CodeConflict:    protocol.RPCInvalidRequest,
	core.CodeFull:        protocol.RPCInvalidRequest,

	core.CodeTenantLimit: protocol.RPCInvalidRequest,
	core.CodeTenantSpend: protocol.RPCInvalidRequest,
}

// details is the data of an error: its code as every protocol here has it, and of a limit
// of the tenant which it is and when it ends.
type details struct {
	Code   string `json:"code"`
	Limit  string `json:"limit,omitempty"`
	EndsAt string `json:"ends_at,omitempty"`
}

// refusal is the error that the client reads. The private details are logged.
func refusal(log *slog.Logger, err error) *sdk.RequestError {
	var own *sdk.RequestError
	if errors.As(err, &own) {
		return own
	}
	protocol.Log(log, err)
	p := protocol.Public(err)
	code, ok := codes[p.Code]
	if !ok {
		code = protocol.RPCInternal
	}
	return &sdk.RequestError{Code: code, Message: p.Error, Data: details{string(p.Code), string(p.Limit), p.EndsAt}}
}
