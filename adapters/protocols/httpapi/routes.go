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

// Codes that many routes refuse with: what is absent or another's, what was deleted, a
// store that takes no more for now; of input besides.
var (
	absent  = []core.Code{core.CodeNotFound, core.CodeDeleted, core.CodeThrottled}
	refused = append(slices.Clone(absent), core.CodeUnsupported, core.CodeConflict, core.CodeBusy, core.CodeSuperseded, core.CodeFull)
	// Of what makes a run.
	limits = []core.Code{core.CodeTenantLimit, core.CodeTenantSpend}
)

// queued are the successes of a route that queues a run.
var queued = []answer{{Status: http.StatusAccepted, Body: protocol.Accepted{}}}

func listRoutes() []route {
	return []route{
		{
			Method: "GET", Path: "/v1/threads", Name: "getThreads", serve: (*api).getThreads,
			Text:  "threads of the caller and of nobody, newest activity first: when they were made, or a run of them ended or began to wait; a page that is filtered may have fewer than its limit, or none, while there are more",
			Takes: []any{paged{}, ofThreads{}}, Answers: []answer{{Status: 200, Body: threadList{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/threads/summaries", Name: "getSummaries", serve: (*api).getSummaries,
			Text:  "the same with what the last run answered and came to, and with metadata",
			Takes: []any{paged{}, ofThreads{}}, Answers: []answer{{Status: 200, Body: threadSummaries{}}}, Refuses: absent,
		},
		{
			Method: "POST", Path: "/v1/threads", Name: "postThread", serve: (*api).postThread,
			Text:  "makes a thread that nothing was said on yet; a message to a thread that does not exist makes it too",
			Takes: []any{keyed{}}, Body: making{}, Empty: true, Answers: []answer{{Status: 201, Body: threadInfo{}}},
			Refuses: []core.Code{core.CodeNotFound, core.CodeConflict, core.CodeDeleted, core.CodeThrottled},
		},
		{
			Method: "GET", Path: "/v1/runs", Name: "getRuns", serve: (*api).getRuns,
			Text:  "runs on threads of the caller and of nobody, newest first by when they were submitted, those of child threads among them; a page that is filtered may have fewer than its limit, or none, while there are more",
			Takes: []any{paged{}, ofRuns{}, ofOneThread{}}, Answers: []answer{{Status: 200, Body: runList{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/threads/{thread}/runs", Name: "getThreadRuns", serve: (*api).getThreadRuns,
			Text:  "its runs, newest first by when they were submitted",
			Takes: []any{ofThread{}, paged{}, ofRuns{}}, Answers: []answer{{Status: 200, Body: runList{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/threads/{thread}/runs/latest", Name: "getLatestRun", serve: (*api).latestRun,
			Text:  "the run that was submitted last; 404 when there is none",
			Takes: []any{ofThread{}}, Answers: []answer{{Status: 200, Body: core.Run{}}}, Refuses: absent,
		},
	}
}

func viewRoutes() []route {
	return []route{
		{
			Method: "GET", Path: "/v1/threads/{thread}/state", Name: "getState", serve: (*api).getState,
			Text:  "the state of thread and run, as `state_snapshot` shows it, as it stands or at a revision; 404 for one that it has not stopped at, 413 over 3 MB",
			Takes: []any{ofThread{}, ofRevision{}}, Answers: []answer{{Status: 200, Body: threadState{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/threads/{thread}/state/patches", Name: "getStatePatches", serve: (*api).getStatePatches,
			Text:  "what has changed the state, oldest first: each a JSON Patch on the state with those before it",
			Takes: []any{ofThread{}, sinceRevision{}, paged{}}, Answers: []answer{{Status: 200, Body: statePatches{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/runs/{run}/steps", Name: "getSteps", serve: (*api).getSteps,
			Text:  "its timeline: each step with what the model said, how long it took and cost, its calls with arguments, results and times",
			Takes: []any{ofRun{}, paged{}}, Answers: []answer{{Status: 200, Body: runSteps{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/runs/{run}/events", Name: "getEvents", serve: (*api).getEvents,
			Text:  "its events that are committed and have a place, oldest first, as a stream that comes late shows them",
			Takes: []any{ofRun{}, behindEvent{}, paged{}}, Answers: []answer{{Status: 200, Body: eventList{}}}, Refuses: absent,
		},
	}
}

func catalogRoutes() []route {
	return []route{
		{
			Method: "GET", Path: "/v1/agents", Name: "getAgents", serve: (*api).getAgents,
			Text:    "the agents: model, plugins, tools and delegates by name; never a system prompt or a plugin's settings",
			Answers: []answer{{Status: 200, Body: agentList{}}},
		},
		{
			Method: "GET", Path: "/v1/agents/{agent}", Name: "getAgent", serve: (*api).getAgent,
			Text:  "one of them, with its tools and the JSON Schemas of their arguments",
			Takes: []any{ofAgent{}}, Answers: []answer{{Status: 200, Body: agentDetail{}}}, Refuses: []core.Code{core.CodeNotFound},
		},
		{
			Method: "GET", Path: "/v1/capabilities", Name: "getCapabilities", serve: (*api).getCapabilities,
			Text:    "agents, tools, plugins, models and providers that are registered, and the protocols that are served",
			Answers: []answer{{Status: 200, Body: capabilities{}}},
		},
	}
}

func threadRoutes() []route {
	const describes = "changes title and metadata: null takes them away, metadata is a merge patch (RFC 7396)"
	return []route{
		{
			Method: "GET", Path: "/v1/threads/{thread}", Name: "getThread", serve: (*api).getThread,
			Text:  "the thread",
			Takes: []any{ofThread{}}, Answers: []answer{{Status: 200, Body: threadInfo{}}}, Refuses: absent,
		},
		{
			Method: "PATCH", Path: "/v1/threads/{thread}", Name: "patchThread", serve: (*api).patchThread,
			Text:  describes,
			Takes: []any{ofThread{}}, Body: described{}, Answers: []answer{{Status: 200, Body: threadInfo{}}}, Refuses: absent,
		},
		{
			Method: "PATCH", Path: "/v1/threads/{thread}/metadata", Name: "patchMetadata", serve: (*api).patchThread,
			Text:  "the same",
			Takes: []any{ofThread{}}, Body: described{}, Answers: []answer{{Status: 200, Body: threadInfo{}}}, Refuses: absent,
		},
		{
			Method: "DELETE", Path: "/v1/threads/{thread}", Name: "deleteThread", serve: (*api).deleteThread,
			Text:  "deletes it permanently: its id and those of its runs are 410, and its workers stop; child threads stay unless `child_strategy` is `cascade` (default `detach`; `reject`: 409 while there is one); the sweep erases its records, at once and again 20 minutes later, for what a paused worker may still write",
			Takes: []any{ofThread{}, childStrategy{}}, Answers: []answer{{Status: 204}}, Refuses: slices.Concat(absent, []core.Code{core.CodeConflict}),
		},
		{
			Method: "GET", Path: "/v1/threads/{thread}/messages", Name: "getMessages", serve: (*api).getMessages,
			Text:  "its messages; a page ends at its limit or at 3 MB, the last one (newest first: the first one) with results of an open tool round and with input that no step has read (`\"pending\":true`)",
			Takes: []any{ofThread{}, paged{}, ofMessages{}}, Answers: []answer{{Status: 200, Body: page{}}}, Refuses: absent,
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/messages", Name: "postMessages", serve: (*api).postMessages,
			Text:  "queues input; mode `queue`, `interrupt`, `steer`, `reject`; `request` is any JSON up to 16 KB for the run's hooks and tools; of what is queued, priority 0 opens first, 255 last (128 without), and nothing before its `available_at` (unix milliseconds) or delay, at most a year ahead; see [runs for later](#runs-for-later)",
			Takes: []any{ofThread{}, keyed{}}, Body: submission{}, Answers: queued, Refuses: slices.Concat(refused, limits),
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/cancel", Name: "cancelThread", serve: (*api).cancelThread,
			Text:  "cancels its open run, or the first that is queued, never a delayed one; 404 when there is none",
			Takes: []any{ofThread{}}, Answers: []answer{{Status: 202, Body: threadCancelled{}}}, Refuses: absent,
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/interrupt", Name: "interruptThread", serve: (*api).interruptThread,
			Text:  "ends the open run and all that is queued, and puts the input, if there is any, in their place; delayed runs stay; 404 without input when there is nothing to end",
			Takes: []any{ofThread{}, keyed{}}, Body: interruption{}, Empty: true,
			Answers: []answer{{Status: 202, Body: interrupted{}}}, Refuses: slices.Concat(absent, limits, []core.Code{core.CodeUnsupported, core.CodeConflict, core.CodeSuperseded}),
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/decision", Name: "decideThread", serve: (*api).decideThread,
			Text:  "decides on a call of its open run that waits, also for the same decision again (`\"duplicate\":true`); 409 for another one, 409 `child` where the call waits for a child run, 400 for a payload that the ticket does not take",
			Takes: []any{ofThread{}}, Body: decisionBody{}, Answers: []answer{{Status: 202, Body: decided{}}}, Refuses: slices.Concat(absent, []core.Code{core.CodeConflict, core.CodeDecided, core.CodeChild}),
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/fork", Name: "forkThread", serve: (*api).forkThread,
			Text:  "a new thread with the messages and the state up to that one (of a turn with calls: up to their results); the other thread stays as it is",
			Takes: []any{ofThread{}, keyed{}}, Body: fork{}, Answers: []answer{{Status: 201, Body: forked{}}}, Refuses: slices.Concat(absent, []core.Code{core.CodeConflict, core.CodeSuperseded}),
		},
		{
			Method: "GET", Path: "/v1/threads/{thread}/runs/active", Name: "getActiveRun", serve: (*api).activeRun,
			Text:  "the open run with its tickets, or null",
			Takes: []any{ofThread{}}, Answers: []answer{{Status: 200, Body: active{}}}, Refuses: absent,
		},
	}
}

func inboxRoutes() []route {
	return []route{
		{
			Method: "GET", Path: "/v1/threads/{thread}/mailbox", Name: "getMailbox", serve: (*api).getMailbox,
			Text:  "what is open and queued, then what is over: runs and inputs with the state of their delivery, priority, attempts and, until a step has read them, messages",
			Takes: []any{ofThread{}, paged{}, ofStatus{}}, Answers: []answer{{Status: 200, Body: listing{}}}, Refuses: absent,
		},
		{
			Method: "POST", Path: "/v1/threads/{thread}/mailbox", Name: "postMailbox", serve: (*api).postMailbox,
			Text:  "queues any JSON as input, for programs; of an object its `text`, if it has one",
			Takes: []any{ofThread{}, keyed{}}, Body: payload{}, Answers: []answer{{Status: 201, Body: pushed{}}}, Refuses: slices.Concat(absent, limits, []core.Code{core.CodeConflict, core.CodeFull}),
		},
		{
			Method: "PATCH", Path: "/v1/threads/{thread}/mailbox/{input}", Name: "patchInput", serve: (*api).patchInput,
			Text:  "changes input that no step has read; 404 once it was read",
			Takes: []any{ofThread{}, ofInput{}}, Body: edit{}, Answers: []answer{{Status: 200, Body: edited{}}}, Refuses: slices.Concat(absent, []core.Code{core.CodeUnsupported}),
		},
		{
			Method: "DELETE", Path: "/v1/threads/{thread}/mailbox/{input}", Name: "deleteInput", serve: (*api).deleteInput,
			Text:  "takes back input that no step has read; a queued run that is taken back is cancelled",
			Takes: []any{ofThread{}, ofInput{}}, Answers: []answer{{Status: 204}}, Refuses: absent,
		},
	}
}

func runRoutes() []route {
	return []route{
		{
			Method: "POST", Path: "/v1/runs", Name: "postRun", serve: (*api).postRun,
			Text:  "starts a run, as for messages, and streams its events (sent again with its `Idempotency-Key` and a `Last-Event-ID`: those after that event, and `run_finish`); behind a door that cannot stream it queues the run",
			Takes: []any{keyed{}, resuming{}}, Body: newRun{}, Refuses: slices.Concat(refused, limits, []core.Code{core.CodeNotAcceptable}),
			Answers: []answer{{Status: 200, Body: core.Event{}, Stream: true}, {Status: 202, Text: "behind a door that cannot stream", Body: protocol.Accepted{}}},
		},
		{
			Method: "GET", Path: "/v1/runs/{run}", Name: "getRun", serve: (*api).getRun,
			Text:  "the run, with the tickets of calls that wait",
			Takes: []any{ofRun{}}, Answers: []answer{{Status: 200, Body: core.Run{}}}, Refuses: absent,
		},
		{
			Method: "GET", Path: "/v1/runs/{run}/events/stream", Name: "followRun", serve: (*api).followRun,
			Text:  "its events, from the first or after `Last-Event-ID` (also as the query parameter `lastEventId`), until it is done or waits (behind Lambda it ends with `run_yield` after 60 s that it only followed: connect again)",
			Takes: []any{ofRun{}, following{}}, Refuses: slices.Concat(absent, []core.Code{core.CodeNotAcceptable}),
			Answers: []answer{{Status: 200, Body: core.Event{}, Stream: true}, {Status: 204, Text: "there is nothing after it"}},
		},
		{
			Method: "POST", Path: "/v1/runs/{run}/cancel", Name: "cancelRun", serve: (*api).cancelRun,
			Text:  "cancels it; 404 when it is over",
			Takes: []any{ofRun{}}, Answers: []answer{{Status: 202, Body: runCancelled{}}}, Refuses: absent,
		},
		{
			Method: "POST", Path: "/v1/runs/{run}/inputs", Name: "postInputs", serve: (*api).postInputs,
			Text:  "gives it more to read, as for messages: at its next step, also when it waits (its tickets are void then, but those of child runs: where only such stand, the input waits for them); of a run that is not open it becomes a run of its own, which `run_id` names",
			Takes: []any{ofRun{}, keyed{}}, Body: furtherInput{}, Answers: queued, Refuses: slices.Concat(absent, limits, []core.Code{core.CodeUnsupported, core.CodeConflict, core.CodeBusy, core.CodeFull}),
		},
		{
			Method: "POST", Path: "/v1/runs/{run}/decision", Name: "decideRun", serve: (*api).decideRun,
			Text:  "decides on a call of it that waits, as for the thread",
			Takes: []any{ofRun{}}, Body: decisionBody{}, Answers: []answer{{Status: 202, Body: decided{}}}, Refuses: slices.Concat(absent, []core.Code{core.CodeConflict, core.CodeDecided, core.CodeChild}),
		},
		{
			Method: "POST", Path: "/v1/runs/{run}/continue", Name: "continueRun", serve: (*api).continueRun,
			Text:  "a run that ended with an error goes on at its last commit, as a run of its own; behind an answer it begins with a message that says what is wrong with that; 409 when it ended otherwise or the thread has gone on",
			Takes: []any{ofRun{}}, Answers: queued, Refuses: slices.Concat(absent, limits, []core.Code{core.CodeConflict, core.CodeBusy}),
		},
		{
			Method: "POST", Path: "/v1/runs/{run}/retry", Name: "retryRun", serve: (*api).retryRun,
			Text:  "the input of a run that ended as a dead letter is submitted again, once however often it is asked; 409 for any other run",
			Takes: []any{ofRun{}}, Answers: queued, Refuses: slices.Concat(absent, limits, []core.Code{core.CodeConflict, core.CodeFull}),
		},
	}
}

func hostRoutes() []route {
	healthy := []answer{{Status: 200, Body: health{}}, {Status: 503, Text: "the process should be replaced, or the store cannot be reached", Body: health{}}}
	const sick = "whether requests can be served, and why not: the store cannot be reached (looked at once a second at most), or the process should be replaced, since 16 tools that do not end when they are told to still run in it; on the local host also while its file is gone from its place, or the disk takes no writes"
	return []route{
		{
			Method: "GET", Path: "/v1/approvals", Name: "getApprovals", serve: (*api).getApprovals,
			Text:  "the calls that wait for a person, or for a tool that the client runs (`kind` is `client`), longest waiting first, in your threads and in threads without an owner; a page ends at its limit (50) or at 3 MB, and may have fewer or none while there are more",
			Takes: []any{paged{}}, Answers: []answer{{Status: 200, Body: approvals{}}}, Refuses: []core.Code{core.CodeThrottled},
		},
		{
			Method: "GET", Path: "/v1/usage", Name: "getUsage", serve: (*api).getUsage,
			Text:  "what the caller has used, or, for a caller without a user or one of `REVEILLE_USAGE_READERS`, everybody of the tenant: tokens, inferences, tool calls, times, units of the store and money, by day, user, agent, run and model, up to the newest stretch of a run that has ended or waits; money is `null` where a price is not known",
			Takes: []any{ofUsage{}}, Refuses: []core.Code{core.CodeNotFound, core.CodeThrottled},
			Answers: []answer{{Status: 200, Text: "with `format=csv` or `Accept: text/csv` a table", Body: usageReport{}}},
		},
		{
			Method: "GET", Path: "/v1/limits", Name: "getLimits", serve: (*api).getLimits,
			Text:    "the limits of the caller's tenant, what it has used of them today (UTC), and when the day ends; `{}` without limits",
			Answers: []answer{{Status: 200, Body: limitsOf{}}}, Refuses: []core.Code{core.CodeThrottled},
		},
		{
			Method: "GET", Path: "/openapi.json", Name: "getDocument", serve: (*api).openapi,
			Text:    "this document: OpenAPI 3.1",
			Answers: []answer{{Status: 200, Raw: true}},
		},
		{Method: "GET", Path: "/health", Name: "getHealth", Open: true, plain: (*api).health, Text: sick, Answers: healthy},
		{
			Method: "GET", Path: "/health/live", Name: "getLive", Open: true, plain: (*api).live,
			Text: "that the process answers, whatever ails it", Answers: []answer{{Status: 200, Body: health{}}},
		},
	}
}
