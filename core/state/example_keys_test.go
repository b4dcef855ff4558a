package state_test

import (
	"fmt"
	"strings"

	"github.com/reveille-run/reveille/core/state"
)

// show commits commands one after the other, as the engine does, and prints what each
// has changed.
func show(key interface{ Definition() state.Definition }, commands ...state.Command) (s state.Snapshot) {
	registry, err := new(state.Registry).With(key.Definition())
	if err != nil {
		fmt.Println(err)
		return s
	}
	for _, c := range commands {
		next, patch, err := registry.Commit(s, c.Batch)
		if err != nil {
			fmt.Println(err)
			return s
		}
		for _, o := range patch {
			fmt.Println(strings.TrimSpace(fmt.Sprintf("%s %s %s", o.Op, o.Path, o.Value)))
		}
		s = next
	}
	return s
}

// A counter is one line. Two hooks of a phase may add to it side by side.
func ExampleCounter() {
	visits := state.Counter("visits", state.ScopeThread)

	s := show(visits, visits.Update(1), visits.Update(2))
	n, err := visits.Read(s)
	fmt.Println(n, err)
	// Output:
	// add /thread/visits 1
	// replace /thread/visits 3
	// 3 <nil>
}

// A map changes by its members.
func ExampleMap() {
	stock := state.Map[int]("stock", state.ScopeThread)

	s := show(stock, stock.Put("apples", 3), stock.Put("pears", 5), stock.Delete("apples"))
	pears, there, err := stock.Member(s, "pears")
	fmt.Println(pears, there, err)
	// Output:
	// add /thread/stock {"apples":3}
	// add /thread/stock/pears 5
	// remove /thread/stock/apples
	// 5 true <nil>
}

// A document is read as a struct and edited by paths.
func ExampleDocument() {
	type plan struct {
		Title string   `json:"title"`
		Tasks []string `json:"tasks"`
		Done  int      `json:"done"`
	}
	current := state.Document[plan]("plan", state.ScopeRun)

	s := show(current,
		current.Edit(state.At().Set(plan{Title: "Move to another house", Tasks: []string{"boxes", "van"}})),
		current.Edit(state.At("tasks").Insert(1, "keys"), state.At("done").Increment(1)),
		current.Edit(state.At("title").Increment(1)),
	)
	p, err := current.Read(s)
	fmt.Println(p.Tasks, p.Done, err)
	// Output:
	// add /run/plan {"done":0,"tasks":["boxes","van"],"title":"Move to another house"}
	// add /run/plan/tasks/1 "keys"
	// replace /run/plan/done 1
	// committing state: edit 0 of state key "plan": increment at "/title": wrong type: a text is not a number
	// [boxes keys van] 1 <nil>
}

// The patches of commits lead to the state at any of its revisions, without the key.
func ExampleFold() {
	visits := state.Counter("visits", state.ScopeThread)
	registry, err := new(state.Registry).With(visits.Definition())
	if err != nil {
		fmt.Println(err)
		return
	}
	var s state.Snapshot
	var log []state.Patch
	for range 3 {
		next, patch, err := registry.Commit(s, visits.Update(10).Batch)
		if err != nil {
			fmt.Println(err)
			return
		}
		log = append(log, patch)
		s = next
	}

	fold := state.Snapshot{}.Fold()
	for i, patch := range log[:2] {
		if err := fold.Apply(patch, uint64(i+1)); err != nil {
			fmt.Println(err)
			return
		}
	}
	n, err := visits.Read(fold.Snapshot())
	fmt.Println(n, fold.Revision(), err)
	// Output:
	// 20 2 <nil>
}

// Values of a scope leave a thread as one JSON text, and enter another one.
func ExampleRegistry_Import() {
	visits := state.Counter("visits", state.ScopeThread)
	registry, err := new(state.Registry).With(visits.Definition())
	if err != nil {
		fmt.Println(err)
		return
	}
	text := []byte(`{"revision":12,"extensions":{"visits":3,"unknown":true}}`)

	_, err = registry.Import(text, state.ScopeThread)
	fmt.Println(err)
	s, err := registry.ImportKnown(text, state.ScopeThread)
	if err != nil {
		fmt.Println(err)
		return
	}
	exported, err := s.Export(state.ScopeThread)
	fmt.Println(string(exported), err)
	// Output:
	// importing state: unknown state key "unknown" of scope thread
	// {"revision":12,"extensions":{"visits":3}} <nil>
}
