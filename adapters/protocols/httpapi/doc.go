// Package httpapi is the HTTP server of Reveille: it serves the native routes and, with the
// same authentication and limits, the handlers of the other protocols. README.md is the
// reference of the API.
//
// [New] takes the host of a reveille.Runtime. Its handler fits into any server, here under a
// prefix; the example of New is the whole program:
//
//	agents := httpapi.New(r.Host(), &httpapi.Options{Authenticate: customer, StreamURL: "/agents"})
//	mux.Handle("/agents/", http.StripPrefix("/agents", agents))
//	go server.Serve(listener)
//	err := r.Work(ctx) // until ctx ends
//	return errors.Join(err, server.Shutdown(within))
//
// The table in routes.go lists all routes, with their parameters, bodies and responses. The
// mux is made of it, and so are the OpenAPI document at /openapi.json and the routes in
// README.md. After a change of a route, or of a type that is encoded, `go generate` writes
// the last two.
//
// # Streams
//
// Streams are server-sent events: each data field is the JSON of a core.Event, and its id
// field is the event's position. A stream ends after run_finish, or after run_yield when
// its time is over and the run continues. If a stream fails, its last event has the type
// "error". Closing a connection never cancels a run.
//
// A client that reconnects with Last-Event-ID gets the events strictly after that one: a
// replayed delta is cut where the client stopped. If a later attempt repeated the client's
// part of an inference, step_restarted comes first. A client that has every event gets 204.
// A position after the end of a run is not an error, since a client may have received more
// of a cancelled run than was stored: the stream has run_finish alone, and 204 if the
// position is that of a run_finish. A position of another run is 400. A client that resumes
// after an event other than run_start gets no earlier snapshot.
//
// # Superseded input
//
// Input with regenerate_from or replace_message supersedes the messages from there on, with
// their state and tickets; readers skip them. The mode is interrupt by default, since the
// open and queued runs after that message are superseded in any case; with mode queue that
// happens when they are over.
//
// # Bounds
//
// A page ends at its limit, or at 3 MB. A list of threads or runs looks at no more than
// 1,000 of them for a page, so that a filtered page may be short, or empty, and has a
// cursor. The last page of a thread's messages ends with data that the log does not have
// yet: results of an open tool round and, with "pending": true, input that no step has
// read. Open and queued runs are read from the thread's head; the outcome of the last run
// may be a moment old.
//
// Bodies are decoded strictly, by package strict into the structs of shape.go: a refusal
// names the problem, its path and the allowed values.
//
// # Where to look
//
//   - The routes: routes.go, and the types of their bodies and parameters: shape.go.
//   - The order of the checks that every request passes, and the response to an error
//     or a panic: serve.go. The status of a code, and the texts that stay internal:
//     adapters/internal/protocol/refuse.go.
//   - The caller's identity: auth.go; the limits of a body: limit.go, then body.go.
//   - The id of an SSE frame: encoder.go. The events that a reconnecting client has
//     already: resume.go.
package httpapi
