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

	"github.com/reveille-run/reveille/adapters/internal/incoming"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Options configures [New].
type Options struct {
	// Runtime accepts the runs: a *host.Host. Required.
	Runtime interface {
		HasAgent(id string) bool
		DefaultAgent() string
		// Submit returns when the run is durably queued.
		Submit(context.Context, mailbox.Submission) (mailbox.Receipt, error)
	}
	// Tenant is the tenant of triggers that name no tenant. If it is empty, every trigger
	// must name one.
	Tenant string
	// Owner is the owner of every run, in place of the triggers' tenant and user: for a
	// host on which one identity owns everything, as the local host. nil: the triggers'
	// values apply.
	Owner  *core.Identity
	Logger *slog.Logger // nil: slog.Default()
}

// Set is the set of triggers of a deployment. It keeps no state between events, and may
// fire several events concurrently.
type Set struct {
	Options
	triggers []*compiled
}

// New reads the triggers that a setting names and makes a set of them: those of a file, or
// of JSON itself, which begins with a brace. Empty: no triggers. The package comment has
// the form of the JSON, of which 1 MiB is allowed.
//
// An unknown key, one that is given twice and a value of another type are errors with the
// file's name, the line and the column, both from 1. An error in a trigger names the
// trigger, the part, and the allowed values.
func New(setting string, o Options) (*Set, error) {
	triggers, err := readSetting(setting)
	if err != nil {
		return nil, err
	}
	return newSet(triggers, o)
}

func newSet(triggers []trigger, o Options) (*Set, error) {
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

func (s *Set) add(t trigger) error {
	if slices.ContainsFunc(s.triggers, func(c *compiled) bool { return c.Name == t.Name }) {
		return at("name", errors.New("is used by an earlier trigger"))
	}
	if t.Agent == "" {
		t.Agent = s.Runtime.DefaultAgent()
	}
	if t.Agent == "" {
		return at("agent", errors.New("is required: the deployment has no default agent"))
	}
	if !s.Runtime.HasAgent(t.Agent) {
		return at("agent", fmt.Errorf("%q is unknown: the deployment has no such agent", core.Excerpt(t.Agent)))
	}
	if t.Tenant == "" {
		t.Tenant = s.Tenant
	}
	if s.Owner != nil {
		t.Tenant, t.User = s.Owner.Tenant, s.Owner.User
	}
	if t.Tenant == "" {
		return at("tenant", errors.New("is required: the deployment has no default tenant (REVEILLE_TENANT)"))
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

// Names returns the names of the triggers, in their order, each with its source, such as
// "report (schedule)".
func (s *Set) Names() []string {
	var names []string
	for _, t := range s.all() {
		names = append(names, fmt.Sprintf("%s (%s)", t.Name, t.Source))
	}
	return names
}

// all are the triggers, in their order, with the agents and tenants that they have here.
func (s *Set) all() []trigger {
	var all []trigger
	for _, c := range s.triggers {
		all = append(all, c.trigger)
	}
	return all
}

// find returns the trigger of a name.
func (s *Set) find(name string) (trigger, bool) {
	for _, c := range s.triggers {
		if c.Name == name {
			return c.trigger, true
		}
	}
	return trigger{}, false
}

// Fire starts the runs that an event asks for, as package lambda and [Set.Routes] read it. It
// returns a receipt for each trigger that took the event; those of runs that an earlier
// delivery started are duplicates. Each trigger is tried, also when another one failed.
// If the event itself, or the text that a trigger makes of it, causes the error, the code
// is invalid or too_large, and a retry cannot succeed. An event for an unknown trigger, or
// for one of another source, is core.CodeNotFound.
func (s *Set) Fire(ctx context.Context, e incoming.Event) ([]mailbox.Receipt, error) {
	if e.ID == "" {
		return nil, core.Errorf(core.CodeInvalid, "an event of source %s has no id", e.Source)
	}
	data, err := decodeEvent(e.Data)
	if err != nil {
		return nil, err
	}
	if t, ok := s.find(e.Trigger); e.Trigger != "" && (!ok || t.Source != e.Source) {
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
		if key, err = c.key.render(data, maxTemplate); err != nil {
			return sub, err
		}
		if key == "" {
			return sub, core.Errorf(core.CodeInvalid, "key is empty")
		}
	}
	thread := newThread(c.Name, key)
	if c.thread != nil {
		if thread, err = c.thread.render(data, maxTemplate); err != nil {
			return sub, err
		}
	}
	prompt, err := c.prompt.render(data, maxPrompt)
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
		// The event alone identifies a repetition, even if its templates now give another text.
		Key: mailbox.Key{Value: "trigger:" + c.Name + ":" + key, Alone: true},
	}
	return sub, sub.Check()
}

// newThread is the id of a thread for one event: the same whenever it comes.
func newThread(name, key string) string {
	sum := sha256.Sum256([]byte(name + "\x00" + key))
	return name[:min(len(name), 64)] + "-" + hex.EncodeToString(sum[:16])
}
