// Package killpoints is for the test builds (tag killpoints) of the local host and of the
// functions: they end by SIGKILL at one named I/O point. Package inject has the rest. In
// other builds its functions change nothing.
package killpoints

import "github.com/reveille-run/reveille/core/env"

// The points that the functions and the local host reach. The others are the core's; the
// protocol's order is E3 to E5 for a submission, W1 to W11 for a step, H2 and H3 for a
// decision, S1 and S2 for the sweep.
const (
	Respond       env.Point = "E5"  // the caller gets its response
	Receive       env.Point = "W1"  // a wake-up is received
	DeleteMessage env.Point = "W11" // the queue message is deleted
)
