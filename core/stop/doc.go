// Package stop decides when a run has gone on long enough. A [Policy] looks at
// every committed turn of the model and may end the run; the turn's open tool
// calls then get a result that says that they were not executed.
package stop
