package agent

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/field"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/secret"
)

// ModelSpec is a model as data: what specs call it, and whose it is.
type ModelSpec struct {
	ID              string `json:"id"`                          // what agents and pools name; see [core.CheckName]
	Provider        string `json:"provider"`                    // id of a provider
	UpstreamModel   string `json:"upstream_model"`              // the provider's name of the model
	ContextWindow   int    `json:"context_window,omitempty"`    // tokens of request and turn together; 0: not known
	MaxOutputTokens int    `json:"max_output_tokens,omitempty"` // of one turn; 0: not known
}

// Check validates the spec by itself. The error has code invalid and names the field.
func (m ModelSpec) Check() error {
	if err := field.CheckID("model", m.ID); err != nil {
		return err
	}
	switch {
	case m.Provider == "":
		return field.Invalid("model", m.ID, "provider", "is empty")
	case m.UpstreamModel == "":
		return field.Invalid("model", m.ID, "upstream_model", "is empty")
	case m.ContextWindow < 0:
		return field.Invalid("model", m.ID, "context_window", "is %d, want 0 (not known) or more", m.ContextWindow)
	case m.MaxOutputTokens < 0:
		return field.Invalid("model", m.ID, "max_output_tokens", "is %d, want 0 (not known) or more", m.MaxOutputTokens)
	case m.ContextWindow > 0 && m.MaxOutputTokens > m.ContextWindow:
		return field.Invalid("model", m.ID, "max_output_tokens", "is %d, more than the %d of context_window", m.MaxOutputTokens, m.ContextWindow)
	}
	return nil
}

// MemberRole decides when a pool uses a member. The zero MemberRole, which is member in a
// file, is that of one that may be a thread's home.
type MemberRole string

// RoleFailoverOnly is never a home: it is used only where another member failed.
const RoleFailoverOnly MemberRole = "failover_only"

const roleMember MemberRole = "member"

// PoolMember is a model of a pool.
type PoolMember struct {
	Model  string     `json:"model"`            // id of a model, never of a pool
	Weight int        `json:"weight,omitempty"` // share of the threads, 1 to 1000; 0 is 1
	Role   MemberRole `json:"role,omitempty"`   // empty: member
}

// PoolRouting is how a pool chooses a thread's home. The zero PoolRouting, which is
// deterministic in a file, spreads threads over the members by their weights: a thread
// keeps its home, and adding or removing a member moves only that member's share.
type PoolRouting string

// RouteFirstHealthy is the first member of role member.
const RouteFirstHealthy PoolRouting = "first_healthy"

const routeDeterministic PoolRouting = "deterministic"

// StickyScope is the unit that keeps its home. The zero StickyScope, which is thread in a
// file, gives every run of a thread one home.
type StickyScope string

// StickyRun chooses a home for each run.
const StickyRun StickyScope = "run"

const stickyThread StickyScope = "thread"

// PoolSwitch has the reasons for which a run leaves a member of its pool for another one.
type PoolSwitch struct {
	OnCircuitOpen *bool `json:"on_circuit_open,omitempty"` // it failed too often of late, see [model.Error.Transient]; nil is true
	OnQuota       *bool `json:"on_quota,omitempty"`        // it refuses for now, or its quota is used up; nil is true
	OnPermanent   *bool `json:"on_permanent,omitempty"`    // the provider rejects the key, or the model does not exist there; nil is false
	// QuotaRetryAfterThresholdMS is the shortest wait, in milliseconds, that a refusing
	// member must ask for until the pool leaves it; 0: any. The pool leaves a member that
	// names no wait.
	QuotaRetryAfterThresholdMS int `json:"quota_retry_after_threshold_ms,omitempty"`
	MaxSwitches                int `json:"max_switches,omitempty"` // within the sticky scope, from the records of its turns; 0: no limit
}

// LeavesOpen reports whether the pool leaves a member whose circuit is open.
func (s PoolSwitch) LeavesOpen() bool { return s.OnCircuitOpen == nil || *s.OnCircuitOpen }

// Leaves reports whether the pool leaves a member for a failure of the kind, for which the
// provider asked to wait so long; 0: it gave no time. A failure that is the request's own
// fault, or that may pass by itself, is not a reason.
func (s PoolSwitch) Leaves(kind model.ErrorKind, asked time.Duration) bool {
	quota := s.OnQuota == nil || *s.OnQuota
	switch kind {
	case model.KindQuota:
		return quota
	case model.KindRateLimited, model.KindOverloaded:
		return quota && (asked == 0 || asked >= time.Duration(s.QuotaRetryAfterThresholdMS)*time.Millisecond)
	case model.KindUnauthorized, model.KindNotFound:
		return s.OnPermanent != nil && *s.OnPermanent
	}
	return false
}

// ModelPoolSpec is a group of models that agents use as one. Each thread has a home among
// the members. A run leaves it for another member for the reasons of Switch, and stays
// there while that one's prompt cache is warm.
type ModelPoolSpec struct {
	ID          string       `json:"id"` // what agents name as their model
	Members     []PoolMember `json:"members"`
	Routing     PoolRouting  `json:"routing,omitempty"`      // empty: deterministic
	StickyScope StickyScope  `json:"sticky_scope,omitempty"` // empty: thread
	Switch      PoolSwitch   `json:"switch,omitzero"`
	// ReturnAfterMS is the time after the last turn of another member, in milliseconds,
	// until a thread is home again: the lifetime of that member's prompt cache, up to
	// 86,400,000; 0 is 5 minutes.
	ReturnAfterMS int `json:"return_after_ms,omitempty"`
}

const maxPoolReturnMS = 86_400_000

// maxWeight bounds a member's weight.
const maxWeight = 1000

// Check validates the spec by itself. The error has code invalid and names the field.
func (p ModelPoolSpec) Check() error {
	if err := field.CheckID("pool", p.ID); err != nil {
		return err
	}
	if err := p.checkMembers(); err != nil {
		return err
	}
	switch p.Routing {
	case "", routeDeterministic, RouteFirstHealthy:
	default:
		return field.Invalid("pool", p.ID, "routing", "is %q, allowed are %q and %q", excerpt(p.Routing), routeDeterministic, RouteFirstHealthy)
	}
	switch p.StickyScope {
	case "", stickyThread, StickyRun:
	default:
		return field.Invalid("pool", p.ID, "sticky_scope", "is %q, allowed are %q and %q", excerpt(p.StickyScope), stickyThread, StickyRun)
	}
	if n := p.Switch.QuotaRetryAfterThresholdMS; n < 0 {
		return field.Invalid("pool", p.ID, "switch.quota_retry_after_threshold_ms", "is %d, want 0 (any wait) or more", n)
	}
	if n := p.Switch.MaxSwitches; n < 0 {
		return field.Invalid("pool", p.ID, "switch.max_switches", "is %d, want 0 (no limit) or more", n)
	}
	if n := p.ReturnAfterMS; n < 0 || n > maxPoolReturnMS {
		return field.Invalid("pool", p.ID, "return_after_ms", "is %d, allowed are 0 (5 minutes) to %d", n, maxPoolReturnMS)
	}
	return nil
}

func (p ModelPoolSpec) checkMembers() error {
	homes := 0
	for i, m := range p.Members {
		at := fmt.Sprintf("members[%d]", i)
		switch {
		case m.Model == "":
			return field.Invalid("pool", p.ID, at+".model", "is empty")
		case slices.ContainsFunc(p.Members[:i], func(o PoolMember) bool { return o.Model == m.Model }):
			return field.Invalid("pool", p.ID, at+".model", "is %q, which is a member already", core.Excerpt(m.Model))
		case m.Role != "" && m.Role != roleMember && m.Role != RoleFailoverOnly:
			return field.Invalid("pool", p.ID, at+".role", "is %q, allowed are %q and %q", excerpt(m.Role), roleMember, RoleFailoverOnly)
		case m.Role == RoleFailoverOnly && m.Weight != 0:
			return field.Invalid("pool", p.ID, at+".weight", "is %d, a member of role %q has none", m.Weight, RoleFailoverOnly)
		case m.Weight < 0 || m.Weight > maxWeight:
			return field.Invalid("pool", p.ID, at+".weight", "is %d, allowed are 1 to %d", m.Weight, maxWeight)
		}
		if m.Role != RoleFailoverOnly {
			homes++
		}
	}
	if homes == 0 {
		return field.Invalid("pool", p.ID, "members", "has none of role %q", roleMember)
	}
	return nil
}

// ProviderSpec is where models are called, and how.
type ProviderSpec struct {
	ID      string        `json:"id"`                 // what models name; see [core.CheckName]
	Adapter string        `json:"adapter"`            // the code for its protocol: a key of Parts.Adapters
	BaseURL string        `json:"base_url,omitempty"` // http or https, without query; empty: the adapter's own
	APIKey  secret.String `json:"api_key,omitzero"`
	Key     secret.Source `json:"-"` // if not nil, asked for the key of each request in place of APIKey
	// APIKeyEnv is the name of the environment variable that has the key. The program that
	// loads specs reads it; nothing here does. A provider that has a name and no key cannot
	// be used.
	APIKeyEnv string          `json:"api_key_env,omitempty"`
	TimeoutMS int             `json:"timeout_ms,omitempty"` // of one call, up to 900,000; 0: no limit but the adapter's
	Options   json.RawMessage `json:"options,omitempty"`    // an object that the adapter knows
}

// maxTimeoutMS is what a function may run for.
const maxTimeoutMS = 900_000

// Check validates the spec by itself. The error has code invalid and names the field.
func (p ProviderSpec) Check() error {
	if err := field.CheckID("provider", p.ID); err != nil {
		return err
	}
	switch {
	case p.Adapter == "":
		return field.Invalid("provider", p.ID, "adapter", "is empty")
	case p.TimeoutMS < 0 || p.TimeoutMS > maxTimeoutMS:
		return field.Invalid("provider", p.ID, "timeout_ms", "is %d, allowed are 0 (no limit but the adapter's) to %d", p.TimeoutMS, maxTimeoutMS)
	case len(p.Options) > 0 && !isObject(p.Options):
		return field.Invalid("provider", p.ID, "options", "is %s, want an object", core.Excerpt(string(p.Options)))
	case strings.Contains(p.BaseURL, "@"): // not quoted: the text before it may be a password
		return field.Invalid("provider", p.ID, "base_url", "holds a user, want http:// or https://, a host and a path")
	case p.BaseURL != "" && !isBase(p.BaseURL):
		return field.Invalid("provider", p.ID, "base_url", "is %q, want http:// or https://, a host and a path", core.Excerpt(p.BaseURL))
	}
	return nil
}

// isBase reports whether paths can be appended to the address.
func isBase(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}
