package httpapi

import (
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// What requests may have. Bodies are decoded into these types, and the document is made of
// them, so that each is described once.
//
// A field without omitempty is required. The tag "strict" is package strict's: other names
// of the key, and bounds. The tag "schema" narrows what the document says of a field that
// is checked elsewhere: min, max, minLength, maxLength, minItems, enum and pattern. That of
// a field "_" is JSON which the type's whole schema has too.

// chosenName is an id that a client chooses: 1 to 128 of the characters A-Z a-z 0-9 . _ : and -,
// neither "." nor "..".
type chosenName string

// optionalName is a Name, or empty, which is none.
type optionalName string

// titleText is one line of 1 to 200 characters, not all of them blank, or null, which is an
// empty one.
type titleText struct{ text *string } // nil: it is not there

// metadataObject is an object, whatever is in it, or null; of a change, a merge patch (RFC 7396).
type metadataObject json.RawMessage // nil: it is not there

type ofThread struct {
	Thread chosenName `in:"path" json:"thread"` // the thread's id
}

type ofRun struct {
	Run core.ID `in:"path" json:"run"` // the run's id
}

type ofInput struct {
	Input core.ID `in:"path" json:"input"` // the dispatch_id of the input's receipt
}

type paged struct {
	Limit  int    `in:"query" json:"limit,omitempty"`                       // how many at most, clamped to 1 to 200; 50 without. The page's limit says how many that are
	Cursor string `in:"query" json:"cursor,omitempty" schema:"minLength=1"` // next_cursor of the page before
}

type ofUsage struct {
	From   string `in:"query" json:"from" schema:"pattern=^[0-9]{4}-[0-9]{2}-[0-9]{2}$"` // the first day, in UTC
	To     string `in:"query" json:"to" schema:"pattern=^[0-9]{4}-[0-9]{2}-[0-9]{2}$"`   // the last day, which is in the report; 100 days at most
	By     string `in:"query" json:"by,omitempty" schema:"minLength=1"`                  // any of day, user, agent, run and model, with commas between them; day without
	Format string `in:"query" json:"format,omitempty" schema:"enum=json|csv"`            // without, csv if Accept asks for text/csv
}

type ofStatus struct {
	Status core.DispatchStatus `in:"query" json:"status,omitempty"` // those alone
}

type ofMessages struct {
	Order      string  `in:"query" json:"order,omitempty" schema:"enum=asc|desc"`          // oldest first (asc, also without), or newest first
	Run        core.ID `in:"query" json:"run,omitzero"`                                    // of that run alone
	Visibility string  `in:"query" json:"visibility,omitempty" schema:"enum=external|all"` // both show all that is stored: none of it is internal
}

type ofThreads struct {
	Text   string     `in:"query" json:"q,omitempty" schema:"maxLength=200"` // in the title, in how the last input begins, or in the id, upper and lower case alike
	Agent  string     `in:"query" json:"agent,omitempty"`                    // of the last run
	Parent chosenName `in:"query" json:"parent,omitempty"`                   // its child threads, which are left out otherwise
}

type ofRuns struct {
	Status      core.RunStatus       `in:"query" json:"status,omitempty"`                                                                                              // those alone
	Agent       string               `in:"query" json:"agent,omitempty"`                                                                                               // those alone
	Termination core.TerminationType `in:"query" json:"termination,omitempty" schema:"enum=natural_end|behavior_requested|stopped|cancelled|blocked|superseded|error"` // of those that are done
}

type ofOneThread struct {
	Thread chosenName `in:"query" json:"thread,omitempty"` // that thread's alone
}

type ofAgent struct {
	Agent string `in:"path" json:"agent"` // the agent's id
}

type ofRevision struct {
	Revision uint64 `in:"query" json:"revision,omitempty" schema:"min=0,max=9007199254740991"` // that the state has had; as it stands without
}

type sinceRevision struct {
	Since uint64 `in:"query" json:"since,omitempty" schema:"min=0,max=9007199254740991"` // that the state has had; from the first without. Not with cursor
}

type behindEvent struct {
	After string `in:"query" json:"after,omitempty"` // position of an event of the run: what comes strictly behind it. Not with cursor
}

type childStrategy struct {
	// What happens to child threads, those that runs of the thread have started. detach
	// keeps them and is the default; cascade deletes them too; reject refuses the request
	// with 409 while there is one.
	Children mailbox.Children `in:"query" json:"child_strategy,omitempty" schema:"enum=detach|cascade|reject"`
}

type keyed struct {
	// Makes the request safe to send again: the same key and body return the first
	// result, another body under the key is 409.
	Key chosenName `in:"header" json:"Idempotency-Key,omitempty"`
}

type following struct {
	Last  string `in:"header" json:"Last-Event-ID,omitempty"` // id of the last event that the client has
	Query string `in:"query" json:"lastEventId,omitempty"`    // the same, for clients that cannot set the header, which counts first
}

// resuming is what a POST that streams takes when it is sent again.
type resuming struct {
	Last string `in:"header" json:"Last-Event-ID,omitempty"` // id of the last event that the client has of the run; only with the Idempotency-Key of the first request
}

// inputMessage is what is said to an agent.
type inputMessage struct {
	ID      optionalName `json:"id,omitempty"`
	Role    string       `json:"role" schema:"enum=user"`
	Content inputContent `json:"content"`
}

// inputContent is a text, or a list of blocks; something of it is a file or not blank.
type inputContent []inputBlock

// inputBlock is a piece of a text, which has a text alone, or a file, which has a media
// type and its bytes or its address.
type inputBlock struct {
	Type      string  `json:"type" schema:"enum=text|file"`
	Text      *string `json:"text,omitempty"`
	MediaType *string `json:"media_type,omitempty"` // such as image/png
	Data      []byte  `json:"data,omitempty"`
	URL       *string `json:"url,omitempty"` // absolute, http or https: the provider fetches it
	Filename  *string `json:"filename,omitempty"`
}

// said are the keys of input that all routes take which start a run.
type said struct {
	AgentID  string          `json:"agentId,omitempty" strict:"also=agent_id"` // who runs; the default agent without
	Messages []inputMessage  `json:"messages,omitempty" schema:"minItems=1"`   // what is said; required but with regenerate_from
	Mode     mailbox.Mode    `json:"mode,omitempty"`                           // what it does on a busy thread; queue without, and interrupt of what takes something back
	Request  json.RawMessage `json:"request,omitempty"`                        // for the run's hooks and tools, at most 16 KB
	queueing
}

// submitted are those that may take back what the thread has, too.
type submitted struct {
	said
	// Says again what the thread was told in the message of this id, or before it if
	// that is an answer. Whatever stands behind it is taken back.
	RegenerateFrom *chosenName `json:"regenerate_from,omitempty" strict:"also=regenerateFrom"`
	// The messages take the place of the one with this id, and of what stands behind it.
	ReplaceMessage *chosenName `json:"replace_message,omitempty" strict:"also=replaceMessage"`
}

// queueing says when a run comes to its turn.
type queueing struct {
	Priority    *uint8 `json:"priority,omitempty"`                                // 0 opens first, 255 last; 128 without
	AvailableAt int64  `json:"available_at,omitempty" strict:"min=0"`             // unix milliseconds before which the run does not begin, at most a year ahead; not with delay_ms, nor with the modes steer and interrupt
	DelayMS     int64  `json:"delay_ms,omitempty" strict:"min=0,max=31536000000"` // the same, from now on
}

// submission is input for a thread.
type submission struct {
	submitted
	_ struct{} `schema:"{\"if\":{\"required\":[\"messages\"]},\"then\":{\"not\":{\"required\":[\"regenerate_from\"]}},\"else\":{\"required\":[\"regenerate_from\"]},\"dependentRequired\":{\"replace_message\":[\"messages\"]}}"`
}

// newRun is input for a thread that the body may name; without it is a new one.
type newRun struct {
	submitted
	ThreadID optionalName `json:"threadId,omitempty" strict:"also=thread_id"`
	_        struct{}     `schema:"{\"if\":{\"required\":[\"messages\"]},\"then\":{\"not\":{\"required\":[\"regenerate_from\"]}},\"else\":{\"required\":[\"regenerate_from\",\"threadId\"]},\"dependentRequired\":{\"replace_message\":[\"messages\",\"threadId\"]}}"`
}

// interruption is what takes the place of what is ended; an empty one ends it alone.
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

// payload is input that is no conversation's.
type payload struct {
	Payload anyJSON `json:"payload" strict:"null"` // of an object its text, if it has one, is what is said; else the JSON itself
	AgentID string  `json:"agentId,omitempty" strict:"also=agent_id"`
	queueing
}

// edit is what takes the place of input that no step has read.
type edit struct {
	Messages []inputMessage `json:"messages" schema:"minItems=1"`
}

// fork says where a thread is forked.
type fork struct {
	At       chosenName  `json:"at"`                                         // id of the last message that the fork has
	ThreadID *chosenName `json:"threadId,omitempty" strict:"also=thread_id"` // of the fork; without it is a new one
}

// decisionBody is what is decided about a call that waits. It names the call or the
// suspension.
type decisionBody struct {
	ToolCallID   *string             `json:"tool_call_id,omitempty" strict:"also=toolCallId" schema:"minLength=1"`
	SuspensionID *string             `json:"suspension_id,omitempty" strict:"also=suspensionId" schema:"minLength=1"`
	Action       core.DecisionAction `json:"action"`
	Payload      json.RawMessage     `json:"payload,omitempty"`                              // a person's {"approved": false} cancels, whatever the action says
	Reason       string              `json:"reason,omitempty"`                               // for the model
	DecisionID   optionalName        `json:"decision_id,omitempty" strict:"also=decisionId"` // the same again does nothing; made of what the decision says without
	Remember     core.Remember       `json:"remember,omitempty"`                             // for how long a person's answer to a request for permission holds
	RememberAs   core.RememberAs     `json:"remember_as,omitempty" strict:"also=rememberAs"` // what it holds for; with remember run or thread alone
	_            struct{}            `schema:"{\"if\":{\"required\":[\"tool_call_id\"]},\"then\":{\"not\":{\"required\":[\"suspension_id\"]}},\"else\":{\"required\":[\"suspension_id\"]},\"dependentSchemas\":{\"remember_as\":{\"required\":[\"remember\"],\"properties\":{\"remember\":{\"enum\":[\"run\",\"thread\"]}}}}}"`
}

// making is a thread that nothing was said on yet.
type making struct {
	ThreadID optionalName `json:"threadId,omitempty" strict:"also=thread_id"` // without it is a new one
	describing
}

// described is what changes of what is said of a thread: one of the two at least.
type described struct {
	describing
}

// describing is what is said of a thread.
type describing struct {
	Title    titleText      `json:"title,omitzero" strict:"null"`     // one line; null takes it away
	Metadata metadataObject `json:"metadata,omitempty" strict:"null"` // at most 64 keys and 16 KB; null takes it away
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
	Run *core.Run `json:"active_run"` // null: none
}
