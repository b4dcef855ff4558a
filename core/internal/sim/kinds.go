package sim

import (
	"time"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
)

// Kinds is how many kinds of worlds take turns.
const Kinds = 23

var kindNames = [Kinds]string{
	"few faults", "mixed programs", "long rounds", "a batch with a poison run", "no faults", "no faults and calm",
	"local with a poison run", "mixed programs, many faults", "restarts", "late puts", "no reader of schema 3",
	"mixed programs, late puts", "ambiguous responses",
	"hints alone", "hints alone, in batches", "input at the end",
	"decisions, calm", "decisions, few faults", "decisions, mixed programs", "decisions, one trouble each",
	"children", "children, few faults", "children, one trouble each",
}

// KindName is the kind of the n-th world.
func KindName(n int) string { return kindNames[n%Kinds] }

// replayEvery is which of the worlds of a kind are replayed: a replay costs most of
// what a world does.
const replayEvery = 6

// Kind is the n-th world: its seed is n.
func Kind(n int) Config {
	c := Config{Seed: uint64(n), Threads: 3, Runs: 2, Faults: 0.02, Poison: -1}
	turn := n / Kinds
	c.Replayed = turn%replayEvery == 0
	switch n % Kinds {
	case 0:
		c.Faults, c.Processes.Unswept = 0.005, turn%10%3 == 2 // a tenth of all worlds goes unswept
	case 1:
		c.Programs.Mixed = true
	case 2:
		c.Agents.Long = true
	case 3: // seven threads, one process: one poison run among innocents
		c.Processes.Batch, c.Threads, c.Runs, c.Faults, c.Poison, c.People.Calm = true, 7, 1, 0, 1+turn%3, true
	case 4: // nothing goes wrong but what people do
		c.Faults, c.Poison = 0, 0
	case 5: // nothing goes wrong
		c.Faults, c.Poison, c.People.Calm, c.Agents.Long = 0, 0, true, true
	case 6:
		c.Processes.Local, c.Threads, c.Runs, c.Faults, c.Poison, c.People.Calm = true, 7, 1, 0, 1+turn%4, true
		if c.Poison == 4 {
			c.Slow = 40 * time.Second
		}
	case 7:
		c.Programs.Mixed, c.Faults = true, 0.05
	case 8:
		c.Processes.Restarts, c.Faults, c.Poison, c.Slow, c.Agents.Long = true, 0, 0, 8*time.Second, turn%2 == 0
	case 9:
		c.Storage.Late = true
	case 10:
		c.Programs.Mixed, c.Programs.Old, c.Faults, c.Poison = true, true, 0.005*float64(turn%2), 0
	case 11:
		c.Storage.Late, c.Programs.Mixed, c.Faults = true, true, 0.05
	case 12:
		c.Storage.Ambiguous, c.Faults, c.Poison = true, 0, 0
	case 13:
		c.Processes.Unswept = true
	case 14:
		c.Processes.Unswept, c.Processes.Batch, c.Threads, c.Runs = true, true, 5, 1
	case 15:
		c.People.Talkative, c.Faults = true, 0.005
	case 16: // nothing goes wrong but what people decide
		c.People.Asks, c.Faults, c.Poison, c.People.Calm = true, 0, 0, turn%2 == 0
	case 17:
		c.People.Asks, c.Faults, c.People.Forgetful = true, 0.01, turn%3 == 0
	case 18:
		c.People.Asks, c.Programs.Mixed, c.People.Forgetful = true, true, turn%3 == 0
	case 19:
		c.People.Asks, c.Faults, c.Poison = true, 0, 0
		c.trouble(turn)
	case 20:
		c.Agents.Children, c.Faults, c.Poison, c.People.Calm = true, 0, 0, turn%2 == 0
	case 21:
		c.Agents.Children, c.Programs.Mixed = true, turn%2 == 0
	case 22:
		c.Agents.Children, c.Faults, c.Poison = true, 0, 0
		c.trouble(turn)
	}
	switch n % Kinds {
	case 2, 8, 17:
		if turn%4 == 2 {
			c.Processes.Restarts, c.Processes.Killed, c.Faults, c.Poison, c.People.Forgetful = false, true, 1e-9, 0, false
			if turn%8 == 6 { // an inference is longer than a lease: its claim needs second hints of its own
				c.Slow = 50 * time.Second
			}
		}
	}
	c.mix(n, turn)
	c.Processes.Killed = c.Processes.Killed && !c.Processes.Local
	return c
}

// mix adds to some worlds of most kinds features that are not a separate kind.
func (c *Config) mix(n, turn int) {
	c.Programs.Lacks = c.Programs.Mixed && !c.Programs.Old && turn%2 == 0
	c.Accounts.Metered = n%2 == 0
	// Where nothing goes wrong hints and claims are counted, and a client that dies with
	// a claim has no hint that is delivered again.
	c.Processes.Own = turn%4 == 1 && !c.Processes.Unswept && !c.Processes.Killed && n%Kinds != 5
	switch n % Kinds {
	case 0, 1, 2, 9, 12, 15, 17, 21:
		c.Agents.Pooled = turn%3 == 0
	}
	c.Storage.Throttled = n%Kinds == 16 || n%Kinds == 17 && turn%2 == 0
	// Where people interfere, one of them deletes a thread now and then.
	c.People.Deletes = turn%4 == 1 && !c.People.Calm && !c.Processes.Unswept && !c.Programs.Old
	c.Agents.Seats = turn%2 == 1 && !c.Programs.Old
	// Some also wait for people.
	c.People.Asks = c.People.Asks || c.Agents.Children && turn%3 != 0
	switch n % Kinds {
	case 0, 1, 4, 8, 9, 12, 13, 17:
		c.People.Delays = turn%2 == 1
	}
	c.compacts(n%Kinds, turn)
	c.crowds(n%Kinds, turn)
	c.tightens(n%Kinds, turn)
	c.loses(n%Kinds, turn)
	c.copies(n, turn)
	c.takesBack(turn)
	c.agains(n%Kinds, turn)
	c.cuts(n%Kinds, turn)
	c.People.Followed = !c.Processes.Batch && (turn%4 == 2 || turn%8 == 7 || c.Processes.Local)
	c.outages(n%Kinds, turn)
	switch n % Kinds {
	case 0, 7, 9, 12, 17, 19, 21, 22:
		if c.Accounts.Limited = turn%3 == 1 && !c.Processes.Unswept; c.Accounts.Limited {
			c.Replayed = false // a limit is not part of a record
			c.Storage.Overtaken = c.Programs.Mixed
		}
	}
	c.narrows(n%Kinds, turn)
	c.times(n % Kinds)
	c.writes()
}

// tightens gives some worlds a store that takes no large records: most often where calls
// wait, which is rarer than the rest.
func (c *Config) tightens(kind, turn int) {
	switch {
	case c.Agents.Compacts != "", c.Storage.Throttled, kind == 5: // where nothing goes wrong, nothing is too large
	case kind >= 18:
		c.Storage.Tight = turn%4 != 0
	case kind == 17:
		c.Storage.Tight = true
	default:
		c.Storage.Tight = turn%4 == 3
	}
}

// compacts makes threads of some worlds long, and has them summarised.
func (c *Config) compacts(kind, turn int) {
	switch kind {
	case 0, 1, 2, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 17:
		if turn%3 != 2 {
			return
		}
		c.Accounts.Metered, c.Threads, c.Runs = false, min(c.Threads, 2), 5
		if c.Agents.Compacts = compaction.Background; turn%6 == 5 {
			c.Agents.Compacts = agent.CompactInline
		}
	}
}

// trouble is what goes wrong in a world of decisions.
func (c *Config) trouble(turn int) {
	switch turn % 4 {
	case 0:
		c.Processes.Restarts = true
	case 1:
		c.Storage.Late, c.Faults = true, 0.005
	case 2:
		c.Storage.Ambiguous = true
	case 3: // one process, which dies
		c.Processes.Local, c.People.Calm, c.Threads, c.Runs, c.Faults = true, true, 4, 1, 0.01
	}
}
