// Package model is the port to language models: what a provider adapter
// implements, and the policies around it.
//
// A [Model] makes a stream of [Delta] values of a [Request]. The stream must end
// with one of type [DeltaStop]; one that ends without is [ErrTruncated], never a
// turn. Package scripted is a model without a network.
//
// [Breakers] are the circuits of the models that a process calls. Whoever calls a model
// asks for a [Permit] and tells what came of it. Retries, and the choice among the models
// of a pool, are package run's: they follow from what is stored of a run.
package model
