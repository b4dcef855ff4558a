package httpapi

import (
	"net/http"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// Problem is the body of every refusal: Error is for people and may change, Code is for
// programs and does not.
type Problem = protocol.Problem

// ErrForm refuses a request that a form of a web page could have sent, see [Form]; with 415.
var ErrForm = protocol.ErrForm

// Form reports whether a form of a web page could have sent the request: a POST whose content
// type is not JSON. Handlers beside [New]'s refuse it with [ErrForm].
func Form(r *http.Request) bool { return protocol.Form(r) }

// Public returns what a client may read of an error: nothing of what is inside.
func Public(err error) Problem { return protocol.Public(err) }

// Status returns the HTTP status of a code.
func Status(code core.Code) int { return protocol.Status(code) }

// WriteJSON writes a response whose body is a value as JSON. What cannot be encoded is a 500,
// and no half response.
func WriteJSON(w http.ResponseWriter, status int, value any) { protocol.JSON(w, status, value) }

// Bound returns a handler whose responses take bounded time and memory however slow their
// clients read. [New]'s handler has these bounds already.
func Bound(next http.Handler) http.Handler { return protocol.Bound(next) }
