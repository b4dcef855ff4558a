// Package alarms decides which alarms of a stack are in the state ALARM, as CloudWatch would,
// and runs saved queries, as CloudWatch Logs Insights would. Tests use it on the transformed
// template and on lines that functions have written.
//
// [Lines] reads the lines of functions, [Samples] makes samples of metrics of those in the
// embedded metric format, and a test adds samples of AWS's own metrics. [Of] reads the alarms
// of a stack, and [Alarm.At] evaluates one. [Queries] reads the saved queries, and
// [Query.Run] runs one.
//
// It knows what template.yaml uses: single metrics and metric math with FILL, IF, arithmetic
// and comparisons, M of N data points, and missing data that is breaching or not. An unknown
// property or function is an error that names it. Two simplifications: it looks at the N
// newest periods alone, and FILL fills a metric that has no value at all.
package alarms
