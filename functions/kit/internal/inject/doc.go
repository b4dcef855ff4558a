// Package inject changes agents and handlers in the test builds (see package killpoints).
// There is an agent for each execution mode, and tools record their executions. One tool
// ignores its context, another one waits for a time, a message can make the model panic, and a response passes its I/O
// point. Functions may send webhooks to their own machine. In other builds it changes
// nothing.
package inject
