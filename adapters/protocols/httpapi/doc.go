// Package httpapi is the HTTP server of Reveille: its native routes, and behind
// the same authentication and limits the handlers of the protocols.
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
// The table in routes.go has all of them, with what each takes and returns. Of it are made
// the mux, the OpenAPI document at /openapi.json and the README's table; after a change
// there, or of a type that is encoded, `go generate` writes the last two again.
//
// Streams are server-sent events: each data field is the JSON of a core.Event,
// its id field the event's position. A stream ends after run_finish, or after
// run_yield when its time is over and the run goes on; when it has to end
// otherwise its last event has the type "error". Closing a connection never
// cancels a run.
//
// Each event says its number in the response, when it happened, its run and its step.
// A state_snapshot and the patches behind it are the committed state of thread and run:
// a client that goes on behind a Last-Event-ID, other than that of run_start, is shown no
// snapshot of before.
//
// A client that reconnects with Last-Event-ID gets what comes strictly after
// that event: a replayed delta is cut where the client stopped. When its part
// of an inference is void, because a later attempt repeated it, step_restarted
// comes first. A client that has everything gets 204. A position beyond what the
// run has is no error, since a client may have seen more of a run that was
// cancelled than was stored: it gets run_finish alone, and 204 when it names one.
// What is no position of this run is 400. Clients that cannot set the header name the
// event in the query, as lastEventId; the header counts first. A POST /v1/runs that is
// sent again with its Idempotency-Key and a Last-Event-ID streams the first request's run
// from there, up to run_finish in any case; without the key it is 400.
//
// A decision is {"tool_call_id" or "suspension_id", "action": "resume" or
// "cancel", "payload"?, "reason"?, "decision_id"?}. A person's payload
// {"approved": false} cancels, whatever the action says; the output of a tool that
// the client runs is data. The same decision_id again returns the same,
// with "duplicate": true, and does nothing; without one it is made of what the
// decision says. Another decision on the ticket, or another content under its
// id, is 409; a payload that is not what the ticket asks for 400.
//
// Input with "regenerate_from": id says again what the thread was told in the message
// of that id, or before it if it is an answer; it has no messages of its own. With
// "replace_message": id its messages take the place of that one and of what was said
// with it behind it. Whatever the thread has from there on is taken back, with its
// state and its tickets; it is superseded, and readers pass it over. Agent and request
// are the earlier run's unless others are given. The mode is interrupt unless another
// is given, since what runs, waits or is queued is taken back in any case: with mode
// queue when it is over. A message that was taken back before is 409
// (superseded), and so is one with which no run began or that no run has begun to read
// (conflict).
//
// A run that ended with an error, of whatever code, goes on at its last commit as a run
// of its own: nothing is said again, and calls keep the results that they have. It must
// be the run that the thread ends with, else 409; the same request again is the same
// run. A fork, {"at": message id, "threadId"?}, has the thread's messages under their
// ids, up to that one or, if it is a turn with calls, up to their results, and its state
// as it was then. The fork of another message, or of another thread, under a name that
// is taken is 409; the same again is the same, with "duplicate": true.
//
// Whatever starts a run takes "priority" (0 opens first, 255 last; 128 without) and
// "available_at" (unix milliseconds) or "delay_ms", before which it does not begin, at
// most a year ahead. They count for input that opens a run of its own; delayed input
// neither steers nor interrupts.
//
// Input for a run (inputs) goes to its inbox while it is open, whatever it is doing, and
// is read at its next step; a run that waits goes on with it, and its tickets are void.
// Of a run that is not open it becomes a run of its own, which the response names.
// Until a step has read it, input can be changed and taken back by the dispatch_id of
// its 202; then both are 404. A queued run that is taken back is cancelled.
//
// An interrupt without input, on a thread where nothing is open or queued, is 404. With
// an Idempotency-Key it happens once.
//
// Lists of threads and runs show those of the caller and those that belong to nobody. What
// runs and what is queued is as the thread's head says; what the last run came to may be a
// moment old. They look at no more than 1,000 threads or runs for a page, so that a
// filtered one may be short, or empty, and lead on.
//
// The state of a thread at a revision is as the record left it that led there. Its changes
// are patches, each on the state with those before it; "new_run" says that what stood
// under "run" has ended before it. Revisions that changed nothing which is shown are
// passed over.
//
// A page of the mailbox begins with what is open and queued, all of it on the first
// page, in the order in which it comes to its turn. Then comes what is over, oldest
// first. A page that a status filters may be empty and lead on.
//
// A deleted thread is 410 on every route, and so are its runs. What it had is erased
// within minutes, and once more later, for what late workers have written.
//
// A page ends at its limit, or at 3 MB. A limit below 1 or over 200 is clamped, and each
// page says in "limit" what it has. The last page of a thread's messages ends
// with what the log does not have yet: results of a tool round that is still open,
// and, with "pending": true, input that no step has read.
//
// A header Idempotency-Key makes a POST that starts a run, or forks a thread, safe to send again:
// the same key and body return the first run. Without a thread id the key also
// decides the new thread's id, so that both requests meet there.
//
// Every refusal has the body {"error": text, "code": code}. Bodies are decoded
// strictly, by package strict into the structs of shape.go: a refusal says what is wrong,
// at which path, and what is allowed. A body must be application/json (or application/*+json), else 415; it may
// have 1 MB (1,048,576 bytes, else 413) and be nested 64 deep. A POST with the content
// type of a form is 415 also without a body, which keeps web pages of other sites from
// posting to a local server; without a content type it needs no body. Threads and runs of
// another user or tenant are 404, like those that do not exist; so is a run id
// that is no UUID. A thread id that is malformed, or "." or "..", is 400, and so
// is a message whose content is blank.
//
// # Where to look
//
//   - Which routes there are: routes.go, and the shapes of what they take in shape.go.
//   - The order of the checks that every request passes, and what becomes of an error
//     or a panic: serve.go. Which status a code has, and which text stays inside:
//     adapters/internal/protocol/refuse.go.
//   - Who may call, and as whom: auth.go; with which body: limit.go, then body.go.
//   - The id of an SSE frame: encoder.go. What a client that reconnects has already:
//     resume.go.
package httpapi
