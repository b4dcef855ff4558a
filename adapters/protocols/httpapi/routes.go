package httpapi

import (
	"net/http"
	"slices"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// allRoutes are all routes of the native API, the only place where they are named.
func allRoutes() []route {
	return slices.Concat(listRoutes(), viewRoutes(), catalogRoutes(), threadRoutes(), inboxRoutes(), runRoutes(), hostRoutes())
}

// Codes that many routes refuse with.
var (
	// The record does not exist, is another user's, was deleted or is damaged; or the store
	// throttles.
	absent = []core.Code{core.CodeNotFound, core.CodeDeleted, core.CodeCorrupt, core.CodeThrottled}
	// The same of lists, which omit damaged threads.
	unlisted = []core.Code{core.CodeNotFound, core.CodeDeleted, core.CodeThrottled}
	// Input.
	refused = append(slices.Clone(absent), core.CodeUnsupported, core.CodeConflict, core.CodeBusy, core.CodeSuperseded, core.CodeFull)
	// Requests that create a run.
	limits = []core.Code{core.CodeTenantLimit, core.CodeTenantSpend}
)

// queued are the successes of a route that queues a run.
var queued = []answer{{Status: http.StatusAccepted, Body: protocol.Accepted{}}}

func listRoutes() []route {
	return []route{
		{
			Method: "GET", Path: "/v1/threads", Name: "getThreads", serve: (*api).getThreads,
			Text:  "List your threads and threads without an owner, newest activity first. A thread is active when it is created, and when one of its runs ends or starts to wait. A filtered page may have fewer threads than its limit, or none, while `has_more` is true.",
			Takes: []any{paged{}, ofThreads{}}, Answers: []answer{{Status: 200, Body: threadList{}}}, Refuses: unlisted,
		},
		{
			Method: "GET", Path: "/v1/threads/summaries", Name: "getSummaries", serve: (*api).getSummaries,
			Text:  "List threads with their metadata, the last run, and excerpts of its input and response. Order and filters are those of `GET /v1/threads`.",
			Takes: []any{paged{}, ofThreads{}}, Answers: []answer{{Status: 200, Body: threadSummaries{}}}, Refuses: unlisted,
		},
		{
			Method: "POST", Path: "/v1/threads", Name: "postThread", serve: (*api).postThread,
			Text:  "Create an empty thread and return it. The body is optional. A message to an unknown thread also creates the thread.",
			Takes: []any{keyed{}}, Body: making{}, Empty: true, Answers: []answer{{Status: 201, Body: threadInfo{}}},
			Refuses: []core.Code{core.CodeNotFound, core.CodeConflict, core.CodeDeleted, core.CodeThrottled},
		},
		{
			Method: "GET", Path: "/v1/runs", Name: "getRuns", serve: (*api).getRuns,
			Text:  "List the runs of your threads and of threads without an owner, newest submission first. The list includes runs of child threads. Each run has the start of its input, the title of its thread and its cost. A filtered page may have fewer runs than its limit, or none, while `has_more` is true.",
			Takes: []any{paged{}, ofRuns{}, ofRunFilters{}, ofOneThread{}}, Answers: []answer{{Status: 200, Body: runList{}}}, Refuses: unlisted,
		},
		{
			Method: "GET", Path: "/v1/runs/summary", Name: "getRunSummary", serve: (*api).getRunSummary,
			Text:  "Sum the runs that you have started, their tokens and their cost by hours (UTC). Hours without usage are listed with zeros. Callers without a user, and the users in `REVEILLE_USAGE_READERS`, get the sums of the whole tenant. A run counts in the hour of its start, when it has ended or waits. After a wait, its usage counts in the hour in which it resumed.",
			Takes: []any{ofSummary{}}, Answers: []answer{{Status: 200, Body: runSummary{}}}, Refuses: []core.Code{core.CodeNotFound, core.CodeThrottled},
		},
		{
			Method: "GET", Path: "/v1/threads/{thread}/runs", Name: "getThreadRuns", serve: (*api).getThreadRuns,
			Text:  "List the runs of a thread, newest submission first.",
			Takes: []any{ofThread{}, paged{}, ofRuns{}, ofRunFilters{}}, Answers: []answer{{Status: 200, Body: runList{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/threads/{thread}/runs/latest", Name: "getLatestRun", serve: (*api).latestRun,
			Text:  "Get the run that was last submitted to a thread. If the thread has no run, the response is 404.",
			Takes: []any{ofThread{}}, Answers: []answer{{Status: 200, Body: core.Run{}}}, Refuses: absent,
		},
	}
}

func viewRoutes() []route {
	return []route{
		{
			Method: "GET", Path: "/v1/threads/{thread}/state", Name: "getState", serve: (*api).getState,
			Text:  "Get the state of a thread and its run, now or at a revision. The state has the form of a `state_snapshot` event. A revision that the thread does not have is 404. A state over 3 MB is 413.",
			Takes: []any{ofThread{}, ofRevision{}}, Answers: []answer{{Status: 200, Body: threadState{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/threads/{thread}/state/patches", Name: "getStatePatches", serve: (*api).getStatePatches,
			Text:  "List the changes of a thread's state as JSON Patches, oldest first. Each patch applies to the result of the patches before it.",
			Takes: []any{ofThread{}, sinceRevision{}, paged{}}, Answers: []answer{{Status: 200, Body: statePatches{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/runs/{run}/steps", Name: "getSteps", serve: (*api).getSteps,
			Text:  "List the steps of a run, each with the model's output, its duration, usage and tool calls. Each call has its arguments, result and times.",
			Takes: []any{ofRun{}, paged{}}, Answers: []answer{{Status: 200, Body: runSteps{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/runs/{run}/steps/{step}/request", Name: "getRequest", serve: (*api).getRequest,
			Text:  "Get the request of a step as its model received it: system prompt, tools, messages and options. It has the texts of the build that sent it. The thread's owner reads it, where the setting `REVEILLE_SHOW_REQUESTS` is `on`. A step without a stored request is 404 with the reason.",
			Takes: []any{ofRun{}, ofStep{}}, Answers: []answer{{Status: 200, Body: sentRequest{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/runs/{run}/events", Name: "getEvents", serve: (*api).getEvents,
			Text:  "List the committed events of a run that have a position, oldest first. A client that connects to the event stream later receives the same events.",
			Takes: []any{ofRun{}, behindEvent{}, paged{}}, Answers: []answer{{Status: 200, Body: eventList{}}}, Refuses: absent,
		},
	}
}

func catalogRoutes() []route {
	return []route{
		{
			Method: "GET", Path: "/v1/agents", Name: "getAgents", serve: (*api).getAgents,
			Text:    "List the agents, each with the names of its model, plugins, tools and delegates. The response has no system prompt and no settings of plugins.",
			Answers: []answer{{Status: 200, Body: agentList{}}},
		},
		{
			Method: "GET", Path: "/v1/agents/{agent}", Name: "getAgent", serve: (*api).getAgent,
			Text:  "Get an agent with its tools and the JSON Schemas of their arguments.",
			Takes: []any{ofAgent{}}, Answers: []answer{{Status: 200, Body: agentDetail{}}}, Refuses: []core.Code{core.CodeNotFound},
		},
		{
			Method: "GET", Path: "/v1/capabilities", Name: "getCapabilities", serve: (*api).getCapabilities,
			Text:    "List the registered agents, tools, plugins, models and providers, and the protocols that the server offers.",
			Answers: []answer{{Status: 200, Body: capabilities{}}},
		},
	}
}

func threadRoutes() []route {
	const describes = "Change the title or the metadata of a thread and return the thread. `null` removes a value. Metadata is a merge patch (RFC 7396). A title has at most 200 characters, metadata at most 16 KB and 64 keys."
	return []route{
		{
			Method: "GET", Path: "/v1/threads/{thread}", Name: "getThread", serve: (*api).getThread,
			Text:  "Get a thread, its open run, and the number of its messages.",
			Takes: []any{ofThread{}}, Answers: []answer{{Status: 200, Body: threadInfo{}}}, Refuses: absent,
		},
		{
			Method: "PATCH", Path: "/v1/threads/{thread}", Name: "patchThread", serve: (*api).patchThread,
			Text:  describes,
			Takes: []any{ofThread{}}, Body: described{}, Answers: []answer{{Status: 200, Body: threadInfo{}}}, Refuses: absent,
		},
		{
			Method: "PATCH", Path: "/v1/threads/{thread}/metadata", Name: "patchMetadata", serve: (*api).patchThread,
			Text:  "Change a thread in the same way as `PATCH /v1/threads/{thread}`.",
			Takes: []any{ofThread{}}, Body: described{}, Answers: []answer{{Status: 200, Body: threadInfo{}}}, Refuses: absent,
		},
		{
			Method: "DELETE", Path: "/v1/threads/{thread}", Name: "deleteThread", serve: (*api).deleteThread,
			Text:  "Delete a thread permanently. From then on the thread and its runs are 410, and its workers stop. Child threads stay by default (`child_strategy=detach`). With `cascade` they are deleted too. With `reject` the request is refused with 409 while there is one. A thread that is damaged is 409 `corrupt`: its owner is unknown, so only the operator can delete it. A worker then erases the records. Sweeps repeat that for 20 minutes, since a paused worker may write until then.",
			Takes: []any{ofThread{}, childStrategy{}}, Answers: []answer{{Status: 204}}, Refuses: slices.Concat(absent, []core.Code{core.CodeConflict}),
		},
		{
			Method: "GET", Path: "/v1/threads/{thread}/messages", Name: "getMessages", serve: (*api).getMessages,
			Text:  "List the messages of a thread. A page ends at its limit or at 3 MB. The page with the newest messages also has the results of an open tool round and input that no step has read (`\"pending\":true`).",
			Takes: []any{ofThread{}, paged{}, ofMessages{}}, Answers: []answer{{Status: 200, Body: page{}}}, Refuses: absent,
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/messages", Name: "postMessages", serve: (*api).postMessages,
			Text:  "Queue input for a thread and return the run that reads it. `mode` is `queue` (default), `interrupt`, `steer` or `reject`. `request` is any JSON up to 16 KB for the hooks and tools of the run. Queued runs open by `priority`: 0 first, 255 last, 128 by default. A run does not open before `available_at` (Unix milliseconds), or before `delay_ms` has passed; both are limited to one year.",
			Takes: []any{ofThread{}, keyed{}}, Body: submission{}, Answers: queued, Refuses: slices.Concat(refused, limits),
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/cancel", Name: "cancelThread", serve: (*api).cancelThread,
			Text:  "Cancel the open run of a thread or, if none is open, its first queued run. Delayed runs are not cancelled. If neither exists, the response is 404.",
			Takes: []any{ofThread{}}, Answers: []answer{{Status: 202, Body: threadCancelled{}}}, Refuses: absent,
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/interrupt", Name: "interruptThread", serve: (*api).interruptThread,
			Text:  "End the open run and all queued runs of a thread, and queue the input, if any. Delayed runs stay. Without input and without a run to end, the response is 404.",
			Takes: []any{ofThread{}, keyed{}}, Body: interruption{}, Empty: true,
			Answers: []answer{{Status: 202, Body: interrupted{}}}, Refuses: slices.Concat(absent, limits, []core.Code{core.CodeUnsupported, core.CodeConflict, core.CodeSuperseded}),
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/decision", Name: "decideThread", serve: (*api).decideThread,
			Text:  "Decide a call of the thread's open run that waits. With `run_id`, decide a call of a run that this run has started, directly or through others. The same decision again is 202 with `\"duplicate\":true`. Another decision on the same call is 409 `decided`. A call that waits for a child run is 409 `child`. For a call that waits for a time, `resume` wakes it early, and any decision after that time is 409 `decided`. A payload that the ticket does not accept is 400.",
			Takes: []any{ofThread{}}, Body: decisionBody{}, Answers: []answer{{Status: 202, Body: decided{}}}, Refuses: slices.Concat(absent, []core.Code{core.CodeConflict, core.CodeDecided, core.CodeChild}),
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/fork", Name: "forkThread", serve: (*api).forkThread,
			Text:  "Copy a thread up to a message into a new thread and return the new thread. The copy has the messages and the state up to `at`. If `at` is a response with tool calls, the copy has their results too. The original thread does not change.",
			Takes: []any{ofThread{}, keyed{}}, Body: fork{}, Answers: []answer{{Status: 201, Body: forked{}}}, Refuses: slices.Concat(absent, []core.Code{core.CodeConflict, core.CodeSuperseded}),
		},
		{
			Method: "GET", Path: "/v1/threads/{thread}/runs/active", Name: "getActiveRun", serve: (*api).activeRun,
			Text:  "Get the open run of a thread with its tickets, or `null`.",
			Takes: []any{ofThread{}}, Answers: []answer{{Status: 200, Body: active{}}}, Refuses: absent,
		},
	}
}

func inboxRoutes() []route {
	return []route{
		{
			Method: "GET", Path: "/v1/threads/{thread}/mailbox", Name: "getMailbox", serve: (*api).getMailbox,
			Text:  "List the open, queued and finished runs and inputs of a thread, in this order. Each item has its delivery status, priority and attempts. It has its messages until a step reads them.",
			Takes: []any{ofThread{}, paged{}, ofStatus{}}, Answers: []answer{{Status: 200, Body: listing{}}}, Refuses: absent,
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/mailbox", Name: "postMailbox", serve: (*api).postMailbox,
			Text:  "Queue a JSON payload as input for a thread and return the run that reads it. If the payload is an object with a `text`, the text is the message. Otherwise the JSON is the message.",
			Takes: []any{ofThread{}, keyed{}}, Body: payload{}, Answers: []answer{{Status: 201, Body: pushed{}}}, Refuses: slices.Concat(absent, limits, []core.Code{core.CodeConflict, core.CodeFull}),
		},
		{
			Method: "PATCH", Path: "/v1/threads/{thread}/mailbox/{input}", Name: "patchInput", serve: (*api).patchInput,
			Text:  "Replace the messages of an input that no step has read. After a step has read it, the response is 404.",
			Takes: []any{ofThread{}, ofInput{}}, Body: edit{}, Answers: []answer{{Status: 200, Body: edited{}}}, Refuses: slices.Concat(absent, []core.Code{core.CodeUnsupported}),
		},
		{
			Method: "DELETE", Path: "/v1/threads/{thread}/mailbox/{input}", Name: "deleteInput", serve: (*api).deleteInput,
			Text:  "Withdraw an input that no step has read. If the input is a queued run, the run is cancelled.",
			Takes: []any{ofThread{}, ofInput{}}, Answers: []answer{{Status: 204}}, Refuses: absent,
		},
	}
}

func runRoutes() []route {
	return []route{
		{
			Method: "POST", Path: "/v1/runs", Name: "postRun", serve: (*api).postRun,
			Text:  "Start a run and stream its events. The input is that of `POST /v1/threads/{thread}/messages`. To resume, send the request again with its `Idempotency-Key` and a `Last-Event-ID`. The response then has the events after that one, and always `run_finish`. An endpoint that cannot stream queues the run and returns 202.",
			Takes: []any{keyed{}, resuming{}}, Body: newRun{}, Refuses: slices.Concat(refused, limits, []core.Code{core.CodeNotAcceptable}),
			Answers: []answer{{Status: 200, Body: core.Event{}, Stream: true}, {Status: 202, Text: "The endpoint cannot stream", Body: protocol.Accepted{}}},
		},
		{
			Method: "GET", Path: "/v1/runs/{run}", Name: "getRun", serve: (*api).getRun,
			Text:  "Get a run, with the tickets of its calls that wait.",
			Takes: []any{ofRun{}}, Answers: []answer{{Status: 200, Body: core.Run{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/runs/{run}/events/stream", Name: "followRun", serve: (*api).followRun,
			Text:  "Stream the events of a run until it ends or waits. The stream starts with the first event, or after `Last-Event-ID`. Clients that cannot set the header use the query parameter `lastEventId`. On AWS a stream that only follows a run ends with `run_yield` after 60 seconds; connect again.",
			Takes: []any{ofRun{}, following{}}, Refuses: slices.Concat(absent, []core.Code{core.CodeNotAcceptable}),
			Answers: []answer{{Status: 200, Body: core.Event{}, Stream: true}, {Status: 204, Text: "No later event exists"}},
		},
		{
			Method: "POST", Path: "/v1/runs/{run}/cancel", Name: "cancelRun", serve: (*api).cancelRun,
			Text:  "Cancel a run. If the run has ended, the response is 404.",
			Takes: []any{ofRun{}}, Answers: []answer{{Status: 202, Body: runCancelled{}}}, Refuses: absent,
		},
		{
			Method: "POST", Path: "/v1/runs/{run}/inputs", Name: "postInputs", serve: (*api).postInputs,
			Text:  "Add input to a run and return the run that reads it. An open run reads the input at its next step. If the run waits, the input voids its tickets, except those of child runs and of timers with `keep`. If only such tickets remain, the input waits for them. If the run is not open, the input opens a new run, which `run_id` names.",
			Takes: []any{ofRun{}, keyed{}}, Body: furtherInput{}, Answers: queued, Refuses: slices.Concat(absent, limits, []core.Code{core.CodeUnsupported, core.CodeConflict, core.CodeBusy, core.CodeFull}),
		},
		{
			Method: "POST", Path: "/v1/runs/{run}/decision", Name: "decideRun", serve: (*api).decideRun,
			Text:  "Decide a call of a run that waits, in the same way as `POST /v1/threads/{thread}/decision`.",
			Takes: []any{ofRun{}}, Body: decisionBody{}, Answers: []answer{{Status: 202, Body: decided{}}}, Refuses: slices.Concat(absent, []core.Code{core.CodeConflict, core.CodeDecided, core.CodeChild}),
		},
		{
			Method: "POST", Path: "/v1/runs/{run}/continue", Name: "continueRun", serve: (*api).continueRun,
			Text:  "Continue a run that ended with an error, from its last commit, in a new run. If the failed run has a complete response, the new run starts with a message that names the problem. If the run ended in another way, or the thread has a later run, the response is 409.",
			Takes: []any{ofRun{}}, Answers: queued, Refuses: slices.Concat(absent, limits, []core.Code{core.CodeConflict, core.CodeBusy}),
		},
		{
			Method: "POST", Path: "/v1/runs/{run}/retry", Name: "retryRun", serve: (*api).retryRun,
			Text:  "Submit the input of a dead-lettered run again and return the new run. Repeated requests return the same run. Any other run is 409.",
			Takes: []any{ofRun{}}, Answers: queued, Refuses: slices.Concat(absent, limits, []core.Code{core.CodeConflict, core.CodeFull}),
		},
	}
}

func hostRoutes() []route {
	healthy := []answer{{Status: 200, Body: health{}}, {Status: 503, Text: "The process should be replaced, or the store is unreachable", Body: health{}}}
	const sick = "Report whether the process can serve requests, and the reason if it cannot. The status is 503 if the store is unreachable, which is checked at most once a second. It is also 503 while 16 abandoned tools still run, since the process should then be replaced. The local host also returns 503 if its file is missing or the disk refuses writes."
	return []route{
		{
			Method: "GET", Path: "/v1/approvals", Name: "getApprovals", serve: (*api).getApprovals,
			Text:  "List the calls that wait for a person or a client, longest wait first. The list covers your threads and threads without an owner. `kind` is `client` for a tool that the client runs. Calls that wait for a child run or a time are not listed. Each call has the title of its thread and the start of its run's input. A page ends at its limit (default 50) or at 3 MB. It may have fewer calls, or none, while `has_more` is true.",
			Takes: []any{paged{}, ofApprovals{}}, Answers: []answer{{Status: 200, Body: approvals{}}}, Refuses: []core.Code{core.CodeThrottled},
		},
		{
			Method: "GET", Path: "/v1/usage", Name: "getUsage", serve: (*api).getUsage,
			Text:  "Report tokens, inferences, tool calls, times, store units and money that you have used. Callers without a user, and the users in `REVEILLE_USAGE_READERS`, get the report of the whole tenant. `by` groups the rows by day, user, agent, run, root and model. A root is the run at the top of a tree: its row has what the runs below it have used, too. The report includes a run up to the latest time that it ended or started to wait. If a price is unknown, the money is `null`.",
			Takes: []any{ofUsage{}}, Refuses: []core.Code{core.CodeNotFound, core.CodeThrottled},
			Answers: []answer{{Status: 200, Text: "A report; with `format=csv` or `Accept: text/csv`, a CSV table", Body: usageReport{}}},
		},
		{
			Method: "GET", Path: "/v1/limits", Name: "getLimits", serve: (*api).getLimits,
			Text:    "Get the limits of your tenant, its usage of today (UTC), and the end of the day. If the tenant has no limits, the response is `{}`.",
			Answers: []answer{{Status: 200, Body: limitsOf{}}}, Refuses: []core.Code{core.CodeThrottled},
		},
		{
			Method: "GET", Path: "/openapi.json", Name: "getDocument", serve: (*api).openapi,
			Text:    "Get this OpenAPI 3.1 document.",
			Answers: []answer{{Status: 200, Raw: true}},
		},
		{Method: "GET", Path: "/health", Name: "getHealth", Open: true, plain: (*api).health, Text: sick, Answers: healthy},
		{
			Method: "GET", Path: "/health/live", Name: "getLive", Open: true, plain: (*api).live,
			Text: "Report that the process responds, without further checks.", Answers: []answer{{Status: 200, Body: health{}}},
		},
	}
}
