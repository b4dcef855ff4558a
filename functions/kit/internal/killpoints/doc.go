// Package killpoints is what the test builds (tag killpoints) of the local host and
// the functions add: they die by SIGKILL at one named I/O point. Package inject
// does the rest. In every other build its functions change nothing.
package killpoints
