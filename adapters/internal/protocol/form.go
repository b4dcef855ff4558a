package protocol

import (
	"mime"
	"net/http"

	"github.com/reveille-run/reveille/core"
)

// ErrForm is refused with 415, for which there is no other code.
var ErrForm = core.Errorf(core.CodeUnsupported, "content type of a POST must be application/json, or absent without a body: a form could come from a page of another site")

// Form reports whether a request has the shape of a form: a request that a web page can
// send to another site without a preflight, also without fields. Every endpoint refuses
// such a request with 415, so that an old browser, which sends no Origin, cannot be used
// to send it. A POST without a content type does not come from a form: a page can only
// make one by a script, and then its browser sends Origin.
//
// A content type that is repeated or malformed counts as a form's, since browsers and
// programs read it differently.
func Form(r *http.Request) bool {
	types := r.Header.Values("Content-Type")
	if r.Method != http.MethodPost || len(types) == 0 {
		return false
	}
	if len(types) == 1 && (types[0] == "application/json" || types[0] == "") { // the usual type costs nothing
		return false
	}
	kind, _, err := mime.ParseMediaType(types[0])
	switch kind {
	case "application/x-www-form-urlencoded", "multipart/form-data", "text/plain":
		return true
	}
	return err != nil || len(types) > 1
}
