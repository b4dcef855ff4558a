// Package crash is what the test builds (tag killpoints) of the local host and
// the functions add: they die by SIGKILL at one named I/O point, their tools
// note every execution, and a message can make the model panic. In every other
// build its functions change nothing.
package crash
