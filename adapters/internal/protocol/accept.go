package protocol

import (
	"mime"
	"net/http"
	"strings"

	"github.com/reveille-run/reveille/core"
)

// ErrBuffered refuses a stream on a transport that cannot stream.
var ErrBuffered = core.Errorf(core.CodeNotAcceptable, "this address cannot stream; use the streaming address, or accept application/json")

// Demanded reports whether a client accepts server-sent events and does not accept JSON.
// Without an Accept header, or if the header is malformed, a client accepts every type; a
// wildcard accepts JSON, too. So only a client that explicitly excludes JSON is refused a
// 202.
func Demanded(r *http.Request) bool {
	stream := false
	for _, item := range strings.Split(strings.Join(r.Header.Values("Accept"), ","), ",") {
		kind, parameters, err := mime.ParseMediaType(item)
		if err != nil || parameters["q"] == "0" {
			continue
		}
		switch kind {
		case "application/json", "application/*", "*/*":
			return false
		case "text/event-stream":
			stream = true
		}
	}
	return stream
}
