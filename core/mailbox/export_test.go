package mailbox

// What tests call and compare with.
var (
	CheckAbout         = checkAbout
	ErrGoneOn          = errGoneOn
	ErrRequestTooLarge = errRequestTooLarge
	ErrMessageTooLarge = errMessageTooLarge
	ErrInputTooLarge   = errInputTooLarge
)

// ErrUnderWay is what tests compare with.
var ErrUnderWay = errUnderWay
