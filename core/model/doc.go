// Package model is the port to language models. It defines the interface that a provider
// adapter implements.
//
// A [Model] returns a stream of [Delta] values for a [Request]. A complete stream ends with
// a delta of type [DeltaStop]. A stream that ends without one is an error of kind
// [KindInterrupted], and the runtime makes no turn of it. Package scripted is a model that
// needs no network.
//
// The runtime retries failed calls, keeps the circuits of failing models, and chooses among
// the models of a pool. An adapter does none of that: it makes one attempt for each call.
package model
