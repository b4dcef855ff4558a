package host

import (
	"context"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/sent"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
)

// SentRequest is the request of a step as the adapter of its model received it. It is made
// again from the log, without the agent: a later build shows the words of the earlier one.
type SentRequest struct {
	Run      core.ID
	Step     int
	Provider string // of the model; empty: not known
	Request  model.Request
	// Hash identifies the system prompt, tools and fixed options: requests of a thread with
	// the same hash have the same.
	Hash   string
	Window SentWindow
	// System, Tools and Messages estimate the parts of the request, in tokens.
	System, Tools, Messages int
}

// SentWindow is the part of a thread that a request has. Sizes are in tokens.
type SentWindow struct {
	Limit    int // of the request; 0: not known
	Estimate int // of the request, before it was sent
	Tokens   int // of the request, as the provider counted; 0: it did not say
	// Omitted counts the messages of the thread that the request has not, and OmittedTokens
	// estimates them; -1: too many to count. A summary may replace some of them.
	Omitted, OmittedTokens int
	Shortened              int  // tool results that were shown shortened
	Summary                bool // a summary replaced the oldest messages
}

// Request makes the request of a run's step again, as its model's adapter received it. The
// error has code not_found, with the reason, if the step has no stored request: it is older
// than this feature, its inference failed, or it was too large.
//
// The caller must own the thread; of a thread without an owner, trusted must be true or the
// caller have no user. Otherwise the error has code denied.
func (r *Host) Request(ctx context.Context, id core.Identity, run core.ID, step int, trusted bool) (*SentRequest, error) {
	key, head, record, err := r.reads.runRecord(ctx, id, run)
	if err != nil {
		return nil, err
	}
	// Readers of a thread see its messages. The request has more: the agent's instructions,
	// and what plugins know.
	if head.Owner != id.User && !trusted {
		return nil, core.Errorf(core.CodeDenied, "only its owner reads the requests of thread %s", key.Thread)
	}
	turn, err := r.reads.turnOf(ctx, key, head, record, step)
	if err != nil {
		return nil, err
	}
	made, err := sent.Reader{Store: r.reads.store, Records: r.reads.records}.Read(ctx, key, turn)
	if err != nil {
		return nil, err
	}
	// The estimates are those of the window that chose the messages, part by part: their sum
	// may differ from its estimate by a rounding, and by the tool that reads results.
	w := made.Window
	return &SentRequest{
		Run: run, Step: step, Provider: made.Provider, Request: made.Sent, Hash: made.Hash,
		Window: SentWindow{
			Limit: made.Limit, Estimate: w.Estimate, Tokens: w.Tokens, Omitted: made.Omitted, OmittedTokens: made.OmittedTokens,
			Shortened: made.Shortened, Summary: w.Summary != 0,
		},
		System:   window.Reckon(&model.Request{System: made.Sent.System}, made.PerByte),
		Tools:    window.Reckon(&model.Request{Tools: made.Sent.Tools, ResponseFormat: made.Sent.ResponseFormat}, made.PerByte),
		Messages: window.ReckonAll(made.Sent.Messages, made.PerByte),
	}, nil
}

// turnOf finds the record of a step's turn, or of its failed inference.
func (r *reader) turnOf(ctx context.Context, key core.ThreadKey, head thread.Head, run core.Run, step int) (threadlog.Entry, error) {
	missing := core.Errorf(core.CodeNotFound, "run %s has no step %d with a committed turn", run.ID, step)
	if run.FirstSeq == 0 || run.FirstSeq > head.Seq {
		return threadlog.Entry{}, missing
	}
	// A run's records are consecutive, from its first on, and its steps follow each other.
	for e, err := range threadlog.Entries(ctx, r.store, r.records, key, run.FirstSeq, head.Seq) {
		switch {
		case err != nil:
			return e, err
		case e.Run != run.ID || e.Step > step:
			return e, missing
		case e.Step == step && (e.Failed != nil || e.Message != nil && e.Message.Role == core.RoleAssistant):
			return e, nil
		}
	}
	return threadlog.Entry{}, missing
}
