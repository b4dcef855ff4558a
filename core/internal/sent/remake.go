package sent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
)

// Store is what a Reader reads.
type Store interface {
	threadlog.Log
	Get(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error)
}

// Reader makes requests again from the records of a store.
type Reader struct {
	Store   Store
	Records thread.Records
}

// Request is the request of a turn, as the adapter of its model received it.
type Request struct {
	Sent     model.Request
	Provider string
	Hash     string      // of the prompt's record
	Window   core.Window // of the turn
	Limit    int         // of the request, in tokens; 0: not known
	PerByte  int         // what a byte is estimated at, in thousandths of a token
	// Shortened counts the results that were shown as references.
	Shortened int
	// Omitted counts the messages of the conversation that were not sent, and OmittedTokens
	// estimates them; -1: they are too many to count.
	Omitted, OmittedTokens int
}

// Read returns the request of the turn that an entry of the log has. An error with code
// not_found says why it is not stored.
func (r Reader) Read(ctx context.Context, key core.ThreadKey, turn threadlog.Entry) (*Request, error) {
	rest, err := r.rest(ctx, key, &turn)
	if err != nil {
		return nil, err
	}
	prompt, err := stored(ctx, r, key, turn.Prompt, r.Records.DecodePrompt)
	if err != nil {
		return nil, err
	}
	m := turn.Message
	made := &Request{Provider: m.Provider, Hash: turn.Prompt, Window: *turn.Window, Limit: prompt.Limit, PerByte: prompt.PerByte}
	made.Sent = model.Request{
		Step: m.Step, Model: m.Model, Origin: strings.TrimPrefix(m.Provider+"/"+m.Model, "/"),
		MaxTokens: rest.MaxTokens, Temperature: rest.Temperature, TopP: rest.TopP, ReasoningEffort: model.Effort(rest.Effort),
		ToolChoice: model.ToolChoice{Mode: model.ToolMode(rest.ToolMode), Name: rest.ToolName},
	}
	if rest.Origin != "" {
		made.Sent.Origin = rest.Origin
	}
	apply(&made.Sent, &prompt)
	conversation, err := r.conversation(ctx, key, &turn, rest.Reads, made)
	if err != nil {
		return nil, err
	}
	given := slices.Concat(ofRun(prompt.Context, turn.Run), conversation, ofRun(rest.After, turn.Run))
	made.Sent.Messages, err = transformed(given, rest.Parts)
	return made, err
}

// rest returns the rest of a turn's request, from its own record if it has one.
func (r Reader) rest(ctx context.Context, key core.ThreadKey, turn *threadlog.Entry) (thread.Sent, error) {
	missing := func(reason string) error {
		return core.Errorf(core.CodeNotFound, "step %d has no stored request: %s", turn.Step, reason)
	}
	switch {
	case turn.Message == nil || turn.Message.Role != core.RoleAssistant:
		return thread.Sent{}, missing("its model generated no turn")
	case turn.Sent != nil && turn.Sent.Missing == thread.SentTooLarge:
		return thread.Sent{}, missing("it was too large to be stored")
	case turn.Sent != nil && turn.Sent.Missing != "":
		return thread.Sent{}, missing("a part of it has no stored form")
	case turn.Prompt == "" || turn.Window == nil:
		return thread.Sent{}, missing("the program that ran it stored none, or the run was ended during its turn")
	case turn.Sent == nil:
		return thread.Sent{}, nil
	case turn.Sent.Stored != "":
		return stored(ctx, r, key, turn.Sent.Stored, r.Records.DecodeSent)
	}
	return *turn.Sent, nil
}

// stored reads a record that has a hash as its name. It was put before the head that covers
// its turn, so that its absence is store.ErrCorrupt.
func stored[T any](ctx context.Context, r Reader, key core.ThreadKey, hash string, decode func(string, []byte) (T, error)) (v T, err error) {
	record, ok, err := r.Store.Get(ctx, key, recordname.Prompt(hash))
	if err == nil && !ok {
		err = store.ErrCorrupt
	}
	if err != nil {
		return v, fmt.Errorf("read %s of a request: %w", recordname.Prompt(hash), err)
	}
	return decode(hash, record.Payload)
}

// Bounds of the older messages that are read to count what was omitted.
const (
	mostCounted      = 2_000
	mostCountedBytes = 3_000_000
)

// conversation returns the part of the thread that the model was shown, and counts the rest.
func (r Reader) conversation(ctx context.Context, key core.ThreadKey, turn *threadlog.Entry, reads bool, made *Request) ([]core.Message, error) {
	w := made.Window
	first := max(w.First, w.Summary+1)
	var h window.History
	passed := uint64(0) // messages from here on were withdrawn before the turn; 0: none
	read, size := 0, 0
	var opened *core.Message
	for e, err := range threadlog.EntriesBackwards(ctx, r.Store, r.Records, key, 1, turn.Seq-1) {
		if err != nil {
			return nil, err
		}
		if passed != 0 && e.Seq >= passed {
			continue
		}
		if passed = 0; e.Superseded != nil {
			passed = e.Superseded.From
		}
		if e.Message == nil {
			continue
		}
		if e.Seq >= first {
			h.Messages, h.Places = append(h.Messages, *e.Message), append(h.Places, window.Place{Sequence: e.Seq})
			continue
		}
		if read, size = read+1, size+e.JSONSize(); read > mostCounted || size > mostCountedBytes {
			made.Omitted, made.OmittedTokens = -1, -1
			break
		}
		if e.Seq == w.Opening {
			opened = e.Message
			continue
		}
		made.Omitted++
		made.OmittedTokens += window.ReckonAll([]core.Message{*e.Message}, made.PerByte)
	}
	slices.Reverse(h.Messages)
	slices.Reverse(h.Places)
	summary, err := r.summary(ctx, key, w.Summary)
	if err != nil {
		return nil, err
	}
	if opened == nil && w.Opening != 0 {
		if opened, err = r.opening(ctx, key, w.Opening); err != nil {
			return nil, err
		}
	}
	made.Shortened = window.Shortened(h, w)
	return window.View(h, w, summary, opened, reads), nil
}

// opening reads the message that a window shows before the history.
func (r Reader) opening(ctx context.Context, key core.ThreadKey, seq uint64) (*core.Message, error) {
	entries, err := threadlog.Read(ctx, r.Store, r.Records, key, seq, seq)
	if err == nil && entries[0].Message == nil {
		err = fmt.Errorf("record %d in a turn's window is not a message: %w", seq, store.ErrCorrupt)
	}
	if err != nil {
		return nil, err
	}
	return entries[0].Message, nil
}

// summary reads the summary that a window shows; nil: none.
func (r Reader) summary(ctx context.Context, key core.ThreadKey, upTo uint64) (*core.Message, error) {
	if upTo == 0 {
		return nil, nil
	}
	record, ok, err := r.Store.Get(ctx, key, recordname.Summary(upTo))
	if err == nil && !ok {
		err = store.ErrCorrupt
	}
	if err != nil {
		return nil, fmt.Errorf("read %s of a request: %w", recordname.Summary(upTo), err)
	}
	found, err := r.Records.DecodeSummary(upTo, record.Payload)
	if err != nil {
		return nil, err
	}
	m := window.SummaryMessage(upTo, found.Text)
	return &m, nil
}
