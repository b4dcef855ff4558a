package httpapi

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// The types of requests. Bodies are decoded into these types, and the document is made of
// them, so that each is described once.
//
// A field without omitempty is required. The tag "strict" is package strict's: other names
// of the key, and bounds. The tag "schema" narrows what the document says of a field that
// is checked elsewhere: min, max, minLength, maxLength, minItems, enum and pattern. That of
// a field "_" is JSON which the type's whole schema has too.

// chosenName is an id that a client chooses: 1 to 128 of the characters A-Z a-z 0-9 . _ : and -,
// neither "." nor "..".
type chosenName string

// optionalName is a chosenName, or empty for none.
type optionalName string

// titleText is one line of 1 to 200 characters, not all of them blank, or null for an
// empty one.
type titleText struct{ text *string } // nil: it is not there

// metadataObject is any object, or null; in a change, a merge patch (RFC 7396).
type metadataObject json.RawMessage // nil: it is not there

// argumentsObject is the arguments of a tool call.
type argumentsObject json.RawMessage // nil: it is not there

type ofThread struct {
	Thread chosenName `in:"path" json:"thread"` // id of the thread
}

type ofRun struct {
	Run core.ID `in:"path" json:"run"` // id of the run
}

type ofInput struct {
	Input core.ID `in:"path" json:"input"` // the dispatch_id that the API returned for the input
}

type paged struct {
	Limit  int    `in:"query" json:"limit,omitempty"`                       // maximum number of items, clamped to 1 to 200; default 50. The limit of the page is the value in use
	Cursor string `in:"query" json:"cursor,omitempty" schema:"minLength=1"` // the next_cursor of the previous page
}

type ofUsage struct {
	From   string `in:"query" json:"from" schema:"pattern=^[0-9]{4}-[0-9]{2}-[0-9]{2}$"` // first day of the report, in UTC
	To     string `in:"query" json:"to" schema:"pattern=^[0-9]{4}-[0-9]{2}-[0-9]{2}$"`   // last day of the report, in UTC; a report covers at most 100 days
	By     string `in:"query" json:"by,omitempty" schema:"minLength=1"`                  // comma-separated list of day, user, agent, run, root and model; default day
	Format string `in:"query" json:"format,omitempty" schema:"enum=json|csv"`            // default json, or csv if the header Accept has text/csv
}

type ofStatus struct {
	Status core.DispatchStatus `in:"query" json:"status,omitempty"` // only items with this status
}

type ofMessages struct {
	Order      string  `in:"query" json:"order,omitempty" schema:"enum=asc|desc"`          // asc (default) lists the oldest first, desc the newest
	Run        core.ID `in:"query" json:"run,omitzero"`                                    // only messages of this run
	Visibility string  `in:"query" json:"visibility,omitempty" schema:"enum=external|all"` // both values return all messages, since no stored message is internal
}

type ofThreads struct {
	Text   string     `in:"query" json:"q,omitempty" schema:"maxLength=200"` // text in the title, in the start of the first or the last input, or in the id; case does not matter
	Agent  string     `in:"query" json:"agent,omitempty"`                    // only threads whose last run used this agent
	Parent chosenName `in:"query" json:"parent,omitempty"`                   // only child threads of this thread; by default child threads are omitted
}

type ofRuns struct {
	Status      core.RunStatus       `in:"query" json:"status,omitempty"`                                                                                              // only runs with this status
	Agent       string               `in:"query" json:"agent,omitempty"`                                                                                               // only runs of this agent
	Termination core.TerminationType `in:"query" json:"termination,omitempty" schema:"enum=natural_end|behavior_requested|stopped|cancelled|blocked|superseded|error"` // only finished runs with this termination
}

type ofApprovals struct {
	Kind  core.TicketKind `in:"query" json:"kind,omitempty" schema:"enum=person|client"` // only calls that a person decides, or only those that the client runs
	Agent string          `in:"query" json:"agent,omitempty"`                            // only calls of runs of this agent
}

type ofSummary struct {
	Since int64  `in:"query" json:"since,omitempty" schema:"min=0,max=9007199254740991"` // the first hour is the one of this time, in Unix milliseconds; default is 24 hours, the last one included
	Until int64  `in:"query" json:"until,omitempty" schema:"min=0,max=9007199254740991"` // the last hour starts before this time, in Unix milliseconds; default is now. A summary covers at most 2,400 hours
	Agent string `in:"query" json:"agent,omitempty"`                                     // only runs of this agent
}

type ofRunFilters struct {
	Text      string   `in:"query" json:"q,omitempty" schema:"maxLength=200"`                   // text in the start of the input, in the title of the thread, or in the id of the run or the thread; case does not matter
	Since     int64    `in:"query" json:"since,omitempty" schema:"min=0,max=9007199254740991"`  // only runs submitted at this time or later, in Unix milliseconds
	Until     int64    `in:"query" json:"until,omitempty" schema:"min=0,max=9007199254740991"`  // only runs submitted before this time, in Unix milliseconds
	Origin    string   `in:"query" json:"origin,omitempty" schema:"enum=user|internal"`         // user: only runs of clients. internal: only runs of the deployment itself, such as child runs
	Parent    core.ID  `in:"query" json:"parent,omitzero"`                                      // only runs that this run has started
	MinMillis int64    `in:"query" json:"min_ms,omitempty" schema:"min=0,max=9007199254740991"` // only runs that took so long from their start to their end or to now, in milliseconds, waits included
	MinCost   core.USD `in:"query" json:"min_cost,omitzero" schema:"min=0"`                     // only runs with at least this cost_usd, in dollars
}

type ofOneThread struct {
	Thread chosenName `in:"query" json:"thread,omitempty"` // only runs of this thread
}

type ofAgent struct {
	Agent string `in:"path" json:"agent"` // id of the agent
}

type ofRevision struct {
	Revision uint64 `in:"query" json:"revision,omitempty" schema:"min=0,max=9007199254740991"` // a revision of the state; default is the current one
}

type sinceRevision struct {
	Since uint64 `in:"query" json:"since,omitempty" schema:"min=0,max=9007199254740991"` // only patches after this revision; default is all of them. Not allowed with cursor
}

type behindEvent struct {
	After string `in:"query" json:"after,omitempty"` // only events after this position. Not allowed with cursor
}

type childStrategy struct {
	// The treatment of child threads, which runs of the thread have started. detach
	// (default) keeps them. cascade deletes them too. reject refuses the request with 409
	// while there is one.
	Children mailbox.Children `in:"query" json:"child_strategy,omitempty" schema:"enum=detach|cascade|reject"`
}

type keyed struct {
	// Makes the request safe to retry. The same key and body return the first result. The
	// same key with another body is 409.
	Key chosenName `in:"header" json:"Idempotency-Key,omitempty"`
}

type following struct {
	Last  string `in:"header" json:"Last-Event-ID,omitempty"` // id of the last event that the client has received
	Query string `in:"query" json:"lastEventId,omitempty"`    // the same as the header Last-Event-ID, for clients that cannot set it; the header wins
}

// resuming is the position of a streaming POST that is sent again.
type resuming struct {
	Last string `in:"header" json:"Last-Event-ID,omitempty"` // id of the last event that the client has received; it requires the Idempotency-Key of the first request
}

// inputMessage is a message for an agent.
type inputMessage struct {
	ID      optionalName `json:"id,omitempty"`
	Role    string       `json:"role" schema:"enum=user"`
	Content inputContent `json:"content"`
}

// inputContent is a text, or a list of blocks; at least one block is a file or has a
// visible text.
type inputContent []inputBlock

// inputBlock is a text, or a file with a media type and either data or a URL.
type inputBlock struct {
	Type      string  `json:"type" schema:"enum=text|file"`
	Text      *string `json:"text,omitempty"`
	MediaType *string `json:"media_type,omitempty"` // such as image/png
	Data      []byte  `json:"data,omitempty"`
	URL       *string `json:"url,omitempty"` // absolute http or https URL, which the provider fetches
	Filename  *string `json:"filename,omitempty"`
}

// said are the keys of input of all routes that start a run.
type said struct {
	AgentID  string          `json:"agentId,omitempty" strict:"also=agent_id"` // the agent; default is the deployment's default agent
	Messages []inputMessage  `json:"messages,omitempty" schema:"minItems=1"`   // the input; required unless regenerate_from is set
	Mode     mailbox.Mode    `json:"mode,omitempty"`                           // effect of the input on a busy thread; default queue, or interrupt if regenerate_from or replace_message is set
	Request  json.RawMessage `json:"request,omitempty"`                        // any JSON for the hooks and tools of the run, at most 16 KB
	queueing
}

// submitted is input that may supersede messages of the thread.
type submitted struct {
	said
	// Id of a message. The run repeats the input with this id or, if the id is a
	// response's, the input before it. All later messages are superseded.
	RegenerateFrom *chosenName `json:"regenerate_from,omitempty" strict:"also=regenerateFrom"`
	// Id of a message. The new messages replace it, and all later messages are superseded.
	ReplaceMessage *chosenName `json:"replace_message,omitempty" strict:"also=replaceMessage"`
}

// queueing is the priority and the earliest start of a run.
type queueing struct {
	Priority    *uint8 `json:"priority,omitempty"`                                // order of queued runs: 0 opens first, 255 last; default 128
	AvailableAt int64  `json:"available_at,omitempty" strict:"min=0"`             // earliest start in Unix milliseconds, at most one year ahead; not allowed with delay_ms or the modes steer and interrupt
	DelayMS     int64  `json:"delay_ms,omitempty" strict:"min=0,max=31536000000"` // delay of the start in milliseconds, at most one year; not allowed with available_at
}

// submission is input for a thread.
type submission struct {
	submitted
	_ struct{} `schema:"{\"if\":{\"required\":[\"messages\"]},\"then\":{\"not\":{\"required\":[\"regenerate_from\"]}},\"else\":{\"required\":[\"regenerate_from\"]},\"dependentRequired\":{\"replace_message\":[\"messages\"]}}"`
}

// newRun is input for the thread in the body; without one the run has a new thread.
type newRun struct {
	submitted
	ThreadID optionalName `json:"threadId,omitempty" strict:"also=thread_id"`
	_        struct{}     `schema:"{\"if\":{\"required\":[\"messages\"]},\"then\":{\"not\":{\"required\":[\"regenerate_from\"]}},\"else\":{\"required\":[\"regenerate_from\",\"threadId\"]},\"dependentRequired\":{\"replace_message\":[\"messages\",\"threadId\"]}}"`
}

// interruption is the input after an interrupt; an empty one only ends the runs.
type interruption struct {
	submitted
	_ struct{} `schema:"{\"if\":{\"required\":[\"messages\"]},\"then\":{\"not\":{\"required\":[\"regenerate_from\"]}},\"else\":{\"anyOf\":[{\"required\":[\"regenerate_from\"]},{\"maxProperties\":0}]},\"dependentRequired\":{\"replace_message\":[\"messages\"]},\"properties\":{\"mode\":{\"enum\":[\"interrupt\"]}}}"`
}

// furtherInput is input for a run.
type furtherInput struct {
	said
	_ struct{} `schema:"{\"required\":[\"messages\"]}"`
}

// anyJSON is any JSON.
type anyJSON struct {
	raw  json.RawMessage
	text *string // of an object that has one; nil: none
}

// payload is input of a program, as JSON.
type payload struct {
	Payload anyJSON `json:"payload" strict:"null"` // if it is an object with a text, the text is the message; otherwise the JSON is
	AgentID string  `json:"agentId,omitempty" strict:"also=agent_id"`
	queueing
}

// edit is the replacement of input that no step has read.
type edit struct {
	Messages []inputMessage `json:"messages" schema:"minItems=1"`
}

// fork is a request to copy a thread up to a message.
type fork struct {
	At       chosenName  `json:"at"`                                         // id of the last message of the fork
	ThreadID *chosenName `json:"threadId,omitempty" strict:"also=thread_id"` // id of the fork; default is a new id
}

// decisionBody is a decision on a call that waits. It names the call or the suspension.
type decisionBody struct {
	RunID        optionalName        `json:"run_id,omitempty" strict:"also=runId"` // the run that has the call, if another run has started it, directly or through others; default is the run of the request
	ToolCallID   *string             `json:"tool_call_id,omitempty" strict:"also=toolCallId" schema:"minLength=1"`
	SuspensionID *string             `json:"suspension_id,omitempty" strict:"also=suspensionId" schema:"minLength=1"`
	Action       core.DecisionAction `json:"action"`
	Payload      json.RawMessage     `json:"payload,omitempty"`                              // data for the call. If a person must decide, {"approved": false} cancels with any action
	Arguments    argumentsObject     `json:"arguments,omitempty" strict:"null"`              // the call runs with these instead of the model's. Only if a person decides with action resume, and resume_mode is replay_tool_call or pass_decision_to_tool
	Reason       string              `json:"reason,omitempty"`                               // text that the model reads after a cancel
	DecisionID   optionalName        `json:"decision_id,omitempty" strict:"also=decisionId"` // id for safe retries; default is derived from the content of the decision
	Remember     core.Remember       `json:"remember,omitempty"`                             // how long a permission holds
	RememberAs   core.RememberAs     `json:"remember_as,omitempty" strict:"also=rememberAs"` // the calls that the permission covers; only with remember run or thread
	_            struct{}            `schema:"{\"if\":{\"required\":[\"tool_call_id\"]},\"then\":{\"not\":{\"required\":[\"suspension_id\"]}},\"else\":{\"required\":[\"suspension_id\"]},\"dependentSchemas\":{\"remember_as\":{\"required\":[\"remember\"],\"properties\":{\"remember\":{\"enum\":[\"run\",\"thread\"]}}}}}"`
}

// making is a new thread without messages.
type making struct {
	ThreadID optionalName `json:"threadId,omitempty" strict:"also=thread_id"` // id of the thread; default is a new id
	describing
}

// described is a change of a thread's title, metadata or both.
type described struct {
	describing
}

// describing is the title and the metadata of a thread.
type describing struct {
	Title    titleText      `json:"title,omitzero" strict:"null"`     // one line; null removes it
	Metadata metadataObject `json:"metadata,omitempty" strict:"null"` // at most 64 keys and 16 KB; null removes it
}

// threadCancelled is the body of a 202 for a cancel of a thread's run.
type threadCancelled struct {
	Status   string `json:"status" schema:"enum=cancel_requested"`
	ThreadID string `json:"thread_id"`
}

// runCancelled is the body of a 202 for a cancel of a run.
type runCancelled struct {
	RunID  core.ID `json:"run_id"`
	Status string  `json:"status" schema:"enum=cancel_requested"`
}

// edited is the body of a 200 for input that was changed.
type edited struct {
	DispatchID core.ID `json:"dispatch_id"`
	Status     string  `json:"status" schema:"enum=edited"`
	ThreadID   string  `json:"thread_id"`
}

// active is the body of a 200 for the open run of a thread.
type active struct {
	Run *core.Run `json:"active_run"` // null: no run is open
}
