package agui

import "github.com/reveille-run/reveille/core"

// What tests of the encoder alone use.
type (
	Encoder  = encoder
	Response = response
)

var NewEncoder = newEncoder

// With is a response with what is beside some messages.
func (r Response) With(messages ...core.Message) Response {
	r.Beside = besides(messages)
	return r
}
