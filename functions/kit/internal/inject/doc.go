// Package inject is the part of the test builds (see package killpoints) that changes
// agents and handlers: there is an agent for each execution mode, tools note every
// execution, one ignores its context, a message can make the model panic, a response
// passes its I/O point. Functions may send webhooks to the machine that they run on. In
// every other build it changes nothing.
package inject
