package sim

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
	"github.com/reveille-run/reveille/core/tool"
)

// Config is a world before it begins. The zero Config is a world without
// faults and without anything to do.
type Config struct {
	Seed     uint64
	Tenants  int // 0: one; else the world is a day of theirs, and Threads and Runs are not looked at
	Threads  int
	Runs     int           // submitted to each thread
	Faults   float64       // of an operation, until the faults stop
	Slow     time.Duration // of an inference, at least
	Poison   int           // kind of the first thread's first run; -1: some runs, by their input
	Replayed bool          // when all is over every run is repeated from its record

	Programs  Programs
	Processes Processes
	Storage   Storage
	People    People
	Agents    Agents
	Accounts  Accounts

	// Trace receives what happens; nil: nothing does.
	Trace func(format string, args ...any)
}

// Programs are the programs that share the threads.
type Programs struct {
	Mixed bool // 1/1, 2/1, 3/1 and 3/3; 3/1 and 3/3 after the faults
	Old   bool // with Mixed: no program reads schema 3 until the faults stop, clients write it
	Lacks bool // with Mixed: programs 1/1 have not all tools
}

// Processes configures how work reaches processes, and their faults.
type Processes struct {
	Batch    bool // hints are taken ten at a time
	Local    bool // one process does everything; a crash starts the next one
	Crowded  bool // with Local: the first run loses claims and has a long round then, next to many others
	Restarts bool // most hosts have to stop while they work
	Killed   bool // many hosts die while they work, and next to nothing else goes wrong
	Own      bool // each has its own queue too: clients that wait for a run take its steps there
	Unswept  bool // there is no sweep, but for what sweepFor names: what is lost is what a delivery or a client repeats
}

// Storage configures the store other than its faults.
type Storage struct {
	Late      bool // many puts come late
	Ambiguous bool // many responses to head writes are lost
	Overtaken bool // what a client writes is often on its way until it has repeated it
	Hidden    bool // with Ambiguous: others write before the process looks, people withdraw their input
	Tardy     bool // many responses to claims arrive after their leases
	Cuts      bool // it refuses for a while what makes the ends of runs final
	Tight     bool // it accepts no large records, and much is large
	Throttled bool // with Asks: most puts of tools' parts are throttled, none of them as often as it is tried
}

// People configures the clients other than their input.
type People struct {
	Calm      bool // they do not steer, cancel, interrupt or edit, and no host has to stop
	Own       bool // with Local: they end runs while the process works on them
	Again     bool // they retry runs that ended with an error
	Talkative bool // they speak when a run is about to end, and processes die when that has started
	Asks      bool // calls wait for people, who decide
	Forgetful bool // with Asks: some tickets are never decided
	Deletes   bool // one deletes the first thread
	Delays    bool // runs are submitted for later, and people come between
	Followed  bool // they follow every run, marks go wrong; with Local: in the one process
	Forks     bool // they make threads of others
	Retracts  bool // they withdraw their input
}

// Agents configures the agents.
type Agents struct {
	Long     bool             // some rounds have many slow calls
	Children bool             // some calls wait for runs of other threads, and what happens to runs is published
	Compacts agent.Compaction // how they compact; "": not at all
	Pooled   bool             // they have pools of models, some of which often refuse
	Outage   time.Duration    // their provider is away for so long, and they wait for it
	Refuses  refusing         // their models refuse long requests
	Timers   bool             // some calls wait for a time
	Letters  bool             // with Children: some calls send messages to other threads, and start children in the background
	Seats    bool             // some tools change what one call of a step can change: the others have an error
}

// Accounts configures limits and metering.
type Accounts struct {
	Metered bool // what runs use is recorded and summed
	Limited bool // the tenant has limits
}

// World is one simulated world. It must be used by one goroutine at a time.
type World struct {
	config Config
	Stats  Stats

	now, stop  time.Duration // stop: when the faults do
	count      uint64        // of events, orders those of one instant
	ids        uint64
	events     events
	random     random
	task       *task
	tasks      []*task
	standing   int // of them, when they were looked through last
	over       bool
	violation  string
	trace      uint64
	threads    []*threadState
	storage    storage
	provider   provider
	stretches  []*stretch
	checks     thread.Records // reads every written record
	queue      queue
	local      *host
	agents     *registry.Registry
	older      *registry.Registry // with Lacks: of programs 1/1
	idle       map[role][]*host
	hosts      map[string]*host // by the worker's name in a claim
	summaries  int              // hints that ask for a summary, and claim nothing
	working    int              // hints that the local host works on
	family     children
	admissions admissions
	forks      forks
	timers     timers
	received   received

	people   people
	scripted scripted
	auditor  auditor
}

// storage is what the world's processes have stored.
type storage struct {
	partitions []*partition
	shards     [store.Shards][]*partition
	byKey      map[core.ThreadKey]*partition
	pointers   map[string][]byte
	usage      usageStore              // nothing else is in it
	profiles   store.Backend           // nothing else is in it
	tallies    map[string]*store.Tally // by tenant
	configs    map[string][]byte       // by hash
	throttled  map[string]int          // how often the put of a part was
}

func newStorage() storage {
	return storage{
		byKey: map[core.ThreadKey]*partition{}, pointers: map[string][]byte{}, usage: memory.New().(usageStore), profiles: memory.New(),
		tallies: map[string]*store.Tally{}, configs: map[string][]byte{}, throttled: map[string]int{},
	}
}

// people are the clients of a world: they submit, steer, decide, cancel, fork, withdraw and
// read, each when the seed says.
type people struct {
	w       *World
	byInput map[string]*threadState // by the id of a message
	asked   map[core.ID]bool        // runs that a mark was left for
	clients int                     // requests under way
	again   int                     // requests that were made again
	planned int                     // decisions that people are about to take
}

func newPeople(w *World) people {
	return people{w: w, byInput: map[string]*threadState{}, asked: map[core.ID]bool{}}
}

// scripted is what the agents of a world do: their models, tools, plugins and pools, and
// how they fail.
type scripted struct{ w *World }

// auditor compares stored and counted values with the rules: at every write of a head or
// a record, at every sweep, and when all is over.
type auditor struct {
	w     *World
	began time.Duration // when the local host began
}

// Times of a world.
const (
	submitWithin  = 250 * time.Second
	faultsLast    = 400 * time.Second
	oldFaultsLast = 2000 * time.Second
	sweepEvery    = time.Minute
	patience      = 3 * time.Hour // for everything to be settled after the faults: without a sweep each lost claim costs minutes
	tenant        = "t"
	tooBusy       = 1_000_000 // operations of one world, and for each tenant of a day a hundredth
)

// New makes a world: its threads, its clients, its sweeper.
func New(c Config) *World {
	w := &World{
		config: c, random: random{mix(c.Seed)}, stop: faultsLast, storage: newStorage(), provider: newProvider(), received: received{},
		checks: thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}, Extra: extra},
		idle:   map[role][]*host{}, hosts: map[string]*host{},
		family: children{byCall: map[string]*child{}, byRun: map[core.ID]*child{}, byThread: map[*threadState]*child{}, announced: map[string]int{}, ends: map[core.ID]int{}, missed: map[string]int{}, said: map[string]int{}},
	}
	w.queue.w = w
	w.people, w.scripted, w.auditor = newPeople(w), scripted{w}, auditor{w: w}
	w.admissions = admissions{limits: w.scripted.limitsFor(), over: map[tenantDay]*overrun{}, crossed: map[string]bool{}, twice: map[tenantDay]*spending{}, stays: map[string]spending{}, runs: map[core.ID]*admitted{}, charged: map[store.Use]bool{}, taken: map[taking]int{}, by: map[core.ID]charger{}, last: map[core.ID]time.Duration{}, turns: map[store.Use]bool{}}
	w.forks.random = random{mix(c.Seed ^ 0xf0)}
	w.timers, w.family.post = newTimers(c), newPost()
	agents, err := registry.New(w.scripted.parts())
	if err != nil {
		w.violate("resolve the agents: %v", err)
	}
	w.agents = agents
	if c.Programs.Lacks {
		parts := w.scripted.parts()
		parts.Tools = slices.DeleteFunc(parts.Tools, func(t tool.Tool) bool { return slices.Contains(newTools, t.Spec().Name) })
		if w.older, err = registry.New(parts); err != nil {
			w.violate("resolve the agents without the new tools: %v", err)
		}
	}
	if c.Programs.Old {
		w.stop = oldFaultsLast
	}
	if c.Tenants > 0 {
		w.people.openDay()
	} else {
		w.openThreads()
	}
	if c.Processes.Unswept {
		w.Stats.With.Unswept = 1
	}
	if c.People.Deletes {
		w.at(w.deleted(), func() { w.people.deleteThread(w.threads[0]) })
	}
	if c.People.Forks {
		w.people.planForks()
	}
	if c.People.Retracts {
		w.people.planRetractions()
	}
	if c.Processes.Local {
		w.restart()
	}
	w.push(sweepEvery, w.sweep, true)
	if !w.innocent() && !w.config.Processes.Unswept {
		w.at(w.stop+5*time.Second, w.people.askAgain)
	}
	return w
}

// openThreads makes the threads of the one tenant, and the clients who come.
func (w *World) openThreads() {
	for range w.config.Threads {
		w.addThread(tenant, "u")
	}
	w.Stats.Threads, w.Stats.Runs = w.config.Threads, w.config.Threads*w.config.Runs
	for _, th := range w.threads {
		for k := range w.config.Runs {
			within := submitWithin
			if w.config.Processes.Batch || w.config.Processes.Local {
				within = 150 * time.Millisecond
			}
			if w.config.Processes.Crowded && th.i > 0 {
				within = crowdedWithin
			}
			w.at(w.random.between(0, within), func() { w.people.newcomer(th, k) })
		}
		if w.config.People.Delays {
			w.people.delays(th)
		}
	}
}

func (w *World) partition(key core.ThreadKey) *partition {
	p := w.storage.byKey[key]
	if p == nil {
		w.violate("an operation on thread %s, which no client named", key)
		p = &partition{key: key, records: map[string]store.Record{}}
	}
	return p
}

// Run runs the world until nothing moves any more after the faults have stopped. It returns
// the first violation, or "".
func (w *World) Run() string {
	for len(w.events) > 0 && w.violation == "" && w.now < w.stop+patience+w.settles()+w.posts() {
		e := w.events.pop()
		w.now = e.at
		if w.Stats.Operations++; w.Stats.Operations > tooBusy+w.config.Tenants*tooBusy/100 {
			w.violate("no end after %d operations", w.Stats.Operations)
		}
		e.run()
		if w.now > w.stop+w.settles() && e.sweep && w.auditor.moving() == "" && !w.auditor.occupied() {
			break
		}
	}
	if w.violation == "" {
		w.auditor.final()
	}
	if w.violation == "" {
		w.auditor.checkRequests()
	}
	if w.violation == "" && (w.config.Replayed || w.auditor.replaysForks()) {
		w.auditor.replay()
	}
	w.over = true
	w.unwind()
	w.Stats.countWorld()
	return w.violation
}

// Now is the simulated time since the world began.
func (w *World) Now() time.Duration { return w.now }

// Hash is of everything that has happened, in its order: the operations that reached out
// of a process, the bytes that they stored, the requests to models and the events of
// clients. Equal seeds have equal hashes, and so do two equivalent builds of the runtime:
// scripts/verify/simsame compares them.
func (w *World) Hash() uint64 { return w.trace }

// at runs f after d.
func (w *World) at(d time.Duration, f func()) { w.push(d, f, false) }

func (w *World) push(d time.Duration, f func(), sweep bool) {
	w.count++
	w.events.push(event{at: w.now + max(d, 0), tie: w.random.next(), n: w.count, run: f, sweep: sweep})
}

// violate notes what must not happen; the first one counts.
func (w *World) violate(format string, args ...any) {
	if w.violation == "" && !w.over {
		w.violation = fmt.Sprintf("at %s: ", w.now) + fmt.Sprintf(format, args...)
	}
}

func (w *World) fail(p *partition, format string, args ...any) {
	w.violate("thread "+p.key.Thread+": "+format, args...)
}

func (w *World) failPanic(e any) {
	w.violate("panic: %v\n%s", e, debug.Stack())
}

// note takes an operation into the hash.
func (w *World) note(h *host, r request) {
	w.fold(uint64(r.site)<<56 ^ uint64(w.now))
	w.foldBytes([]byte(r.name))
	if w.config.Trace != nil {
		w.config.Trace("%s: %s %s", h.name, r.site, r.name)
	}
}

func (w *World) fold(x uint64) { w.trace = mix(w.trace ^ x) }

// foldBytes takes bytes and their number into the hash.
func (w *World) foldBytes(b []byte) {
	w.fold(uint64(len(b)))
	for ; len(b) >= 8; b = b[8:] {
		w.fold(binary.LittleEndian.Uint64(b))
	}
	for _, c := range b {
		w.fold(uint64(c))
	}
}

// foldValue takes what JSON says of a value into the hash.
func (w *World) foldValue(v any) {
	encoded, err := json.Marshal(v)
	if err != nil {
		w.violate("%T has no JSON: %v", v, err)
	}
	w.foldBytes(encoded)
}

// foldRecord takes a record into the hash that a process wants to be stored.
func (w *World) foldRecord(r *store.Record) {
	w.foldBytes([]byte(r.Name))
	w.fold(r.Fence)
	w.fold(r.Version)
	w.fold(uint64(r.Expires))
	w.foldBytes(r.Payload)
}

// id makes a name that is unique in the world.
func (w *World) id() uint64 { w.ids++; return w.ids }

// millis is the true time as heads have it.
func (w *World) millis() int64 { return epoch.Add(w.now).UnixMilli() }
