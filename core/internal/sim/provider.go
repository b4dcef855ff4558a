package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/model/catalog"
	"github.com/reveille-run/reveille/core/store"
)

// provider is the seller of a world's models. It keeps its own books of what it has
// served. They know nothing of the runtime's records, with one exception, which is
// visible from the store's side: whether the calling process has written the run's head
// after the response. If it has not, the usage is lost, as the process is.
type provider struct {
	prices *catalog.Catalog
	served []*inference
	spent  map[tenantDay]*spending
	open   map[core.ID][]*inference // by run: those that no write of a head follows
}

func newProvider() provider {
	return provider{prices: catalog.Default(), open: map[core.ID][]*inference{}, spent: map[tenantDay]*spending{}}
}

// spending is what the logs have of a tenant's day, by the provider's books.
type spending struct {
	tokens int64
	cost   core.USD
}

func (p *provider) of(at tenantDay) *spending {
	if p.spent[at] == nil {
		p.spent[at] = &spending{}
	}
	return p.spent[at]
}

// inference is one call of a model.
type inference struct {
	th     *threadState
	run    core.ID
	model  string
	host   *host
	fence  uint64 // of the claim under which the process asked; a refence moves it
	began  time.Duration
	ended  time.Duration
	over   bool       // the process has all that it will get
	usage  core.Usage // as the process received it
	within *stretch   // of the run
	told   bool       // the process has written the run's head since
	logged bool       // by a write that brought a turn, or a failed one, with the totals after it
}

// serve opens the books for a call.
func (p *provider) serve(h *host, th *threadState, run core.ID, model string) *inference {
	th.runs.checkHeard(h)
	s := &inference{
		th: th, run: run, model: model, host: h, fence: th.p.head.Claim.Fence, began: th.w.now,
	}
	if !th.runs.holds() || th.p.head.Run.ID != run {
		s.fence = 0 // its claim is lost, and it does not know yet: nothing that it writes counts
	}
	p.served = append(p.served, s)
	if s.fence != 0 {
		s.within = th.runs.stretch
		p.open[run] = append(p.open[run], s)
	}
	return s
}

// end notes that the process has the response, or has given it up. A process that dies
// never comes here.
func (s *inference) end() { s.over, s.ended = true, s.th.w.now }

// turns reports whether a write brings a turn of the run into the log, or a failed one.
func turns(th *threadState, a, b *thread.Head) bool {
	for seq := a.Seq + 1; seq <= b.Seq; seq++ {
		r, ok := th.p.record(store.LogName(seq))
		if !ok {
			continue
		}
		e, err := th.w.checks.DecodeEntry(r.Payload)
		if err == nil && e.Totals != nil && (e.Failed != nil || e.Message != nil && e.Message.Role == core.RoleAssistant) {
			return true
		}
	}
	return false
}

// usages are what the provider says of tokens while it answers and at the end. Some
// models say at once what they were given to read.
func (s *inference) usages(nonce uint64, r *model.Request) (first, last core.Usage) {
	of := func(which, most uint64) int { return int(trait(fmt.Sprint(nonce), which, most)) }
	last = core.Usage{Input: 200 + of(40, 4000), Output: 5 + of(41, 900)}
	if s.th.w.scripted.narrow() { // what a provider counts is what it bounds
		last.Input = sizeOf(r)
	}
	last.CacheRead, last.CacheWrite = last.Input*of(42, 4)/8, last.Input*of(43, 3)/16
	last.Reasoning = last.Output * of(44, 3) / 4
	if early(s.model) {
		first = core.Usage{Input: last.Input, Output: 1, CacheRead: last.CacheRead, CacheWrite: last.CacheWrite}
	}
	return first, last
}

// early reports whether a model immediately reports its prompt tokens.
func early(model string) bool { return model == modelOf[agentHooked] || model == modelOf[agentBare] }

// written takes a write of a head by the holder of a claim: what the process has asked
// for before is not lost any more.
func (p *provider) written(a, b *thread.Head) {
	if a.Claim.Fence == 0 || b.HolderCommitID != b.CommitID {
		return
	}
	refence := b.Claim.Fence != 0 && b.Claim.Fence != a.Claim.Fence
	open := p.open[a.Run.ID]
	if len(open) == 0 {
		return
	}
	p.open[a.Run.ID] = slices.DeleteFunc(open, func(s *inference) bool {
		switch {
		case s.fence != a.Claim.Fence || !s.over:
			return false
		case refence:
			s.fence = b.Claim.Fence
			return false
		}
		s.told = true
		if s.logged = turns(s.th, a, b); s.logged {
			s.th.w.auditor.charged(s)
		}
		return true
	})
}
