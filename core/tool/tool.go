package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/schema"
	"github.com/reveille-run/reveille/core/internal/show"
	"github.com/reveille-run/reveille/core/internal/toolcall"
	"github.com/reveille-run/reveille/core/state"
)

// MaxArguments is the most bytes of a call's arguments. A result has at most 1 MiB of data,
// message and metadata together.
const MaxArguments = toolcall.MaxArguments

// The limits of a spec, in bytes.
const (
	maxName     = 64      // a tool's name
	maxApproval = 4 << 10 // [Spec].Approval
)

// Spec is how a tool presents itself.
type Spec struct {
	Name        string          `json:"name"` // 1 to 64 of A-Z a-z 0-9 _ and -
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"` // JSON Schema of the arguments object; nil: that of the Args of [New]

	// Timeout ends the call's context; 0: the step's time is the limit. A tool
	// that does not return within two seconds after is abandoned: its call's
	// outcome is unknown, and what it returns later is dropped.
	Timeout time.Duration `json:"timeout,omitempty"`
	// ReadOnly declares that the tool changes nothing outside of its run, so that running
	// it again does no harm. Such a tool can start while its turn is being stored: its time
	// and that of the store run in parallel. Its gates run then, too. A turn that cannot be
	// stored is dropped, and with it the call: the context ends, the model is called again,
	// and another call may get the same [Call.Key]. The result of a dropped call, its parts,
	// child runs and reports are never stored and never shown. In a sequential turn this is
	// for the first call alone. A tool that is AtMostOnce or has an Approval does not start
	// early.
	// Tests that look for tools which do their work twice skip a ReadOnly tool, and clients
	// of an exposed tool receive it as a hint.
	ReadOnly bool `json:"read_only,omitempty"`
	// AtMostOnce prevents a second execution: if a call's worker died between the tool's
	// start and the moment when its result was stored, the model reads that the outcome is
	// unknown. Otherwise the call runs again with the same [Call.Key]. That is right for
	// tools that only read, or that recognize the key.
	AtMostOnce bool `json:"at_most_once,omitempty"`
	// Approval is the question to a person before a call of the tool runs; empty: none.
	// Such a call waits, with a ticket that has this text as its message; one that is
	// denied does not run, and the model reads the reason. A decision may remember the
	// answer, for the same arguments or for all calls of the tool. Nothing else answers it:
	// a rule of the permission plugin that allows the tool does not, and one that asks is a
	// second question.
	Approval string `json:"approval,omitempty"`
	// Client means that the client runs the tool: its call waits until the output comes as
	// a decision. [NewClient] sets it.
	Client bool `json:"client,omitempty"`

	err error // what went wrong in making the tool, see [New]
}

// Call is one request to run a tool.
type Call struct {
	ID          string // as the model named it; it can repeat within a thread
	Name        string
	Arguments   json.RawMessage // must not be changed: the turn has the same bytes
	Idempotency string          // what [Call.Key] returns, "run/sequence/index"
	Index       int             // of the call in its turn
	Thread      core.ThreadKey
	Run         core.ID
	Step        int            // from 1
	Snapshot    state.Snapshot // the state before the call

	User     string          // on whose behalf; empty: any user of the tenant
	Now      time.Time       // the clock of the call's record, UTC: the same in a replay
	Request  json.RawMessage // what the caller sent along with the run's input; nil: nothing
	Profiles state.Profiles  // values outside of the thread, for its tenant; nil where the host has none

	// Resume is the decision after which a suspended call runs again; nil: it was
	// not suspended.
	Resume *core.Resume
	// Parts keeps the results of [Call.Once], so that a call that runs again does not repeat
	// the parts that were finished; nil: nothing is kept.
	Parts interface {
		// Part returns what Keep has stored under the name; ok is false when nothing is.
		Part(ctx context.Context, name string) (value json.RawMessage, ok bool, err error)
		// Keep stores a part's result unless one is stored, and returns the stored one.
		Keep(ctx context.Context, name string, value json.RawMessage) (json.RawMessage, error)
	}
	// Children starts runs for [Call.Start]; nil: the host starts none.
	Children interface {
		StartChild(ctx context.Context, call Call, child Child) (run core.ID, err error)
		// Lineage is what [Call.Lineage] returns.
		Lineage() Lineage
	}
	// Others reads, cancels and notifies runs of other threads: see [Call.Send]; nil: the host
	// has no access to them.
	Others interface {
		ChildRun(ctx context.Context, call Call, run core.ID) (core.Run, error)
		CancelRun(ctx context.Context, call Call, run core.ID) (cancelled int, err error)
		SendMessage(ctx context.Context, call Call, m Message) (core.ID, error)
		FailedMessages(ctx context.Context, call Call) ([]FailedMessage, error)
		RecoverMessages(ctx context.Context, call Call, again bool) (messages int, err error)
	}
	// Live is the run's: it passes on what the tool shows of its work, see [Call.Progress],
	// [Call.Output] and [Call.Activity]; nil: no reader listens.
	Live *show.Live
	// KeyRead is called when the tool reads what identifies the call, its Key or its
	// ChildEnd, for tests that check whether it does; nil: no call.
	KeyRead func()
}

// Key returns the call's idempotency key: the same when the call runs again, and no other
// call's. Send it with every change outside, so that the change is made once however often
// the call runs. The key of a [Spec].ReadOnly tool is not for caches: if its turn was
// dropped, another call can have had the same key and other arguments.
func (c Call) Key() string {
	if c.KeyRead != nil {
		c.KeyRead()
	}
	return c.Idempotency
}

// Tool is something that a model can call. Implementations are safe for
// concurrent use.
type Tool interface {
	// Spec describes the tool. It returns the same each time.
	Spec() Spec
	// Check returns an error that names what is wrong with the arguments. It
	// must not act: gates run between Check and Run.
	Check(arguments json.RawMessage) error
	// Run executes a call whose arguments passed Check. An error becomes an
	// error result for the model; one wrapped by [Fatal] ends the run. A result
	// with Suspend makes the call wait for a decision, and Run is called again
	// when that resumes it.
	Run(ctx context.Context, call Call) (Result, error)
}

// checkName validates a tool's name: 1 to 64 of A-Z a-z 0-9 _ and -, which is
// what every provider accepts.
func checkName(name string) error {
	if name == "" {
		return core.Errorf(core.CodeInvalid, "tool name is empty")
	}
	if len(name) > maxName {
		return core.Errorf(core.CodeInvalid, "tool name %q is %d bytes long, at most %d are allowed", core.Excerpt(name), len(name), maxName)
	}
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '_' && c != '-' {
			return core.Errorf(core.CodeInvalid, "tool name %q has the character %q, allowed are A-Z a-z 0-9 _ -", name, c)
		}
	}
	return nil
}

// Check validates the spec itself: name, timeout, approval, and parameters that are
// the schema of an object (or absent). For a tool that [New] could not make it returns
// why. A registry or a plugin's registrar calls it for each tool that it admits.
func (s Spec) Check() error {
	if s.err != nil {
		return s.err
	}
	if err := checkName(s.Name); err != nil {
		return err
	}
	if s.Timeout < 0 {
		return fmt.Errorf("tool %q has the timeout %s, want 0 (none) or more", s.Name, s.Timeout)
	}
	if len(s.Approval) > maxApproval {
		return fmt.Errorf("approval of tool %q has %d bytes, at most %d are allowed", s.Name, len(s.Approval), maxApproval)
	}
	if !utf8.ValidString(s.Approval) {
		return fmt.Errorf("approval of tool %q is not UTF-8 text", s.Name)
	}
	if s.Parameters == nil {
		return nil
	}
	if text := string(s.Parameters); text == "true" || text == "false" { // the schemas of any and of nothing
		return fmt.Errorf(`parameters of tool %q: the schema is %s, want one whose type is "object"`, s.Name, text)
	}
	kind, err := schema.Type(s.Parameters)
	if err != nil {
		return fmt.Errorf("parameters of tool %q: %w", s.Name, err)
	}
	if kind != "object" {
		return fmt.Errorf(`parameters of tool %q: the schema's type is %q, want "object"`, s.Name, kind)
	}
	return nil
}
