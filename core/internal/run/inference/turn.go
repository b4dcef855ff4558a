package inference

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/breaker"
	"github.com/reveille-run/reveille/core/internal/cutturn"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/checkpoint"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
)

// Prompt makes the requests of a step.
type Prompt interface {
	// Request returns the next request: the conversation, and after it the words of the
	// turn so far, if a call is to resume from them.
	Request(ctx context.Context, said ...core.Message) (model.Request, error)
	// Shorten makes the next requests show less, after the provider has refused one
	// as too long; limit is the model's window as far as the refusal tells, in tokens,
	// or 0. first is the sequence from which on they show messages. ok is false if
	// nothing can be cut.
	Shorten(refused *model.Request, limit int) (first uint64, ok bool)
	// Use makes the requests that follow those of another member of the agent's pool.
	Use(m *registry.BoundModel)
	// Counted takes how many tokens the provider has counted for the newest
	// request; 0: the request resumed from existing text, and its count does not
	// matter.
	Counted(tokens int)
	// Taken reports whether the conversation has a tool call of an id.
	Taken(callID string) bool
}

// Claim is the claim under which a step generates its turn.
type Claim interface {
	// Refence takes the claim's next fence.
	Refence(ctx context.Context) (fence uint64, err error)
	// Followed reports whether a stream of another process is known to follow the run.
	Followed(ctx context.Context) bool
	// SaidAt is the time when the turn is complete, in unix milliseconds; it is
	// called at that time.
	SaidAt() int64
	// Failed notes a call of a model that has failed, for counters. kind is a
	// model.ErrorKind.
	Failed(provider, model, kind string)
	// Warn logs what the run survives.
	Warn(ctx context.Context, text string, attrs ...any)
}

// Step is the step that generates a turn.
type Step struct {
	Run      core.ID
	Number   int // from 1
	Agent    *registry.Resolved
	Began    int64     // unix milliseconds
	Until    time.Time // when the step's time for work is over; zero: it has no end
	Circuits *Circuits
	Windows  *Windows
	Events   *history.Emitter
	Account  *accounting.Run
	Prompt   Prompt
	Claim    Claim
}

// Start is the initial state of a turn.
type Start struct {
	ID     string // of the message that it will be
	Thread core.ThreadKey
	Model  *registry.BoundModel // that the agent calls, if it has no pool
	// Last is the thread's place in a pool after its newest turn; nil: no pool.
	Last *checkpoint.Home
	// Member is the pool's part in a record, if that is fixed: then the turn leaves no
	// member; nil: nothing.
	Member *thread.Member
	Fixed  bool
	// Failed is how many calls for the turn have failed in earlier deliveries, and Lost how
	// many claims that made it were lost.
	Failed, Lost uint8
	// Since is the time since when the provider fails, in unix milliseconds, as the last
	// delivery has left it: it expected another call. 0: it did not, or none has failed.
	Since int64
	// PatientUntil is when the run may not wait for its provider any more, in unix
	// milliseconds, since its time is over; 0: it has no such time.
	PatientUntil int64
	// LastWords means that the words may become the last message of a run that a
	// person ends. They may not if they answer input that only the turn's own
	// commit reads.
	LastWords bool
}

// Turn is the turn of a model in a step, in all calls of this delivery. It belongs
// to the step's goroutine, in which the model's stream runs, and outlives the
// inference: its words may be a cancelled run's last message, and the number of
// failed calls goes into the nack.
//
// Methods documented so may be called on a nil Turn: that of a step that has none.
type Turn struct {
	step      Step
	speech    speech
	spent     accounting.Spent // by the calls of this delivery
	patience  patience
	failed    uint8 // calls for this turn, over all deliveries, those of lost claims included
	lastWords bool
	broken    bool // the newest call has failed, and did not reach a limit
	shortened bool // the provider has refused the request as too long, and was shown less
	goesOn    bool // the newest call resumed from the existing part of the turn

	model     *registry.BoundModel // that is called next: the agent's, or a member of its pool
	member    *registry.BoundModel // that was called last
	asked     model.Request        // the newest
	pool      *choice              // nil: the agent has one model
	continued int                  // calls that resumed after a limit of tokens

	call     thread.Attempt   // the newest, with the calls that it continued after a limit of tokens; zero: none was made
	attempts []thread.Attempt // the newest of those that have failed, oldest first
}

// New returns the turn of a step, without any words.
func New(step Step, from Start) *Turn {
	t := &Turn{
		step: step, lastWords: from.LastWords, model: from.Model,
		speech: speech{id: from.ID},
	}
	t.speech.of = &t.step
	if t.pool = choose(&step, &from); t.pool != nil {
		t.model = t.pool.stood
		step.Prompt.Use(t.model)
	}
	t.failed = callsSoFar(from.Failed, from.Lost, t.modelCalls())
	t.patience = patience{lasts: step.Agent.Spec.Retry.Patience().Milliseconds(), until: from.PatientUntil, since: from.Since}
	return t
}

// ID is that of the message that the turn will be.
func (t *Turn) ID() string { return t.speech.id }

// Step is the number of the step whose turn it is.
func (t *Turn) Step() int { return t.step.Number }

// Failures is how many calls of models have failed for the turn, over all deliveries; 0 on
// nil.
func (t *Turn) Failures() uint8 {
	if t == nil {
		return 0
	}
	return t.failed
}

// Failing is the time since when the provider fails, for the next delivery, in unix
// milliseconds: see [Start].Since; nil on nil.
func (t *Turn) Failing() *int64 {
	if t == nil {
		return nil
	}
	return &t.patience.since
}

// Spent is the usage of models for the turn in this delivery; nil on nil.
func (t *Turn) Spent() *accounting.Spent {
	if t == nil {
		return nil
	}
	return &t.spent
}

// Asked returns the newest request's model, by the provider's name, and its provider.
func (t *Turn) Asked() (model, provider string) { return t.asked.Model, t.member.Provider }

// Request returns the newest request, and the origin that its model and provider give it.
func (t *Turn) Request() (r *model.Request, origin string) {
	return &t.asked, t.member.Origin(t.asked.Model)
}

// AskedForForm reports whether the newest request asked for the form of the answer in the
// provider's own way.
func (t *Turn) AskedForForm() bool { return t.asked.ResponseFormat != nil }

// Member is the pool's part in the turn's record; nil: no pool.
func (t *Turn) Member() *thread.Member { return t.pool.memberOf(t.member) }

// FailedMember is the pool's part in the record of a failed inference: no member has
// answered.
func (t *Turn) FailedMember() *thread.Member { return t.pool.failed() }

// Shown reports whether something of the turn was emitted that is in no record.
func (t *Turn) Shown() bool { return t.speech.shown() }

// Void keeps the words from becoming last words: their model has failed
// permanently, and clients learn that the words are void.
func (t *Turn) Void() { t.lastWords = false }

// HasLastWords reports whether the words may be the run's last message; false on
// nil.
func (t *Turn) HasLastWords() bool { return t != nil && t.lastWords && t.speech.said() != "" }

// Words are the blocks that came so far, the open one as far as it came: at their
// places, since readers have been shown them there, and without calls.
func (t *Turn) Words() []core.Block { return t.speech.words() }

// env is the world of the calls.
func (t *Turn) env() *env.Env { return t.step.Circuits.Env }

// Infer calls the model until its turn is complete, and returns the turn. Deltas
// are emitted as they come, before anything is stored: the next attempt's fence
// announces that the words of a turn that is never committed are lost. A call that
// fails is repeated here or by another delivery, see callFailed.
//
// When the context ends, the received part is not a turn, even if the adapter
// completes it, and the call has not failed either; the part stays for the last
// words of a cancelled run.
//
// The error is a *[RetryError], an *[EndError], the context's cause, or what a port has
// returned.
func (t *Turn) Infer(ctx context.Context) (*core.Message, error) {
	m, err := t.infer(ctx)
	if _, ends := errors.AsType[*EndError](err); ends { // if the end cannot be stored, the next delivery stores it, without a call
		t.patience.since = 0
	}
	return m, err
}

func (t *Turn) infer(ctx context.Context) (*core.Message, error) {
	if t.failed >= t.modelCalls() && t.patience.since == 0 { // the delivery that made the last call could not store the run's end
		return nil, &EndError{Code: "model", Cause: fmt.Errorf("the model has failed %d times", t.failed)}
	}
	for {
		if err := t.prepare(ctx); err != nil {
			return nil, err
		}
		err := t.makeCall(ctx)
		// Looked at first: a stream that ends early because its context has looks like
		// a whole turn to some adapters, and like a failure to others.
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		refused, isRefused := errors.AsType[*RefusedError](err)
		switch {
		case isRefused:
			err = t.refused(ctx, refused.Wait)
		case err != nil:
			err = t.callFailed(ctx, err)
		}
		if err != nil {
			return nil, err
		}
		switch {
		case t.speech.stop == "": // it failed, and another call is made
		case t.atLimit():
			if err := t.extend(ctx); err != nil {
				return nil, err
			}
		default:
			return t.complete(ctx), nil
		}
	}
}

// makeCall makes the next call of the model, and notes its times.
func (t *Turn) makeCall(ctx context.Context) error {
	before := t.call
	if t.continued == 0 || t.broken || t.call.Began == 0 {
		t.call = thread.Attempt{Began: t.env().Millis(), Model: t.asked.Model}
	}
	t.speech.base = len(t.speech.said())
	err := t.step.Circuits.Call(ctx, t.member, t.asked, &t.spent, listener{t})
	if _, refused := errors.AsType[*RefusedError](err); refused {
		t.call = before
		return err
	}
	t.call.Ended = t.env().Millis()
	return err
}

// prepare makes the next request, of the model of the agent or the member of its pool whose
// turn it is.
func (t *Turn) prepare(ctx context.Context) (err error) {
	if t.member != t.model {
		t.spent.Next()
		t.member = t.model
	}
	if t.asked, err = t.request(ctx); err != nil {
		return err
	}
	t.spent.Name(t.member.Provider, t.asked.Model)
	t.speech.origin = t.asked.Origin
	t.speech.form = t.step.Agent.Spec.ResponseFormat != nil && t.asked.ResponseFormat == nil
	if err := t.step.Account.Allows(t.member.Provider, t.asked.Model); err != nil {
		return &EndError{Code: "unpriced_model", Cause: err}
	}
	return nil
}

// request is the request to the model for a turn: for all of it, or for the rest
// after the existing text. The two differ only in the two messages after the
// conversation. A document in the provider's own form can only be requested as a
// whole: it is a separate block, after the half that was shown.
func (t *Turn) request(ctx context.Context) (model.Request, error) {
	said, ok := t.speech.cutOff(t.asked.Model)
	if ok && t.step.Agent.Spec.ResponseFormat != nil {
		whole, err := t.step.Prompt.Request(ctx)
		if err != nil || whole.ResponseFormat != nil {
			t.speech.endBlock()
			t.goesOn = false
			return whole, err
		}
	}
	if t.goesOn = ok; !ok {
		return t.step.Prompt.Request(ctx)
	}
	note := core.UserMessage(cutturn.Note).WithID(t.speech.id + ".continue")
	if t.continued > 0 && !t.broken {
		note = core.UserMessage(cutturn.LimitNote).WithID(t.speech.id + ".continue")
	}
	note.RunID = t.step.Run
	return t.step.Prompt.Request(ctx, said, note)
}

// atLimit reports whether the model has stopped at its limit of tokens and may
// resume from text, or from a call that was cut off without a complete one. A turn
// with a complete call is left as it is.
func (t *Turn) atLimit() bool {
	if t.step.Agent.Spec.ResponseFormat != nil { // half a document is not resumed, but said again
		return false
	}
	if t.speech.stop != core.StopMaxTokens || t.continued >= t.step.Agent.Spec.Continuations() {
		return false
	}
	if len(t.speech.calls) == 0 {
		return t.speech.said() != ""
	}
	return !slices.ContainsFunc(t.speech.calls, (*callBuilder).complete)
}

// extend drops the part that the limit has cut off, so that the next call of the
// model resumes from the remaining text. It is one turn: the same id, the same
// positions, and the tokens of all its calls.
func (t *Turn) extend(ctx context.Context) error {
	t.continued++
	t.speech.stop, t.broken = "", false
	t.step.Claim.Warn(ctx, "turn reached the token limit, continued", "continuation", t.continued)
	return t.cutPieces(ctx)
}

// complete returns the whole turn and announces its calls and usage. Calls are ready
// only now: before its stop a model may add to each of them. Usage is that of all
// calls of the model in this delivery; those of earlier ones are not known.
func (t *Turn) complete(ctx context.Context) *core.Message {
	if n := t.speech.notes; n != nil && n.dropped > 0 {
		t.step.Claim.Warn(ctx, "citations of a turn dropped: too many", "dropped", n.dropped, "kept", len(n.all))
	}
	t.noteTokens()
	m := &core.Message{
		ID: t.speech.id, Role: core.RoleAssistant, Content: t.speech.words(),
		RunID: t.step.Run, Step: t.step.Number, Usage: t.spent.Usage(), Model: t.asked.Model, Provider: t.member.Provider,
		StopReason: t.speech.stop, CreatedAt: t.step.Claim.SaidAt(),
	}
	m.ToolCalls = t.speech.toolCalls(cutShort(m.StopReason))
	t.step.Events.Annotations(m)
	for i, c := range t.speech.calls {
		t.step.Events.Ready(m, i, c.arguments.size())
	}
	t.step.Events.Complete(m, t.spent.Time().Milliseconds())
	return m
}

// cutShort reports whether a model has stopped before it had said all.
func cutShort(stop core.StopReason) bool {
	switch stop {
	case core.StopMaxTokens, core.StopContextOverflow, core.StopContentFilter:
		return true
	}
	return false
}

// noteTokens takes the provider's count for the turn's request into its record, to
// compare the next estimates with: of the newest call alone, and not of one that
// resumed from existing text, which is longer than the estimated request.
func (t *Turn) noteTokens() {
	newest, _ := t.spent.Newest()
	if newest.Input == 0 {
		return
	}
	tokens := newest.Input
	if t.goesOn {
		tokens = 0
	}
	t.step.Prompt.Counted(tokens)
}

// listener is a Turn as its calls hear it.
type listener struct{ t *Turn }

// Hear implements Listener.
func (l listener) Hear(d model.Delta) error {
	if l.t.call.First == 0 && d.Type != model.DeltaUsage && d.Type != model.DeltaStop {
		l.t.call.First = l.t.env().Millis()
	}
	return l.t.speech.add(d)
}

// Stopped implements Listener.
func (l listener) Stopped() bool { return l.t.speech.stop != "" }

// Circuit implements Listener: it announces a circuit's state, and for how long it refuses
// calls. It is this process's: another one may call the model.
func (l listener) Circuit(ctx context.Context, state breaker.CircuitState, wait time.Duration) {
	t := l.t
	t.step.Claim.Warn(ctx, "circuit of a model changed", "model", t.member.ID, "circuit", state, "wait", wait)
	t.step.Events.Emit(core.Event{Type: core.EventModelCircuit, Model: t.member.ID, Status: string(state), Wait: wait.Milliseconds()})
}

// refused decides what becomes of a call that a circuit refuses for so long. Without an
// error another member of the pool takes the model's place.
func (t *Turn) refused(ctx context.Context, wait time.Duration) error {
	if t.pool != nil && t.pool.rules.LeavesOpen() {
		if next := t.nextMember(); next != nil {
			t.turnTo(ctx, next, reasonOpen, &RefusedError{wait})
			return nil
		}
		wait = t.soonest(wait)
	}
	cause := &RefusedError{wait}
	// Spread, so that not all who wait come at once for the one call that probes.
	wait += t.env().Jitter(breaker.CircuitProbe)
	wait, ok := t.waitRefused(ctx, wait)
	if !ok {
		return &EndError{Code: "model", Cause: t.gone(cause, reasonOpen)}
	}
	listener{t}.Circuit(ctx, breaker.CircuitOpen, wait)
	return &RetryError{wait, cause}
}
