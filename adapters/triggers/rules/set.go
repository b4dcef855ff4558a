package rules

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/reveille-run/reveille/adapters/triggers/incoming"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Runtime is what triggers need of the runtime; *host.Host is one.
type Runtime interface {
	HasAgent(id string) bool
	DefaultAgent() string
	// Submit returns when the run is durably queued.
	Submit(context.Context, mailbox.Submission) (mailbox.Receipt, error)
}

// Options configures [New].
type Options struct {
	Runtime Runtime // required
	// Tenant is that of triggers that name none; empty: they must.
	Tenant string
	// Everybody is whose every run is, whatever the triggers say: where one identity
	// owns everything, as on the local host. nil: as they say.
	Everybody *core.Identity
	Logger    *slog.Logger // nil: slog.Default()
}

// Set is the triggers of a deployment. It keeps nothing between events, and takes
// several at once.
type Set struct {
	Options
	triggers []*compiled
}

// New checks triggers and makes a set of them. An error says which one, which part of
// it, and what is allowed.
func New(triggers []Trigger, o Options) (*Set, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Set{Options: o}
	for i, t := range triggers {
		err := s.add(t)
		if err != nil {
			return nil, core.Errorf(core.CodeInvalid, "triggers[%d] (%s): %w", i, core.Excerpt(t.Name), err)
		}
	}
	return s, nil
}

func (s *Set) add(t Trigger) error {
	if slices.ContainsFunc(s.triggers, func(c *compiled) bool { return c.Name == t.Name }) {
		return at("name", errors.New("is that of an earlier trigger"))
	}
	if t.Agent == "" {
		t.Agent = s.Runtime.DefaultAgent()
	}
	if t.Agent == "" {
		return at("agent", errors.New("is required: the deployment has no default agent"))
	}
	if !s.Runtime.HasAgent(t.Agent) {
		return at("agent", fmt.Errorf("%q is none of the deployment's agents", core.Excerpt(t.Agent)))
	}
	if t.Tenant == "" {
		t.Tenant = s.Tenant
	}
	if s.Everybody != nil {
		t.Tenant, t.User = s.Everybody.Tenant, s.Everybody.User
	}
	if t.Tenant == "" {
		return at("tenant", errors.New("is required: the deployment has no tenant of its own (REVEILLE_TENANT)"))
	}
	if err := core.CheckName("tenant", t.Tenant); err != nil {
		return err
	}
	if t.User != "" {
		if err := core.CheckName("user", t.User); err != nil {
			return err
		}
	}
	c, err := compile(t)
	if err != nil {
		return err
	}
	s.triggers = append(s.triggers, c)
	return nil
}

// Triggers returns the triggers, in their order, with the agents and tenants that they
// have here.
func (s *Set) Triggers() []Trigger {
	var all []Trigger
	for _, c := range s.triggers {
		all = append(all, c.Trigger)
	}
	return all
}

// Find returns the trigger of a name.
func (s *Set) Find(name string) (Trigger, bool) {
	for _, c := range s.triggers {
		if c.Name == name {
			return c.Trigger, true
		}
	}
	return Trigger{}, false
}

// Fire implements incoming.Firer. Each trigger is tried, also when another one failed.
// An error that the event itself causes, or what a trigger makes of it, has code
// invalid or too_large: it will not go away. An event for a trigger that there is none
// of, or of another source, is core.CodeNotFound.
func (s *Set) Fire(ctx context.Context, e incoming.Event) ([]mailbox.Receipt, error) {
	if e.ID == "" {
		return nil, core.Errorf(core.CodeInvalid, "an event of source %s has no id", e.Source)
	}
	data, err := decodeEvent(e.Data)
	if err != nil {
		return nil, err
	}
	if t, ok := s.Find(e.Trigger); e.Trigger != "" && (!ok || t.Source != e.Source) {
		return nil, core.Errorf(core.CodeNotFound, "no trigger %q of source %s", core.Excerpt(e.Trigger), e.Source)
	}
	var receipts []mailbox.Receipt
	var failed []error
	shown := withoutNulls(data)
	for _, c := range s.triggers {
		if c.Source != e.Source || e.Trigger != "" && c.Name != e.Trigger || c.filter != nil && !c.filter.matches(data) {
			continue
		}
		receipt, err := s.start(ctx, c, e, shown)
		if err != nil {
			failed = append(failed, fmt.Errorf("trigger %s: %w", c.Name, err))
			continue
		}
		receipts = append(receipts, receipt)
	}
	return receipts, join(failed)
}

// join is errors.Join that leaves a single error its code.
func join(failed []error) error {
	if len(failed) == 1 {
		return failed[0]
	}
	return errors.Join(failed...)
}

// start submits what a trigger makes of an event.
func (s *Set) start(ctx context.Context, c *compiled, e incoming.Event, data object) (mailbox.Receipt, error) {
	sub, err := c.submission(e, data)
	if err != nil {
		return mailbox.Receipt{}, err
	}
	receipt, err := s.Runtime.Submit(ctx, sub)
	if err != nil {
		return receipt, err
	}
	s.Logger.InfoContext(ctx, "event started a run", "trigger", c.Name, "source", e.Source, "event", e.ID, "duplicate", receipt.Duplicate,
		"tenant", sub.Thread.Tenant, "thread", sub.Thread.Thread, "run", receipt.RunID, "agent", sub.Opening.AgentID)
	return receipt, nil
}

// about is what hooks and tools of the run find in its request.
type about struct {
	Trigger struct {
		Name   string          `json:"name"`
		Source incoming.Source `json:"source"`
		Event  string          `json:"event"` // its id
	} `json:"trigger"`
}

// submission is what the trigger makes of an event.
func (c *compiled) submission(e incoming.Event, data object) (sub mailbox.Submission, err error) {
	key := e.ID
	if c.key != nil {
		if key, err = c.key.render(data, MaxTemplate); err != nil {
			return sub, err
		}
		if key == "" {
			return sub, core.Errorf(core.CodeInvalid, "key is empty")
		}
	}
	thread := newThread(c.Name, key)
	if c.thread != nil {
		if thread, err = c.thread.render(data, MaxTemplate); err != nil {
			return sub, err
		}
	}
	prompt, err := c.prompt.render(data, MaxPrompt)
	if err != nil {
		return sub, err
	}
	var a about
	a.Trigger.Name, a.Trigger.Source, a.Trigger.Event = c.Name, e.Source, e.ID
	request, err := json.Marshal(a)
	if err != nil {
		return sub, core.Errorf(core.CodeInvalid, "encode request: %w", err)
	}
	sub = mailbox.Submission{
		Thread: core.ThreadKey{Tenant: c.Tenant, Thread: thread}, User: c.User, Opening: mailbox.Opening{AgentID: c.Agent, Request: request},
		Messages: []core.Message{core.UserMessage(prompt)}, Origin: core.OriginInternal,
		// The event is what came twice, whatever the templates make of it by then.
		Key: mailbox.Key{Value: "trigger:" + c.Name + ":" + key, Alone: true},
	}
	return sub, sub.Check()
}

// newThread is the id of a thread for one event: the same whenever it comes.
func newThread(name, key string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + key))
	return name[:min(len(name), 64)] + "-" + hex.EncodeToString(sum[:16])
}
