package engine

// What tests compare with.
var (
	ErrTooManyRounds = errTooManyRounds
	ErrUnknownAction = errUnknownAction
	ErrUnknownEffect = errUnknownEffect
)
