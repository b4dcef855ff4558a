package simtest

import (
	"context"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/point"
	"github.com/reveille-run/reveille/core/mailbox"
)

// perform lets the person act, as often as it takes to get a response.
func (w *world) perform(ctx context.Context, i int, act Act) bool {
	if !w.due(act) {
		return false
	}
	request, repeats := w.request(i, act), act.repeats
	for try := 0; try < 10; try++ {
		over, err := w.ask(ctx, try, request)
		switch {
		case err != nil:
			w.problem("act %d of the person: %v", i+1, err)
			return false
		case !over:
			w.pause(again)
			continue
		}
		w.mu.Lock()
		repeat := w.repeat
		w.repeat = false
		w.mu.Unlock()
		switch {
		case repeat:
		case repeats > 0:
			repeats--
		default:
			return true
		}
	}
	w.problem("act %d of the person has no response", i+1)
	return false
}

// due waits until the act can be done.
func (w *world) due(act Act) bool {
	if act.hasty {
		return true
	}
	if act.while == "" {
		return w.await("quiet before the person's next act", w.rests)
	}
	select {
	case <-w.beginning(act.while):
		return true
	case <-time.After(patience):
		w.problem("no call of the tool %q has started within %s", act.while, patience)
		return false
	}
}

// ask makes a request once. over means that there was a response; the error is one that
// no other attempt would avoid.
func (w *world) ask(ctx context.Context, try int, request func(context.Context, *process, int) (bool, error)) (over bool, failure error) {
	type response struct {
		over bool
		err  error
	}
	p, done := w.client(), make(chan response, 1)
	wait := w.turn()
	w.start(func() {
		w.pause(wait)
		p.gate()
		over, err := request(ctx, p, try)
		p.gate()
		responded := p.reach(point.Respond)
		done <- response{over, err}
		responded()
	})
	timer := time.NewTimer(answer)
	defer timer.Stop()
	select {
	case r := <-done:
		return r.over, r.err
	case <-p.dead:
		select {
		case r := <-done:
			return r.over, r.err
		default:
			return false, nil
		}
	case <-timer.C:
		return false, nil
	}
}

// request is the person's request, the same with each attempt.
func (w *world) request(i int, act Act) func(ctx context.Context, p *process, try int) (over bool, err error) {
	name := fmt.Sprint("act-", i+1)
	switch act.kind {
	case actCancel:
		return func(ctx context.Context, p *process, try int) (bool, error) {
			_, err := p.runtime.CancelThread(ctx, identity, key.Thread)
			if try > 0 && core.CodeOf(err) == core.CodeNotFound { // it has ended by now
				err = nil
			}
			return settled(err)
		}
	case actDecide, actDeny:
		return w.decision(name, act)
	case actEvent:
		return w.eventual(act)
	case actStop:
		return func(ctx context.Context, p *process, _ int) (bool, error) {
			_, err := p.runtime.InterruptThread(ctx, identity, key.Thread, name)
			return settled(err)
		}
	case actDelete:
		return func(ctx context.Context, p *process, try int) (bool, error) {
			err := p.runtime.DeleteThread(ctx, identity, key.Thread, mailbox.ChildrenDetach)
			if try > 0 && core.CodeOf(err) == core.CodeDeleted {
				err = nil
			}
			return settled(err)
		}
	}
	mode := map[actKind]mailbox.Mode{actSay: mailbox.ModeQueue, actSteer: mailbox.ModeSteer, actInterrupt: mailbox.ModeInterrupt}[act.kind]
	return func(ctx context.Context, p *process, _ int) (bool, error) {
		_, err := p.runtime.Submit(ctx, mailbox.Submission{
			Thread: key, User: identity.User, Opening: mailbox.Opening{AgentID: w.agent(p), Supersede: act.from, Delay: act.delay}, Mode: mode, Key: mailbox.Key{Value: name},
			Messages: []core.Message{core.UserMessage(act.text).WithID(name)},
		})
		return settled(err)
	}
}

func (w *world) agent(p *process) string {
	if w.scenario.Agent != "" {
		return w.scenario.Agent
	}
	return p.runtime.DefaultAgent()
}

// eventual submits an event, with other words in each delivery. For each of them the
// response is about the same run.
func (w *world) eventual(act Act) func(ctx context.Context, p *process, try int) (over bool, err error) {
	return func(ctx context.Context, p *process, _ int) (bool, error) {
		w.mu.Lock()
		w.told++
		delivery := w.told
		w.mu.Unlock()
		receipt, err := p.runtime.Submit(ctx, mailbox.Submission{
			Thread: key, User: identity.User, Opening: mailbox.Opening{AgentID: w.agent(p)}, Origin: core.OriginInternal, Key: mailbox.Key{Value: "event", Alone: true},
			Messages: []core.Message{core.UserMessage(fmt.Sprintf(act.text, delivery))},
		})
		if err != nil {
			return settled(err)
		}
		w.mu.Lock()
		first := w.event
		if first.IsZero() {
			w.event = receipt.RunID
		}
		w.mu.Unlock()
		if !first.IsZero() && first != receipt.RunID {
			w.problem("delivery %d of the event returned run %s, the first one returned %s", delivery, receipt.RunID, first)
		}
		return true, nil
	}
}

// settled reports whether a response is one, and not the host's failure.
func settled(err error) (bool, error) {
	switch core.CodeOf(err) {
	case core.CodeUnavailable, core.CodeThrottled, core.CodeInternal:
		return err == nil, nil
	}
	return true, err
}

// decision decides about the first ticket that is open when it is first tried.
func (w *world) decision(name string, act Act) func(ctx context.Context, p *process, try int) (bool, error) {
	d := mailbox.Deciding{Decision: core.Decision{ID: name, Action: core.DecisionResume, Payload: act.payload, Remember: act.remember}}
	if act.kind == actDeny {
		d.Decision.Action, d.Decision.Reason = core.DecisionCancel, act.text
	}
	return func(ctx context.Context, p *process, _ int) (bool, error) {
		if d.Target == "" {
			var err error
			if d.Run, d.Target, err = w.waiting(ctx, p); err != nil {
				return settled(err)
			}
		}
		_, err := p.runtime.Decide(ctx, identity, d.Run, d)
		return settled(err)
	}
}

// waiting returns the first suspension without a decision.
func (w *world) waiting(ctx context.Context, p *process) (run core.ID, suspension string, err error) {
	nothing := core.Errorf(core.CodeNotFound, "no call waits for a decision")
	head, err := w.store.Head(ctx, key)
	if err == nil && head.Run.ID.IsZero() {
		err = nothing
	}
	if err != nil {
		return run, "", err
	}
	found, err := p.runtime.ReadRun(ctx, identity, head.Run.ID)
	if err != nil {
		return run, "", err
	}
	for _, ticket := range found.Tickets {
		if ticket.Decision == nil {
			return head.Run.ID, ticket.Suspension.ID, nil
		}
	}
	return run, "", nothing
}
