package agent

import (
	"math"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// BoundModel is a model with the code that calls it. It is shared and must not be
// changed.
type BoundModel struct {
	ID    string      // what specs call it
	Name  string      // the provider's name of it
	Model model.Model // the provider's code

	Provider string // id of the provider, or what ModelBinding says
	// Facts are what is known of it: what its spec or binding says, and for the rest what
	// [Parts.Catalog] said when the run that is pinned to the agent began.
	model.Facts

	learnt  bool // Facts hold more than its spec
	unheard bool // nobody knows its window
}

// ModelOf returns the model that a thread's run calls: of a pool its home, which is
// the same in every process, of anything else the agent's one model, at no cost. The
// run counts where the pool's sticky scope is the run.
func (r *Resolved) ModelOf(key core.ThreadKey, run core.ID) *BoundModel {
	if r.pool == nil {
		return r.bound
	}
	return r.pool.home(key, run)
}

// CallableModels are the models that the agent's runs may call: of a pool all that can be a
// home. A hook's override may name another of the same provider.
func (r *Resolved) CallableModels() []*BoundModel {
	if r.pool == nil {
		return []*BoundModel{r.bound}
	}
	all := make([]*BoundModel, len(r.pool.members))
	for i, m := range r.pool.members {
		all[i] = m.bound
	}
	return all
}

// Pooled reports whether the agent's model is a pool.
func (r *Resolved) Pooled() bool { return r.pool != nil }

// pool is a resolved pool.
type pool struct {
	members []poolMember // those that can be a home, in order
	byRun   bool
	first   bool // the home is the first
}

type poolMember struct {
	bound  *BoundModel
	weight float64
	hash   uint64 // of the model's id
}

func newPool(spec ModelPoolSpec, bind func(id string) (*BoundModel, error)) (*pool, error) {
	p := &pool{byRun: spec.StickyScope == StickyRun, first: spec.Routing == RouteFirstHealthy}
	for _, m := range spec.Members {
		bound, err := bind(m.Model)
		if err != nil {
			return nil, err
		}
		if m.Role != RoleFailoverOnly {
			p.members = append(p.members, poolMember{bound: bound, weight: float64(max(m.Weight, 1)), hash: mixed(hashText(offset, m.Model))})
		}
	}
	return p, nil
}

// home is weighted rendezvous: each member draws a number from the key, and the
// highest wins. A member that comes or goes moves no thread between the others.
//
// The score -weight/ln(u), with u evenly spread between 0 and 1, wins as often as
// the weight's share, if the members' draws are independent. That is what the mixing
// is for: FNV alone hardly changes for ids that differ in their last byte only.
func (p *pool) home(key core.ThreadKey, run core.ID) *BoundModel {
	if p.first {
		return p.members[0].bound
	}
	h := hashText(hashText(offset, key.Tenant)*prime, key.Thread) // a zero byte between them
	if p.byRun {
		h *= prime
		for _, b := range run {
			h = (h ^ uint64(b)) * prime
		}
	}
	h = mixed(h)
	best, highest := p.members[0].bound, -1.0
	for i := range p.members {
		m := &p.members[i]
		u := (float64(mixed(h^m.hash)>>11) + 0.5) / (1 << 53)
		if score := -m.weight / math.Log(u); score > highest {
			best, highest = m.bound, score
		}
	}
	return best
}

// FNV-1a, 64 bits.
const (
	offset uint64 = 14695981039346656037
	prime  uint64 = 1099511628211
)

func hashText(h uint64, text string) uint64 {
	for i := range len(text) {
		h = (h ^ uint64(text[i])) * prime
	}
	return h
}

// mixed lets every bit of h change every bit of the result (the finalizer of
// MurmurHash3).
func mixed(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
