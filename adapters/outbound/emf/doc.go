// Package emf writes what runs use as metrics of Amazon CloudWatch: a line of its embedded
// metric format for each stretch of a run, into the function's log, which CloudWatch makes
// metrics of. No tenant and no user is in a line: each value of a dimension is a metric
// that is paid for.
package emf
