package agui

import "github.com/reveille-run/reveille/core"

// What tests of the encoder alone use.
type (
	Encoder  = encoder
	Response = response
)

var NewEncoder = newEncoder

// With is a response with the extras of messages.
func (r Response) With(messages ...core.Message) Response {
	r.Extras = extrasOf(messages)
	return r
}
