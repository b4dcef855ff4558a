package aisdk

// What tests of the encoder alone use.
type (
	Encoder = encoder
	Shown   = shown
)
