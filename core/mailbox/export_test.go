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

// The reasons for which a message fails at its first try.
var (
	ErrRecipientNotFound    = errRecipientNotFound
	ErrRecipientUnavailable = errRecipientUnavailable
)
