package thread

import (
	"encoding/binary"
	"math"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
)

// EntryReader decodes the entries of one log. Texts that entries have in common, such as the
// names of models and tools, are one text in memory. It belongs to one goroutine.
type EntryReader struct {
	records Records
	decoder entryDecoder
}

// mostNames bounds the texts that an EntryReader keeps, and longestName each of them: more are
// not those that repeat.
const (
	mostNames   = 256
	longestName = 128
)

// Entries returns a reader of the entries of one log.
func (r Records) Entries() *EntryReader {
	return &EntryReader{records: r, decoder: entryDecoder{names: map[string]string{}}}
}

// Decode is [Records.DecodeEntry].
func (r *EntryReader) Decode(b []byte) (Entry, error) {
	r.decoder.err = nil
	return r.records.decodeEntry(b, &r.decoder)
}

// Abridge makes the entries that are decoded from now on have no totals, and nothing of how
// their message came about: the reader of a conversation needs neither of older turns. Those
// fields are not checked either.
func (r *EntryReader) Abridge() { r.decoder.lean = true }

// decodeEntry decodes an entry with a decoder that has no error.
func (r Records) decodeEntry(b []byte, d *entryDecoder) (e Entry, err error) {
	if _, err := r.schema("log entry", b); err != nil {
		return e, err
	}
	if _, isEntry := entrySchemaOf(b); !isEntry {
		return e, noSchema("log entry") // it is another record
	}
	d.entry(b, &e)
	if d.err != nil {
		return Entry{}, core.Errorf(core.CodeCorrupt, "decode log entry: %w", d.err)
	}
	return e, nil
}

// entryDecoder has the first error of a decoding, at any level, and the names of earlier
// entries; nil: it decodes a single one.
type entryDecoder struct {
	err   error
	names map[string]string
	lean  bool // see Abridge

	prompt [16]byte // the digits that were read last, and their text
	digits string

	messages stock[core.Message]
	blocks   stock[core.Block]
	usages   stock[core.Usage]
	windows  stock[core.Window]
}

func (d *entryDecoder) name(b []byte) string {
	if name, ok := d.names[string(b)]; ok {
		return name
	}
	name := string(b)
	if d.names != nil && len(name) <= longestName && len(d.names) < mostNames {
		d.names[name] = name
	}
	return name
}

func (d *entryDecoder) entry(b []byte, e *Entry) {
	f, whole := fieldReader{d: d, level: &levelEntry, b: b}, false
	for f.next() {
		switch f.number {
		case entrySchema, entryExtra: // which [Records.schema] has read
		case entryEnd:
			if whole = f.flag(); len(f.b) > 0 {
				f.fail("%d bytes follow field %d", len(f.b), entryEnd)
			}
		case entryRun:
			e.Run = f.id()
		case entryStep:
			e.Step = f.int()
		case entryAt:
			e.At = f.int64()
		case entryMessage:
			e.Message = d.messages.one()
			e.Message.RunID, e.Message.Step = e.Run, e.Step
			decodeMessage(f.inside(&levelMessage), e.Message, e.Run)
		case entryTotals:
			if f.leftOut() {
				continue
			}
			e.Totals = &Totals{}
			decodeTotals(f.inside(&levelTotals), e.Totals)
		case entryWindow:
			e.Window = d.windows.one()
			decodeWindow(f.inside(&levelWindow), e.Window)
		case entryInput:
			e.Input = f.id()
		case entryAttempt:
			e.Attempt = f.uint()
		case entryPrompt:
			e.Prompt = f.digits()
		case entryPatch:
			e.Patch = append(e.Patch, decodeOperation(f.inside(&levelOperation)))
		case entryRevision:
			e.Revision = f.uint()
		case entryDuration:
			e.Duration = f.int64()
		case entryFirst:
			e.First = f.int64()
		case entrySum:
			e.Sum = f.fixed()
		case entryArguments, entryHooks, entryIntents, entryAttempts, entrySent:
			if !f.leftOut() {
				decodeOrigin(&f, e)
			}
		default:
			decodeRare(&f, e)
		}
	}
	if !whole {
		f.fail("it is cut off: field %d is missing", entryEnd)
	}
}

// decodeOrigin reads the fields that say how a message came about, which are JSON.
func decodeOrigin(f *fieldReader, e *Entry) {
	switch f.number {
	case entryArguments:
		e.Arguments = f.json()
	case entryHooks:
		e.Hooks = &state.Command{}
		f.value(e.Hooks)
	case entryIntents:
		e.Intents = &state.Command{}
		f.value(e.Intents)
	case entryAttempts:
		var attempts []Attempt // not &e.Attempts: e would be in separate memory
		f.value(&attempts)
		e.Attempts = attempts
	case entrySent:
		e.Sent = &Sent{}
		f.value(e.Sent)
	}
}

// decodeRare reads the fields that most entries do not have.
func decodeRare(f *fieldReader, e *Entry) {
	switch f.number {
	case entryQueued:
		e.Queued = f.int64()
	case entryRound:
		e.Round = f.uint()
	case entryPlace:
		e.Place = uint16(f.atMost(math.MaxUint16))
	case entryRetried:
		e.Retried = uint8(f.atMost(math.MaxUint8))
	case entryToolless:
		e.Toolless = f.varints()
	case entrySuperseded:
		e.Superseded = new(decodeRange(f.inside(&levelRange)))
	case entryEarlier:
		e.Earlier = append(e.Earlier, decodeRange(f.inside(&levelRange)))
	case entryClosing:
		e.Closing = f.flag()
	case entryDecision:
		e.Decision = f.text()
	case entryBlocked:
		e.Blocked = f.text()
	case entryMember:
		e.Member = &Member{}
		f.value(e.Member)
	case entryFailed:
		e.Failed = &Failure{}
		f.value(e.Failed)
	case entryPromptText:
		if e.Prompt != "" {
			f.fail("fields %d and %d are both there", entryPrompt, entryPromptText)
		}
		e.Prompt = f.text()
	}
}

func decodeMessage(f fieldReader, m *core.Message, run core.ID) {
	var room [64]byte // usual ids are shorter
	id := room[:0]
	for f.next() {
		switch f.number {
		case messageID:
			if len(f.raw()) > 0 {
				run = core.ID(f.sized(len(run)))
			}
			id = run.AppendTo(id)
		case messageIDText:
			id = append(id, f.full()...)
		case messageRole:
			m.Role = core.Role(f.word(roleWords[:]))
		case messageContent:
			b := decodeBlock(f.inside(&levelBlock))
			if m.Content != nil {
				m.Content = append(m.Content, b)
				continue
			}
			m.Content = f.d.blocks.take()
			m.Content[0] = b
		case messageCalls:
			m.ToolCalls = append(m.ToolCalls, decodeCall(f.inside(&levelCall)))
		case messageResult:
			m.ToolResult = &core.ToolResult{}
			decodeResult(f.inside(&levelResult), m.ToolResult)
		case messageRun:
			if m.RunID = (core.ID{}); len(f.raw()) > 0 {
				m.RunID = f.id()
			}
		case messageStep:
			if f.must(wireVarint) {
				m.Step = int(f.v)
			}
		case messageUsage:
			m.Usage = f.d.usages.one()
			*m.Usage = decodeUsage(f.inside(&levelUsage))
		case messageModel:
			m.Model = f.name()
		case messageProvider:
			m.Provider = f.name()
		case messageStop:
			m.StopReason = core.StopReason(f.word(stopWords[:]))
		case messageCreated:
			m.CreatedAt = f.int64()
		case messageRepair:
			m.Repair = f.flag()
		case messagePending:
			m.Pending = f.flag()
		case messageDecided:
			m.Decided = f.flag()
		}
	}
	m.ID = string(id)
}

func decodeBlock(f fieldReader) (b core.Block) {
	for f.next() {
		switch f.number {
		case 1:
			b.Type = core.BlockType(f.word(blockWords[:]))
		case 2:
			b.Text = f.text()
		case 3:
			b.MediaType = f.name()
		case 4:
			b.Data = f.copied()
		case 5:
			b.URL = f.text()
		case 6:
			b.Filename = f.text()
		case 7:
			b.Echo = f.json()
		case 8:
			b.Origin = f.name()
		case 9:
			var annotations []core.Annotation // not &b.Annotations: b would be in separate memory
			f.value(&annotations)
			b.Annotations = annotations
		}
	}
	return b
}

func decodeCall(f fieldReader) (c core.ToolCall) {
	for f.next() {
		switch f.number {
		case 1:
			c.ID = f.text()
		case 2:
			c.Name = f.name()
		case 3:
			c.Arguments = f.json()
		case 4:
			c.Echo = f.json()
		case 5:
			c.Origin = f.name()
		}
	}
	return c
}

func decodeResult(f fieldReader, r *core.ToolResult) {
	for f.next() {
		switch f.number {
		case 1:
			r.CallID = f.text()
		case 2:
			r.Name = f.name()
		case 3:
			r.Data = f.json()
		case 4:
			r.Message = f.text()
		case 5:
			r.IsError = f.flag()
		case 6:
			r.Status = core.ResultStatus(f.word(statusWords[:]))
		case 7:
			f.value(&r.Metadata)
		case 8:
			r.Content = append(r.Content, decodeBlock(f.inside(&levelBlock)))
		}
	}
}

func decodeUsage(f fieldReader) (u core.Usage) {
	for f.next() {
		switch f.number {
		case 1:
			u.Input = f.int()
		case 2:
			u.Output = f.int()
		case 3:
			u.CacheRead = f.int()
		case 4:
			u.CacheWrite = f.int()
		case 5:
			u.Reasoning = f.int()
		case 6:
			u.CacheWriteHour = f.int()
		case 7:
			u.Long = decodeLong(f.inside(&levelLong))
		}
	}
	return u
}

func decodeLong(f fieldReader) (l *core.LongUsage) {
	for l = new(core.LongUsage); f.next(); {
		switch f.number {
		case 1:
			l.Input = f.int()
		case 2:
			l.Output = f.int()
		case 3:
			l.CacheRead = f.int()
		case 4:
			l.CacheWrite = f.int()
		case 5:
			l.CacheWriteHour = f.int()
		}
	}
	return l
}

func decodeTotals(f fieldReader, t *Totals) {
	for f.next() {
		switch f.number {
		case 1:
			t.Usage = decodeUsage(f.inside(&levelUsage))
		case 2:
			t.Spend = core.USD(f.int64())
		case 3:
			t.Steps = f.int()
		case 4:
			t.Called = f.int()
		case 5:
			t.Failures = int32(f.atMost(math.MaxInt32))
		case 6:
			t.ErrorSteps = int32(f.atMost(math.MaxInt32))
		case 7:
			t.Repairs = int32(f.atMost(math.MaxInt32))
		case 8:
			t.Calls = f.copied()
		case 9:
			t.Turns = f.copied()
		case 10:
			t.Metered = &Metered{}
			decodeMetered(f.inside(&levelMetered), t.Metered)
		}
	}
}

func decodeMetered(f fieldReader, m *Metered) {
	for f.next() {
		switch f.number {
		case 1:
			m.Models = append(m.Models, decodeUse(f.inside(&levelUse)))
		case 2:
			m.Tools = f.int()
		case 3:
			m.ToolMillis = f.int64()
		}
	}
}

func decodeUse(f fieldReader) (u core.ModelUse) {
	for f.next() {
		switch f.number {
		case 1:
			u.Provider = f.name()
		case 2:
			u.Model = f.name()
		case 3:
			u.Usage = decodeUsage(f.inside(&levelUsage))
		case 4:
			u.Inferences = f.int()
		case 5:
			u.Millis = f.int64()
		}
	}
	return u
}

func decodeWindow(f fieldReader, w *core.Window) {
	for f.next() {
		switch f.number {
		case 1:
			w.First = f.uint()
		case 2:
			w.Short = f.uint()
		case 3:
			w.Summary = f.uint()
		case 4:
			w.Opening = f.uint()
		case 5:
			w.Compact = f.uint()
		case 6:
			w.Skipped = f.uint()
		case 7:
			w.Estimate = f.int()
		case 8:
			w.Tokens = f.int()
		case 9:
			w.Refused = f.flag()
		case 10:
			b := f.sized(12)
			for i := range w.Prefix {
				w.Prefix[i] = binary.LittleEndian.Uint32(b[4*i:])
			}
		case 11:
			w.Limit = f.int()
		case 12:
			w.Known = f.int()
		}
	}
}

func decodeOperation(f fieldReader) (o state.Operation) {
	for f.next() {
		switch f.number {
		case 1:
			o.Op = f.word(operationWords[:])
		case 2:
			o.Path = f.name()
		case 3:
			o.Value = f.json()
		}
	}
	return o
}

func decodeRange(f fieldReader) (r Range) {
	for f.next() {
		switch f.number {
		case 1:
			r.From = f.uint()
		case 2:
			r.To = f.uint()
		}
	}
	return r
}

// varints reads a list of numbers. One takes at least a byte, so that the payload bounds it.
func (r *fieldReader) varints() []int {
	b := r.full()
	all := make([]int, 0, len(b))
	for len(b) > 0 {
		v, n := shortest(b)
		if n == 0 {
			r.fail("field %d has a number that is malformed", r.number)
			return nil
		}
		all, b = append(all, int(v)), b[n:]
	}
	return all
}
