// Package core is the vocabulary of Reveille: the data that every other
// package speaks of, its wire form (JSON) and its validation. It holds no
// behaviour and imports nothing of the project.
//
// A [Message] is what a person, a model or a tool said on a thread. A [Run] is
// one execution of an agent over a thread. An [Event] is one item of a run's
// stream. An [Error] carries the stable code that the HTTP API returns.
package core
