// Package model is the port to language models: what a provider adapter
// implements, and the policies around it.
//
// A [Model] answers a [Request] with a stream of [Delta] values that must end
// with one of type [DeltaStop]; a stream that ends without is [ErrTruncated],
// never an answer. Package scripted is a model without a network.
package model
