// Package requestlog logs one line for each HTTP request, when its response has ended. A
// transport starts a [Line] ([Start]) and ends it ([Line.End]); [Handler] does both for a
// server of net/http. In between, the handlers of the request add what they know: its route,
// tenant, thread and run, and how a stream ended. They find the line in the context, and add
// to no line where nothing is logged.
//
// A line has these attributes, in this order. Those that are not known are absent:
//
//   - method: of the request.
//   - route: method and pattern, such as "GET /v1/threads/{thread}"; "unmatched" if no route
//     was reached, also if the request was refused before.
//   - request: the id of the request, which its response has in the header X-Request-Id.
//   - invocation: the id of the invocation of Lambda, if that is another one.
//   - tenant, thread, run, trigger.
//   - status: of the response, 500 for a handler that panicked before it responded.
//   - ms: the time from the request to the end of its response.
//   - bytes: of the response's body.
//   - stream: how a stream of events ended, see [Ending].
//   - aborted: true if the handler panicked or cut its connection.
//
// A line has no path, query, header or body, and no text of a client that is longer than 64
// bytes.
package requestlog
