// Package metrics counts what a process does, and shows it in the text format of
// Prometheus. On AWS CloudWatch has these figures; here they are the local host's.
//
// [New] returns what counts: it is the observer of the steps (host.Options.Observer)
// and wraps the handler of requests ([Metrics.Count]). [Metrics.ServeHTTP] shows the
// counts, and what the host is asked at that moment, such as how long its queue is
// ([Options]).
//
// The names begin with reveille_, times are in seconds, and a counter's name ends with
// _total. A name that a model or a client may choose (a tool that does not exist) is
// bounded: after 200 values of a metric's labels the rest is counted as "other".
//
// It is written by Prometheus' own client, which also shows what Go and the system say of
// the process under the names that dashboards know. No function on AWS links it.
package metrics
