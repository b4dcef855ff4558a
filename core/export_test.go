package core

// ErrFrontendTooLarge is what tests compare with.
var ErrFrontendTooLarge = errFrontendTooLarge
