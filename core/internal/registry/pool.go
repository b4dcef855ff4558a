package registry

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
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

	learnt  bool   // Facts hold more than its spec
	unheard bool   // its window is unknown
	retired string // the day from which its provider no longer has it; empty: unknown
	next    string // the model to use instead; empty: unknown
	origin  string // what Origin returns for Name; empty: it is made each time
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

// CallableModels are the models that the agent's runs may call: of a pool all members. A
// hook's override may name another of the same provider.
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

// Pool returns the pool that the agent's model is; nil: it is one model.
func (r *Resolved) Pool() *Pool { return r.pool }

// Pool is a resolved pool. It is shared and must not be changed.
type Pool struct {
	ID      string
	Switch  agent.PoolSwitch
	ByRun   bool          // the home is a run's, else a thread's
	Returns time.Duration // after the last turn of a member, until a thread is home again

	members []poolMember // in the order of the spec
	first   bool         // the home is the first
}

type poolMember struct {
	bound  *BoundModel
	weight float64 // 0: it is never a home
	hash   uint64  // of the model's id
}

// defaultPoolReturn is how long providers keep a prompt that is not asked for again.
const defaultPoolReturn = 5 * time.Minute

func newPool(spec agent.ModelPoolSpec, bind func(id string) (*BoundModel, error)) (*Pool, error) {
	p := &Pool{
		ID: spec.ID, Switch: spec.Switch, ByRun: spec.StickyScope == agent.StickyRun, Returns: defaultPoolReturn,
		first: spec.Routing == agent.RouteFirstHealthy,
	}
	if spec.ReturnAfterMS > 0 {
		p.Returns = time.Duration(spec.ReturnAfterMS) * time.Millisecond
	}
	for _, m := range spec.Members {
		bound, err := bind(m.Model)
		if err != nil {
			return nil, err
		}
		member := poolMember{bound: bound, hash: mixed(hashText(offset, m.Model))}
		if m.Role != agent.RoleFailoverOnly {
			member.weight = float64(max(m.Weight, 1))
		}
		p.members = append(p.members, member)
	}
	return p, nil
}

// Member returns the member of an id; nil: no such member.
func (p *Pool) Member(id string) *BoundModel {
	for i := range p.members {
		if m := p.members[i].bound; m.ID == id {
			return m
		}
	}
	return nil
}

// Order returns the members in the order in which a thread's run tries them: its home,
// the others that may be one, as the draw has them, and last those of role failover_only.
// It is the same in every process.
func (p *Pool) Order(key core.ThreadKey, run core.ID) []*BoundModel {
	type drawn struct {
		bound *BoundModel
		score float64
	}
	h := p.draw(key, run)
	all := make([]drawn, 0, len(p.members))
	for i := range p.members {
		m := &p.members[i]
		d := drawn{bound: m.bound}
		switch {
		case m.weight == 0:
		case p.first:
			d.score = 1
		default:
			d.score = m.score(h)
		}
		all = append(all, d)
	}
	slices.SortStableFunc(all, func(a, b drawn) int { return cmp.Compare(b.score, a.score) })
	order := make([]*BoundModel, len(all))
	for i := range all {
		order[i] = all[i].bound
	}
	return order
}

// home is weighted rendezvous: each member draws a number from the key, and the
// highest wins. A member that comes or goes moves no thread between the others.
func (p *Pool) home(key core.ThreadKey, run core.ID) *BoundModel {
	if p.first {
		return p.lead()
	}
	h := p.draw(key, run)
	var best *BoundModel
	highest := 0.0
	for i := range p.members {
		m := &p.members[i]
		if m.weight == 0 {
			continue
		}
		if score := m.score(h); score > highest {
			best, highest = m.bound, score
		}
	}
	return best
}

// lead is the first member that may be a home.
func (p *Pool) lead() *BoundModel {
	i := slices.IndexFunc(p.members, func(m poolMember) bool { return m.weight > 0 }) // the spec's Check knows of one
	return p.members[i].bound
}

// draw is what the members draw from.
func (p *Pool) draw(key core.ThreadKey, run core.ID) uint64 {
	h := hashText(hashText(offset, key.Tenant)*prime, key.Thread) // a zero byte between them
	if p.ByRun {
		h *= prime
		for _, b := range run {
			h = (h ^ uint64(b)) * prime
		}
	}
	return mixed(h)
}

// score is what the member draws, above 0.
//
// The score -weight/ln(u), with u evenly spread between 0 and 1, wins as often as
// the weight's share, if the members' draws are independent. That is what the mixing
// is for: FNV alone hardly changes for ids that differ in their last byte only.
func (m *poolMember) score(h uint64) float64 {
	u := (float64(mixed(h^m.hash)>>11) + 0.5) / (1 << 53)
	return -m.weight / math.Log(u)
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
