package agui

// What tests of the encoder alone use.
type (
	Encoder  = encoder
	Response = response
)

var NewEncoder = newEncoder
