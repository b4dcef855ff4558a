// Package wiring has the common parts of the functions on AWS (package serve) and the local
// host (package local): the [Deployment] that their mains pass, and the construction of its
// agents. It names nothing in package app.
package wiring
