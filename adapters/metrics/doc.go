// Package metrics counts what a process does, and shows it in the text format of
// Prometheus. On AWS CloudWatch has these figures; here they are the local host's.
//
// [New] returns what counts: it is the observer of the steps (runtime.Config.Observer)
// and wraps the handler of requests ([Metrics.Count]). [Metrics.ServeHTTP] shows the
// counts, and what the host is asked at that moment, such as how long its queue is
// ([Options]).
//
// The names begin with reveille_, times are in seconds, and a counter's name ends with
// _total. A name that a model or a client may choose (a tool that does not exist) is
// bounded: after 200 values of a metric's labels the rest is counted as "other".
//
// The text is written by hand (family.go): the format is a page, and the official client
// would add nine seconds of compiling to the first `make run`, and 4 MB to the program.
package metrics
