// Package metrics counts the work of a process, and serves the counts in the text format
// of Prometheus. On AWS, CloudWatch has these figures; this package serves the local
// host.
//
// [New] returns the counters: they observe the steps (host.Options.Observer) and wrap the
// handler of requests ([Metrics.Count]). [Metrics.ServeHTTP] serves the counts, and
// current values that it reads from the host at that moment, such as the length of its
// queue ([Options]).
//
// The names begin with reveille_, times are in seconds, and a counter's name ends with
// _total. The number of names that a model or a client may choose (a tool that does not
// exist) is bounded: after 200 values of a metric's labels the rest is counted as
// "other".
//
// The package uses Prometheus' own client, which also reports metrics of Go and the
// operating system under the names that dashboards know. No function on AWS links it.
package metrics
