package core

// ErrFrontendTooLarge is what tests compare with.
var ErrFrontendTooLarge = errFrontendTooLarge

// ParseUSD is what money is decoded with.
var ParseUSD = parseUSD
