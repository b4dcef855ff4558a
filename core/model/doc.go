// Package model is the port to language models: what a provider adapter
// implements, and the policies around it.
//
// A [Model] makes a stream of [Delta] values of a [Request]. The stream must end
// with one of type [DeltaStop]; one that ends without is an error of kind
// [KindInterrupted], never a turn. Package scripted is a model without a network.
//
// Retries, the circuits of models that fail too often, and the choice among the models of
// a pool are the runtime's.
package model
