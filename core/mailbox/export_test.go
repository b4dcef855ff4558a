package mailbox

// What tests call and compare with.
var (
	CheckAbout         = checkAbout
	ErrGoneOn          = errGoneOn
	ErrRequestTooLarge = errRequestTooLarge
)

// ErrUnderWay is what tests compare with.
var ErrUnderWay = errUnderWay
