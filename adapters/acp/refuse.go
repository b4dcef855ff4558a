package acp

import (
	"errors"
	"log/slog"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/protocol"
	"github.com/reveille-run/reveille/core"
)

// The codes of errors on the wire: those of JSON-RPC, and the protocol's own for what
// does not exist.
const (
	codeParse          = -32700
	codeInvalidRequest = -32600
	codeNoMethod       = -32601
	codeInvalidParams  = -32602
	codeInternal       = -32603
	codeNotFound       = -32002
)

// codes maps what is the client's doing; any other error is internal.
var codes = map[core.Code]int{
	core.CodeInvalid:     codeInvalidParams,
	core.CodeUnsupported: codeInvalidParams,
	core.CodeTooLarge:    codeInvalidParams,
	core.CodeNotFound:    codeNotFound,
	core.CodeDeleted:     codeNotFound,
	core.CodeBusy:        codeInvalidRequest,
	core.CodeConflict:    codeInvalidRequest,
	core.CodeFull:        codeInvalidRequest,

	core.CodeTenantLimit: codeInvalidRequest,
	core.CodeTenantSpend: codeInvalidRequest,
}

// details is the data of an error: its code as every protocol here has it, and of a limit
// of the tenant which it is and when it ends.
type details struct {
	Code   string `json:"code"`
	Limit  string `json:"limit,omitempty"`
	EndsAt string `json:"ends_at,omitempty"`
}

// refusal is what the client reads of an error. What it may not read goes to the log.
func refusal(log *slog.Logger, err error) *sdk.RequestError {
	var own *sdk.RequestError
	if errors.As(err, &own) {
		return own
	}
	protocol.Log(log, err)
	p := protocol.Public(err)
	code, ok := codes[p.Code]
	if !ok {
		code = codeInternal
	}
	return &sdk.RequestError{Code: code, Message: p.Error, Data: details{string(p.Code), string(p.Limit), p.EndsAt}}
}
