// Package wiring is what the functions on AWS (package serve) and the local host
// (package local) have in common: the [Deployment] that their mains give them, and
// how the agents are made of it. It names nothing that stands in package app.
package wiring
