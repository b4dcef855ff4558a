// Package emf writes what operators count of a deployment as lines of a function's log: how
// runs end, which calls of models fail, what is late, and what runs use.
//
// A line in CloudWatch's embedded metric format becomes metrics. Their dimensions have values
// from closed lists only, so that the number of metrics does not grow with users:
// [Metrics] lists them. Tenants, agents, models, threads and runs are fields of the lines,
// which CloudWatch Logs Insights reads. A line has no text of a run, and no user.
package emf
