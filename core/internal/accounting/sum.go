package accounting

import (
	"cmp"
	"slices"

	"github.com/reveille-run/reveille/core/account"
)

// key is whose usage a row has, in their order.
type key struct{ Day, User, Agent, Run, Root, Model, Provider string }

func keyOf(r *account.Row) key {
	return key{r.Day, r.User, r.Agent, r.Run, r.Root, r.Model, r.Provider}
}

// row returns a row of the key in which nothing is used.
func (k key) row() *account.Row {
	return &account.Row{Day: k.Day, User: k.User, Agent: k.Agent, Run: k.Run, Root: k.Root, Provider: k.Provider, Model: k.Model}
}

// by is the part of a key that a report goes by.
func (k key) by(b account.By) key {
	if !b.Day {
		k.Day = ""
	}
	if !b.User {
		k.User = ""
	}
	if !b.Agent {
		k.Agent = ""
	}
	if !b.Run {
		k.Run = ""
	}
	if !b.Root {
		k.Root = ""
	}
	if !b.Model {
		k.Provider, k.Model = "", ""
	}
	return k
}

func compare(a, b account.Row) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.User, b.User), cmp.Compare(a.Agent, b.Agent),
		cmp.Compare(a.Run, b.Run), cmp.Compare(a.Root, b.Root), cmp.Compare(a.Model, b.Model), cmp.Compare(a.Provider, b.Provider))
}

// add adds what o has used to s.
func add(s, o *account.Row) {
	s.Runs, s.Stretches, s.Lost = s.Runs+o.Runs, s.Stretches+o.Stretches, s.Lost+o.Lost
	s.Tokens = s.Tokens.Add(o.Tokens)
	s.Inferences, s.ModelMillis = s.Inferences+o.Inferences, s.ModelMillis+o.ModelMillis
	s.Tools, s.ToolMillis = s.Tools+o.Tools, s.ToolMillis+o.ToolMillis
	s.Spent, s.Billed = s.Spent.Plus(o.Spent), s.Billed+o.Billed
}

// sums are sums by key.
type sums map[key]*account.Row

func (s sums) add(o account.Row) {
	k := keyOf(&o)
	if at := s[k]; at != nil {
		add(at, &o)
		return
	}
	s[k] = &o
}

// addRecord adds the usage of a stretch, of each run apart if runs is set.
func (s sums) addRecord(r *account.Record, runs bool) {
	whose := key{User: r.User, Agent: r.Agent}
	if runs {
		whose.Run = r.Run.String()
		whose.Root = whose.Run
		if !r.Root.IsZero() {
			whose.Root = r.Root.String()
		}
	}
	own := whose.row()
	own.Stretches, own.Tools, own.ToolMillis, own.Spent, own.Billed = 1, r.Tools, r.ToolTime, r.Spent, int64(r.Memory)*r.Spent.Handler
	if r.Stretch == 0 {
		own.Runs = 1
	}
	if r.Lost {
		own.Lost = 1
	}
	s.add(*own)
	for _, m := range r.Models {
		k := whose
		k.Provider, k.Model = m.Provider, m.Model
		used := k.row()
		used.Tokens, used.Inferences, used.ModelMillis = m.Usage, m.Inferences, m.Millis
		s.add(*used)
	}
}

// sorted are the sums in the order of their keys.
func (s sums) sorted() []account.Row {
	all := make([]account.Row, 0, len(s))
	for _, sum := range s {
		all = append(all, *sum)
	}
	slices.SortFunc(all, compare)
	return all
}
