package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// problem is the body of every refusal.
type problem = protocol.Problem

// Refuse refuses a request with {"error", "code"}, as the routes do: text is for people and
// may change, code is for programs and does not.
func Refuse(w http.ResponseWriter, status int, code core.Code, text string) {
	protocol.JSON(w, status, problem{Error: text, Code: code})
}

// RefuseForm refuses a request that a form of a web page could have sent, a POST whose
// content type is not JSON, with 415, and reports whether it did. [New]'s handler refuses
// them already.
func RefuseForm(w http.ResponseWriter, r *http.Request) (refused bool) {
	if refused = protocol.Form(r); refused {
		protocol.JSON(w, http.StatusUnsupportedMediaType, protocol.Public(protocol.ErrForm))
	}
	return refused
}

// Bound returns a handler whose responses take bounded time and memory however slow their
// clients read. [New]'s handler has these bounds already.
func Bound(next http.Handler) http.Handler { return protocol.Bound(next) }
