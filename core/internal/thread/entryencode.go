package thread

import (
	"encoding/binary"
	"encoding/hex"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// entryWriters have the memory in which entries are encoded. A writer that a large entry has
// grown is not kept.
var entryWriters = sync.Pool{New: func() any { return new(fieldWriter) }}

const mostKept = 64 << 10

// encodeEntry returns an entry in memory of its exact size.
func (r Records) encodeEntry(e *Entry) ([]byte, error) {
	w := entryWriters.Get().(*fieldWriter)
	w.b, w.err = w.b[:0], nil
	schema := r.Schemas.Resolved().Writes
	w.int(entrySchema, int(schema))
	w.entry(e)
	if schema > SchemaRead {
		w.text(entryExtra, r.Extra)
	}
	w.flag(entryEnd, true)
	b, err := append(make([]byte, 0, len(w.b)), w.b...), w.err
	if cap(w.b) <= mostKept {
		entryWriters.Put(w)
	}
	if err != nil {
		return nil, core.Errorf(core.CodeInternal, "encode log entry: %w", err)
	}
	return b, nil
}

func (w *fieldWriter) entry(e *Entry) {
	w.id(entryRun, e.Run)
	w.int(entryStep, e.Step)
	w.int64(entryAt, e.At)
	if e.Message != nil {
		at := w.open(entryMessage)
		w.message(e.Message, e)
		w.end(at)
	}
	if e.Totals != nil {
		at := w.open(entryTotals)
		w.totals(e.Totals)
		w.end(at)
	}
	if e.Window != nil {
		at := w.open(entryWindow)
		w.window(e.Window)
		w.end(at)
	}
	w.id(entryInput, e.Input)
	w.number(entryAttempt, e.Attempt)
	prompt, digits := hexDigits(e.Prompt)
	if digits {
		w.whole(entryPrompt, prompt[:])
	}
	for i := range e.Patch {
		w.operation(&e.Patch[i])
	}
	w.number(entryRevision, e.Revision)
	w.int64(entryDuration, e.Duration)
	w.int64(entryFirst, e.First)
	w.fixed(entrySum, e.Sum)
	w.int64(entryQueued, e.Queued)
	w.number(entryRound, e.Round)
	w.int(entryPlace, int(e.Place))
	w.number(entryRetried, uint64(e.Retried))
	w.varints(entryToolless, e.Toolless)
	if e.Superseded != nil {
		w.stretchOf(entrySuperseded, *e.Superseded)
	}
	for _, earlier := range e.Earlier {
		w.stretchOf(entryEarlier, earlier)
	}
	w.flag(entryClosing, e.Closing)
	w.rare(e)
	if !digits {
		w.text(entryPromptText, e.Prompt)
	}
}

// rare writes the fields from entryDecision to entrySent, which most entries do not have.
func (w *fieldWriter) rare(e *Entry) {
	w.text(entryDecision, e.Decision)
	w.text(entryBlocked, e.Blocked)
	w.json(entryArguments, e.Arguments)
	if e.Hooks != nil {
		w.value(entryHooks, e.Hooks)
	}
	if e.Intents != nil {
		w.value(entryIntents, e.Intents)
	}
	if e.Member != nil {
		w.value(entryMember, e.Member)
	}
	if e.Failed != nil {
		w.value(entryFailed, e.Failed)
	}
	if len(e.Attempts) > 0 {
		w.value(entryAttempts, e.Attempts)
	}
	if e.Sent != nil {
		w.value(entrySent, e.Sent)
	}
}

func (w *fieldWriter) message(m *core.Message, e *Entry) {
	w.messageID(m.ID, e.Run)
	w.word(messageRole, roleWords[:], string(m.Role))
	for i := range m.Content {
		w.block(messageContent, &m.Content[i])
	}
	for i := range m.ToolCalls {
		w.call(&m.ToolCalls[i])
	}
	if m.ToolResult != nil {
		w.result(m.ToolResult)
	}
	if m.RunID != e.Run {
		run := m.RunID[:]
		if m.RunID.IsZero() {
			run = nil
		}
		w.whole(messageRun, run)
	}
	if m.Step != e.Step {
		w.tag(messageStep, wireVarint)
		w.b = binary.AppendUvarint(w.b, uint64(m.Step))
	}
	if m.Usage != nil {
		w.usage(messageUsage, m.Usage)
	}
	w.text(messageModel, m.Model)
	w.text(messageProvider, m.Provider)
	w.word(messageStop, stopWords[:], string(m.StopReason))
	w.int64(messageCreated, m.CreatedAt)
	w.flag(messageRepair, m.Repair)
	w.flag(messagePending, m.Pending)
	w.flag(messageDecided, m.Decided)
}

// messageID writes the id of a message. Most start with an id, that of the run or of a
// dispatch.
func (w *fieldWriter) messageID(id string, run core.ID) {
	const size = len("00000000-0000-0000-0000-000000000000")
	if len(id) >= size {
		var room [size]byte
		if first, err := core.ParseID(id[:size]); err == nil && string(first.AppendTo(room[:0])) == id[:size] {
			raw := first[:]
			if first == run {
				raw = nil
			}
			w.whole(messageID, raw)
			id = id[size:]
		}
	}
	w.text(messageIDText, id)
}

func (w *fieldWriter) block(number int, b *core.Block) {
	at := w.open(number)
	w.word(1, blockWords[:], string(b.Type))
	w.text(2, b.Text)
	w.text(3, b.MediaType)
	w.bytes(4, b.Data)
	w.text(5, b.URL)
	w.text(6, b.Filename)
	w.json(7, b.Echo)
	w.text(8, b.Origin)
	if len(b.Annotations) > 0 {
		w.value(9, b.Annotations)
	}
	w.end(at)
}

func (w *fieldWriter) call(c *core.ToolCall) {
	at := w.open(messageCalls)
	w.text(1, c.ID)
	w.text(2, c.Name)
	w.json(3, c.Arguments)
	w.json(4, c.Echo)
	w.text(5, c.Origin)
	w.end(at)
}

func (w *fieldWriter) result(r *core.ToolResult) {
	at := w.open(messageResult)
	w.text(1, r.CallID)
	w.text(2, r.Name)
	w.json(3, r.Data)
	w.text(4, r.Message)
	w.flag(5, r.IsError)
	w.word(6, statusWords[:], string(r.Status))
	if len(r.Metadata) > 0 {
		w.value(7, r.Metadata)
	}
	for i := range r.Content {
		w.block(8, &r.Content[i])
	}
	w.end(at)
}

func (w *fieldWriter) usage(number int, u *core.Usage) {
	at := w.open(number)
	w.int(1, u.Input)
	w.int(2, u.Output)
	w.int(3, u.CacheRead)
	w.int(4, u.CacheWrite)
	w.int(5, u.Reasoning)
	w.int(6, u.CacheWriteHour)
	if l := u.Long; l != nil {
		long := w.open(7)
		w.int(1, l.Input)
		w.int(2, l.Output)
		w.int(3, l.CacheRead)
		w.int(4, l.CacheWrite)
		w.int(5, l.CacheWriteHour)
		w.end(long)
	}
	w.end(at)
}

func (w *fieldWriter) totals(t *Totals) {
	if t.Usage != (core.Usage{}) {
		w.usage(1, &t.Usage)
	}
	w.int64(2, int64(t.Spend))
	w.int(3, t.Steps)
	w.int(4, t.Called)
	w.int(5, int(t.Failures))
	w.int(6, int(t.ErrorSteps))
	w.int(7, int(t.Repairs))
	w.bytes(8, t.Calls)
	w.bytes(9, t.Turns)
	if t.Metered != nil {
		at := w.open(10)
		for i := range t.Metered.Models {
			w.use(&t.Metered.Models[i])
		}
		w.int(2, t.Metered.Tools)
		w.int64(3, t.Metered.ToolMillis)
		w.end(at)
	}
}

func (w *fieldWriter) use(u *core.ModelUse) {
	at := w.open(1)
	w.text(1, u.Provider)
	w.text(2, u.Model)
	if u.Usage != (core.Usage{}) {
		w.usage(3, &u.Usage)
	}
	w.int(4, u.Inferences)
	w.int64(5, u.Millis)
	w.end(at)
}

func (w *fieldWriter) window(v *core.Window) {
	w.number(1, v.First)
	w.number(2, v.Short)
	w.number(3, v.Summary)
	w.number(4, v.Opening)
	w.number(5, v.Compact)
	w.number(6, v.Skipped)
	w.int(7, v.Estimate)
	w.int(8, v.Tokens)
	w.flag(9, v.Refused)
	if v.Prefix != [3]uint32{} {
		at := w.open(10)
		for _, hash := range v.Prefix {
			w.b = binary.LittleEndian.AppendUint32(w.b, hash)
		}
		w.end(at)
	}
	w.int(11, v.Limit)
	w.int(12, v.Known)
}

func (w *fieldWriter) operation(o *state.Operation) {
	at := w.open(entryPatch)
	w.word(1, operationWords[:], o.Op)
	w.text(2, o.Path)
	w.json(3, o.Value)
	w.end(at)
}

func (w *fieldWriter) stretchOf(number int, r Range) {
	at := w.open(number)
	w.number(1, r.From)
	w.number(2, r.To)
	w.end(at)
}

func (w *fieldWriter) varints(number int, all []int) {
	if len(all) == 0 {
		return
	}
	at := w.open(number)
	for _, v := range all {
		w.b = binary.AppendUvarint(w.b, uint64(v))
	}
	w.end(at)
}

// hexDigits are 16 bytes of which a text is the hex digits; ok is false if it is another
// text.
func hexDigits(text string) (b [16]byte, ok bool) {
	if len(text) != 32 {
		return b, false
	}
	var again [32]byte
	if _, err := hex.Decode(b[:], []byte(text)); err != nil {
		return b, false
	}
	hex.Encode(again[:], b[:])
	return b, string(again[:]) == text
}
