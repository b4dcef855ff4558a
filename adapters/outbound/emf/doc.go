// Package emf writes the usage of runs as metrics of Amazon CloudWatch: one line of its
// embedded metric format for each stretch of a run, into the function's log. CloudWatch
// turns the lines into metrics. A line has no tenant and no user, since each value of a
// dimension is a metric that costs money.
package emf
