// Package inject is the part of the test builds (see package crash) that changes
// agents and handlers: tools note every execution, a message can make the model
// panic, an answer passes its I/O point. In every other build it changes nothing.
package inject
