package thread

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/reveille-run/reveille/core"
)

// Queued is the payload of a queued input record Q#<dispatch>#<revision>: the input that
// a run starts with, or an inbox entry.
type Queued struct {
	Run       core.ID        `json:"run,omitzero"` // that it was submitted as; steered input may go to another's inbox
	Dispatch  core.ID        `json:"dispatch"`
	AgentID   string         `json:"agent_id,omitempty"`
	Origin    core.Origin    `json:"origin,omitempty"`
	Messages  []core.Message `json:"messages"`
	CreatedAt int64          `json:"created_at"` // unix milliseconds
	// Supersede is the sequence from which the run supersedes the log before it
	// starts; 0: nothing. It does not count for input that goes to an inbox.
	Supersede uint64 `json:"supersede,omitempty"`
	// Retakes is the run whose input is repeated or replaced, if the client named it by a
	// message.
	Retakes core.ID `json:"retakes,omitzero"`
	// TakesUp is the run that ended with an error and that this one continues: it has
	// no input itself, and starts with that run's Resolution.
	TakesUp    core.ID `json:"takes_up,omitzero"`
	Resolution string  `json:"resolution,omitempty"`
	// Request is the caller's request data, JSON. It does not count for input that
	// goes to an inbox: a run has the request that it was started with.
	Request json.RawMessage `json:"request,omitempty"`
	// Frontend is the data of the caller's frontend. It does not count for input that
	// goes to an inbox either.
	Frontend *core.Frontend `json:"frontend,omitempty"`
	Parent   *Parent        `json:"parent,omitempty"` // the receiver of the run's end; nil: no receiver
	Unknown  Unknown        `json:"-"`                // fields of a newer program, kept by an edit; see [Records.DecodeWholeQueued]
}

// Plain reports whether decoding the input's record gives the very same value: it has no
// JSON of others, which is stored without blanks, nothing that is encoded like an absent value,
// and only texts that JSON can hold. The usual input is plain.
func (q *Queued) Plain() bool {
	if q.Request != nil || q.Frontend != nil || q.Unknown != nil || q.Messages == nil || !plainTexts(q.AgentID, string(q.Origin), q.Resolution) ||
		!q.Parent.plain() {
		return false
	}
	for i := range q.Messages {
		m := &q.Messages[i]
		if m.ToolCalls != nil || m.ToolResult != nil || m.Usage != nil || len(m.Content) == 0 ||
			!plainTexts(m.ID, string(m.Role), m.Model, m.Provider, string(m.StopReason)) {
			return false
		}
		for j := range m.Content {
			b := &m.Content[j]
			if b.Echo != nil || b.Annotations != nil || b.Data != nil && len(b.Data) == 0 || !plainTexts(string(b.Type), b.Text, b.MediaType, b.URL, b.Filename, b.Origin) {
				return false
			}
		}
	}
	return true
}

// plain is [Queued.Plain] of a parent; nil is plain.
func (p *Parent) plain() bool {
	return p == nil || plainTexts(p.Thread, p.ToolCall) && plainTexts(p.Agents...) && (p.Agents == nil || len(p.Agents) > 0)
}

func plainTexts(texts ...string) bool {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return false
		}
	}
	return true
}

// Parent names the call of another thread's run, of the same tenant, that waits for a
// child run.
type Parent struct {
	Thread string  `json:"thread"`
	Run    core.ID `json:"run"`
	Call   uint8   `json:"call"` // or NoCall
	// ToolCall is the id of the call that started the child, as the model named it; empty:
	// not known.
	ToolCall string `json:"tool_call,omitempty"`
	// Listed means that the parent's head lists the child until it knows of its end: see
	// [AddChild].
	Listed bool `json:"listed,omitempty"`
	// Detached means that the end of the parent does not end the child.
	Detached bool `json:"detached,omitempty"`
	// Root is the run at the top of the tree, which no call has started; zero: not known.
	Root core.ID `json:"root,omitzero"`
	// Agents are the ids of the agents from the root's to the parent's, oldest first, at most
	// core.MaxDepth: their number is the depth of the child.
	Agents []string `json:"agents,omitempty"`
	// MaxTokens and Deadline are the child's share of the parent's budget: tokens, input and
	// output together, and a time in unix milliseconds. 0: no limit.
	MaxTokens int64 `json:"max_tokens,omitempty"`
	Deadline  int64 `json:"deadline,omitempty"`
}

// NoCall is the call of a Parent that waits with none: it reads of the child's end as
// of any internal input.
const NoCall = 255

// RunRecord is the payload of R#<run>, written at a run's start, when it waits
// and at its end.
type RunRecord struct {
	core.Run
	// Ending is an end that the run's own step reached. It is copied by every later
	// write of the record, and counts only while the head closes the run for
	// [ReasonOwn] and Ending.Version is the head's Closing: see [Head.End].
	Ending *Ending `json:"ending,omitempty"`
	// Request is the one that came with the run's input; see [Queued.Request].
	Request json.RawMessage `json:"request,omitempty"`
	// Frontend is the one of the run's input, except its state, which the thread has.
	Frontend *core.Frontend `json:"frontend,omitempty"`
	// Parent is the receiver of the run's end, from its input; nil: no receiver.
	Parent *Parent `json:"parent,omitempty"`
	// Spend is what the run's tokens have cost, of a tenant whose money is limited; see
	// [Totals.Spend].
	Spend core.USD `json:"spend_usd,omitempty"`
	// Trace names the trace of the run; none in records of this program, which keeps what
	// others wrote.
	Trace   TraceID `json:"trace_id,omitzero"`
	Sampled bool    `json:"trace_sampled,omitempty"`   // the trace that Trace names is collected
	Skipped bool    `json:"run_end_skipped,omitempty"` // its RunEnd hooks were not run: too many claims of the closing run were lost
	InRound bool    `json:"ended_in_round,omitempty"`  // it ended while the round of its last turn was open
	// Bases are the usage of the run at the start of its stretches, of the newest two
	// that a write of the record knew: the head decides which of them is the run's.
	// An orphan of a refused wait has the valid one, too.
	Bases []Base `json:"bases,omitempty"`
	// Models are the models of a run that has ended, each with its part of Usage: see
	// [RunRecord.SetModels]. nil: the run has used none, or its usage is not metered.
	Models []core.ModelUse `json:"models,omitempty"`
	// Unfinished is the step that the run's end has cut short; nil: none, or it is not known.
	Unfinished *Unfinished `json:"unfinished,omitempty"`
	// Losses are the run's lost claims, once it is done; see [Times].
	Losses  []Loss  `json:"losses,omitempty"`
	Unknown Unknown `json:"-"` // fields of a newer program, kept when the record is rewritten
}

// Base is the usage of a run when it waited, from its log.
type Base struct {
	Version uint64   `json:"version"` // of the head by which it waits, see [Stretch.Behind]
	Used    *Metered `json:"used,omitempty"`
}

// Base returns the usage of the run at the start of a stretch; ok is false when that is
// lost. The first stretch starts with none.
func (r *RunRecord) Base(stretch Stretch) (used *Metered, ok bool) {
	for _, b := range r.Bases {
		if b.Version == stretch.Behind {
			return b.Used, true
		}
	}
	return nil, stretch.Behind == 0
}

// Ending is how a run ended, and by which write.
type Ending struct {
	Version     uint64           `json:"version"` // of the head that began to close the run
	Termination core.Termination `json:"termination"`
	// Form is how much of the end is stored. If the end was not reached by a step,
	// the record has an ending only if that is not everything.
	Form Form `json:"form,omitempty"`
}

// End returns how the open run ends: by the head's reason, or by the ending of its
// record when its own step reached the end. nil when the run is not closing, or when
// the record is not the one that goes with the head.
func (h *Head) End(record *RunRecord) *core.Termination {
	if h.Run.Status != Closing {
		return nil
	}
	if h.Run.Reason != ReasonOwn {
		return h.Run.Reason.Termination()
	}
	ending := h.Ending(record)
	if ending == nil {
		return nil
	}
	termination := ending.Termination
	return &termination
}

// Ending returns the record's ending, if it belongs to the closing of the head; nil: no
// ending, or that of a refused write.
func (h *Head) Ending(record *RunRecord) *Ending {
	if record == nil || record.Ending == nil || record.Ending.Version != h.Closing {
		return nil
	}
	return record.Ending
}

// AuditRecord is the payload of A#<id>#read and A#<id>#ended.
type AuditRecord struct {
	Run    core.ID             `json:"run"` // for an inbox entry: the run that was to read it
	Read   uint64              `json:"read,omitempty"`
	Status core.DispatchStatus `json:"status"`
	At     int64               `json:"at,omitempty"` // of one that ended, the time of that, unix milliseconds; 0: no notice was due
}

// Listing is the payload of a record that lists a thread (L#) or a run (L#<run>). It is
// a note for lists, which the next write repairs: the head and the run's record decide.
type Listing struct {
	List string `json:"list"` // recordname.ThreadsList and the like
	At   int64  `json:"at"`   // unix milliseconds: of a thread its last activity, of a run when it was submitted

	AgentID string `json:"agent_id,omitempty"` // of the run, or the thread's last one that has ended, waits, or made the thread
	Parent  string `json:"parent,omitempty"`   // the thread whose call has started the run
	// Origin is that of a run's input. A listing without Asked may be of a program that did
	// not store it.
	Origin core.Origin `json:"origin,omitempty"`
	// In a thread's: its last run that has ended or waits, and the start of its
	// answer.
	Last    *core.LastRun `json:"last,omitempty"`
	Excerpt string        `json:"excerpt,omitempty"`
	// Asked is how an input begins: of a run its own, in at most MaxAsked bytes; of a
	// thread that of Last, or the one that made the thread.
	Asked string `json:"asked,omitempty"`
}

// MaxExcerpt is how many characters of a text a listing has.
const MaxExcerpt = 200

// Excerpt is the start of a text, on one line, in at most MaxExcerpt characters.
func Excerpt(text string) string {
	const most = MaxExcerpt
	if len(text) <= most && !strings.ContainsAny(text, "\n\t\r") {
		return text
	}
	if len(text) > 8*most { // no more is looked at
		text = text[:8*most]
	}
	runes := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	if len(runes) <= most {
		return string(runes)
	}
	return string(runes[:most-1]) + "…"
}

// Asked is the start of the newest text in a run's input; empty if it has no text.
func Asked(messages []core.Message, run core.ID) string {
	for i := len(messages) - 1; i >= 0 && messages[i].RunID == run; i-- {
		if m := &messages[i]; m.IsInput() {
			if text := strings.TrimSpace(m.Text()); text != "" {
				return Excerpt(text)
			}
		}
	}
	return ""
}

// MaxAsked is the size of a run's Asked in its listing, in bytes of JSON without the quotes.
const MaxAsked = 200

// Short is the start of an excerpt, in at most MaxAsked bytes of JSON: what every listing of
// a run may grow by.
func Short(excerpt string) string {
	const end = "…"
	size, cut := 0, 0
	for i, r := range excerpt {
		if size <= MaxAsked-len(end) {
			cut = i
		}
		if size += encodedSize(r); size > MaxAsked {
			return excerpt[:cut] + end
		}
	}
	return excerpt
}

// encodedSize is the size of a character in JSON, at most.
func encodedSize(r rune) int {
	switch {
	case r == '"', r == '\\':
		return 2
	case r < ' ', r == '\u2028', r == '\u2029', r == utf8.RuneError: // escaped by their number
		return 6
	}
	return utf8.RuneLen(r)
}

// About is the payload of T#: the data of a thread itself. No run looks at it.
type About struct {
	Title    string          `json:"title,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"` // an object; nil: no metadata
	Unknown  Unknown         `json:"-"`                  // fields of a newer program, kept when the record is rewritten
}
