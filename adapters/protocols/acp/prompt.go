package acp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// prompted is the answer to a prompt.
type prompted struct {
	StopReason sdk.StopReason `json:"stopReason"`
}

// prompt answers one prompt: by a run, or the rest of one that waits, with all the questions that
// it has, until it is over.
func (c *connection) prompt(request context.Context, params rawJSON) (any, error) {
	var named struct {
		Session string `json:"sessionId"`
	}
	_ = json.Unmarshal(params, &named) // what does not decode is an error below
	under, err := c.sessions.begin(named.Session)
	if err != nil {
		return nil, err
	}
	defer c.sessions.finish(named.Session)
	p, err := decode[sdk.PromptRequest](params)
	if err != nil {
		return nil, err
	}
	s, err := c.submission(named.Session, p.Prompt)
	if err != nil {
		return nil, err
	}
	t := &talk{c: c, prompt: under, session: named.Session, encoder: encoder{kinds: c.Kinds}}
	// A request that is given up cancels its prompt; a client that is gone
	// cancels its requests too, for another cause, and that cancels nothing.
	defer context.AfterFunc(request, func() {
		if context.Cause(request) == context.Canceled {
			under.cancel()
		}
	})()
	return t.play(s)
}

// talk is a prompt under way as the client is shown it.
type talk struct {
	c       *connection
	prompt  *prompting
	session string
	encoder encoder
	ended   *core.Event // run_finish or run_yield of the newest stream
}

// Emit implements host.Listener.
func (t *talk) Emit(e core.Event) error {
	t.prompt.is(e.RunID)
	if e.Type == core.EventRunFinish || e.Type == core.EventRunYield {
		t.ended = &e
	}
	return t.show(t.encoder.encode(e))
}

// Ready implements host.Listener.
func (t *talk) Ready(ctx context.Context) error { return t.c.out.ready(ctx) }

func (t *talk) show(updates []update) error {
	for _, u := range updates {
		if err := t.c.update(t.session, u); err != nil {
			return err
		}
	}
	return nil
}

// play responds to the prompt. When it returns, its updates have been sent, and the
// runtime has a cancel that came in time.
func (t *talk) play(s mailbox.Submission) (any, error) {
	var cancelling sync.WaitGroup
	done := make(chan struct{})
	cancelling.Go(func() { t.passOn(done) })
	termination, err := t.run(s)
	close(done)
	cancelling.Wait()
	if t.prompt.cancelled() {
		err = errors.Join(t.show(t.encoder.abandon()))
		return prompted{sdk.StopReasonCancelled}, err
	}
	if err != nil {
		return nil, err
	}
	reason, err := stopReason(termination)
	if err != nil {
		return nil, err
	}
	return prompted{reason}, nil
}

// passOn cancels the run of a prompt that is cancelled, as soon as it is known.
func (t *talk) passOn(done <-chan struct{}) {
	select {
	case <-t.prompt.over:
	case <-done:
		if !t.prompt.cancelled() { // both may be at once
			return
		}
	}
	select {
	case <-t.prompt.known:
	case <-done:
		select {
		case <-t.prompt.known:
		default:
			return // nothing was started
		}
	}
	if err := t.c.Host.CancelRun(t.c.ctx, t.c.Identity, t.prompt.run); err != nil && core.CodeOf(err) != core.CodeNotFound {
		t.c.log.Error("cancelling run failed", "session", t.session, "run", t.prompt.run, "error", err)
	}
}

// errGoesOn is a prompt whose stream ended before its run. The client must not send it
// again: it is accepted, and another process continues it.
var errGoesOn = &sdk.RequestError{
	Code: protocol.RPCInternal, Message: "the run continues without this connection: load the session to see its outcome",
	Data: details{Code: string(core.CodeUnavailable)},
}

// run streams until the run is over, or waits for a decision that cannot be asked for
// here.
func (t *talk) run(s mailbox.Submission) (*core.Termination, error) {
	if err := t.passShown(); err != nil || t.prompt.cancelled() {
		return nil, err
	}
	receipt, err := t.c.Host.Stream(t.c.ctx, s, t)
	t.prompt.is(receipt.RunID)
	for {
		if err != nil {
			return nil, err
		}
		switch {
		case t.ended == nil || t.ended.Type == core.EventRunYield:
			return nil, errGoesOn
		case t.ended.Termination == nil || t.ended.Termination.Type != core.TerminationSuspended:
			return t.ended.Termination, nil
		}
		d, found, askErr := t.nextDecision(receipt.RunID)
		if askErr != nil || !found || t.prompt.cancelled() {
			return t.ended.Termination, askErr
		}
		t.ended = nil
		_, err = t.c.Host.StreamDecisions(t.c.ctx, t.c.Identity, t.session, []mailbox.Deciding{d}, t)
	}
}

// passShown skips the client's copy of a run that waits: the prompt continues that run,
// whose stream starts with its first step.
func (t *talk) passShown() error {
	info, err := t.c.Host.Thread(t.c.ctx, t.c.Identity, t.session)
	if code := core.CodeOf(err); code == core.CodeNotFound {
		return nil // it begins now
	}
	if err != nil || info.Status != core.RunWaiting {
		return err
	}
	record, err := t.c.Host.ReadRun(t.c.ctx, t.c.Identity, info.ActiveRun)
	t.encoder.shownRun, t.encoder.shownSteps = info.ActiveRun, record.Steps
	return err
}

var _ host.Listener = (*talk)(nil)
