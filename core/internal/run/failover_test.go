package run_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/finalanswer"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/tool"
)

// vendor is a provider that signs what its model reasons and calls, and refuses a request
// that gives it another's signature as its own, or its own as another's.
type vendor struct {
	name  string
	calls [][]model.Delta // by the calls of this vendor, the last one from then on
	fails map[int]error   // calls that fail behind their deltas, from 1
	log   *[]string       // calls of all vendors: whose, and of how many messages
	n     int
}

func (v *vendor) Stream(_ context.Context, request model.Request) iterator {
	return func(yield func(model.Delta, error) bool) {
		v.n++
		*v.log = append(*v.log, fmt.Sprintf("%s %d", v.name, len(request.Messages)))
		if err := v.check(request); err != nil {
			yield(model.Delta{}, err)
			return
		}
		for _, d := range v.calls[min(v.n, len(v.calls))-1] {
			if d.Type == model.DeltaReasoning && d.Text == "" || d.Type == model.DeltaToolStart {
				d.Echo, _ = json.Marshal("signed by " + v.name)
			}
			if !yield(d, nil) {
				return
			}
		}
		if err := v.fails[v.n]; err != nil {
			yield(model.Delta{}, err)
		}
	}
}

func (v *vendor) check(request model.Request) error {
	own := v.name + "/" + v.name + "-1"
	if request.Origin != own {
		return &model.Error{Kind: model.KindInvalid, Message: "asked as " + request.Origin}
	}
	signed := func(echo json.RawMessage, origin string) error {
		if (origin == own) != (string(echo) == `"signed by `+v.name+`"`) {
			return &model.Error{Kind: model.KindInvalid, Message: fmt.Sprintf("%s is given %s of %q", v.name, echo, origin)}
		}
		return nil
	}
	for _, m := range request.Messages {
		for _, b := range m.Content {
			if b.Echo != nil {
				if err := signed(b.Echo, b.Origin); err != nil {
					return err
				}
			}
		}
		for _, c := range m.ToolCalls {
			if err := signed(c.Echo, c.Origin); err != nil {
				return err
			}
		}
	}
	return nil
}

// market is a world whose agent has a pool of vendors: the first is every thread's home.
type market struct {
	*world
	options
	log  *[]string
	text *strings.Builder // what was logged
}

func newMarket(t *testing.T, change func(*agent.ModelPoolSpec, *agent.Spec), vendors ...*vendor) *market {
	t.Helper()
	m := &market{log: new([]string), text: new(strings.Builder)}
	pool := agent.ModelPoolSpec{ID: "pool", Routing: agent.RouteFirstHealthy}
	s := agent.Spec{ID: "demo", Model: "pool"}
	models := map[string]agent.ModelBinding{}
	for i, v := range vendors {
		v.log = m.log
		models["m-"+v.name] = agent.ModelBinding{Model: v, Name: v.name + "-1", Provider: v.name}
		pool.Members = append(pool.Members, agent.PoolMember{Model: "m-" + v.name})
		if i == 2 {
			pool.Members[i].Role = agent.RoleFailoverOnly
		}
	}
	if change != nil {
		change(&pool, &s)
	}
	agents, err := registry.New(agent.Parts{Models: models, Pools: []agent.ModelPoolSpec{pool}, Tools: []tool.Tool{echoTool(t)}, Specs: []agent.Spec{s}})
	if err != nil {
		t.Fatal(err)
	}
	m.options = options{env: drawing(100 * time.Millisecond), agents: agents, logger: slog.New(slog.NewTextHandler(m.text, nil))}
	m.world = newWorld(t, m.options)
	return m
}

// entries is the committed log.
func (m *market) entries(t *testing.T) []thread.Entry {
	t.Helper()
	entries, err := threadlog.Read(t.Context(), m.store, thread.Records{Schemas: thread.Schemas{Reads: 3}}, key, 1, m.head(t, key).Seq)
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// turns are the turns of the log: who said them, where the thread stands behind them, and
// what was said.
func (m *market) turns(t *testing.T) (lines []string) {
	t.Helper()
	for _, e := range m.entries(t) {
		if e.Member == nil {
			continue
		}
		line := fmt.Sprintf("%s %s %d", e.Member.Pool, e.Member.Model, e.Member.Switches)
		if said := e.Message; said != nil {
			line += fmt.Sprintf(" | %s %s | %s", said.Provider, said.Model, said.Text())
			for _, c := range said.ToolCalls {
				line += "[" + c.Name + " " + c.Origin + "]"
			}
		} else {
			line += " | failed: " + e.Failed.Kind
		}
		lines = append(lines, line)
	}
	return lines
}

// talk sends an input and steps until nothing is due.
func (m *market) talk(t *testing.T, text string, sink history.Sink) string {
	t.Helper()
	receipt := m.submit(t, key, text, mailbox.ModeQueue)
	m.finish(t, key, sink)
	return m.end(t, key, receipt)
}

func busy(kind model.ErrorKind, asked time.Duration) error {
	return &model.Error{Kind: kind, Message: "no", RetryAfter: asked}
}

// thought is a turn with signed reasoning.
func thought(text string) []model.Delta {
	return []model.Delta{think("hm"), {Type: model.DeltaReasoning}, say(text), stopped}
}

// calling is a turn with signed reasoning and a signed call.
func calling(id string) []model.Delta {
	return []model.Delta{think("so"), {Type: model.DeltaReasoning}, begin(0, id, "echo"), argue(0, `{"text":"x"}`), called}
}

const natural = `done %d {"type":"natural_end"} %q`

// What one member has said, and signed, another one goes on from: between two runs, in
// the middle of a tool loop and in the middle of a turn.
func TestARunGoesOnWithAnotherMemberOfItsPool(t *testing.T) {
	refuses := busy(model.KindRateLimited, 0)
	tests := []struct {
		name       string
		east, west vendor
		says       []string // inputs
		ends       []string
		calls      []string
		turns      []string
		switches   []string
		prefixes   []string // why the beginning of a request was another
	}{
		{
			name: "between two runs",
			east: vendor{calls: [][]model.Delta{thought("one"), {}}, fails: map[int]error{2: refuses}},
			west: vendor{calls: [][]model.Delta{thought("two"), thought("three")}},
			says: []string{"a", "b", "c"}, ends: []string{fmt.Sprintf(natural, 1, "one"), fmt.Sprintf(natural, 1, "two"), fmt.Sprintf(natural, 1, "three")},
			calls:    []string{"east 1", "east 3", "west 3", "west 5"},
			turns:    []string{"pool m-east 0 | east east-1 | one", "pool m-west 1 | west west-1 | two", "pool m-west 1 | west west-1 | three"},
			switches: []string{"m-east m-west rate_limited 1"}, prefixes: []string{"model"},
		},
		{
			name: "in the middle of a tool loop",
			east: vendor{calls: [][]model.Delta{calling("a"), {}}, fails: map[int]error{2: refuses}},
			west: vendor{calls: [][]model.Delta{calling("b"), thought("done")}},
			says: []string{"a"}, ends: []string{fmt.Sprintf(natural, 3, "done")},
			calls: []string{"east 1", "east 3", "west 3", "west 5"},
			turns: []string{
				"pool m-east 0 | east east-1 | [echo east/east-1]", "pool m-west 1 | west west-1 | [echo west/west-1]", "pool m-west 1 | west west-1 | done",
			},
			switches: []string{"m-east m-west rate_limited 1"}, prefixes: []string{"model"},
		},
		{
			name: "in the middle of a turn",
			east: vendor{calls: [][]model.Delta{{think("hm"), {Type: model.DeltaReasoning}, say("on"), say("e ")}}, fails: map[int]error{1: busy(model.KindOverloaded, 0)}},
			west: vendor{calls: [][]model.Delta{calling("b"), thought("done")}},
			says: []string{"a"}, ends: []string{fmt.Sprintf(natural, 2, "done")},
			calls:    []string{"east 1", "west 3", "west 3"},
			turns:    []string{"pool m-west 1 | west west-1 | one [echo west/west-1]", "pool m-west 1 | west west-1 | done"},
			switches: []string{"m-east m-west overloaded 1"},
		},
	}
	for _, tt := range tests {
		for _, seen := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, seen %t", tt.name, seen), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					east, west := tt.east, tt.west
					east.name, west.name = "east", "west"
					m := newMarket(t, nil, &east, &west)
					var switches, prefixes, ends []string
					sink := func(e core.Event) error {
						if e.Type == core.EventModelSwitch {
							switches = append(switches, fmt.Sprintf("%s %s %s %d", e.From, e.Model, e.Reason, e.Failed))
						}
						if e.Type == core.EventPrefixChanged {
							prefixes = append(prefixes, e.Reason)
						}
						if e.Type == core.EventInferenceRetry {
							t.Errorf("a retry is announced: %+v", e)
						}
						return nil
					}
					if !seen {
						sink = nil
					}
					for _, text := range tt.says {
						m.stepper = m.other(t, m.options) // each run in a process of its own, which reads who has spoken
						ends = append(ends, m.talk(t, text, sink))
					}
					if diff := cmp.Diff(tt.ends, ends); diff != "" {
						t.Errorf("runs (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(tt.calls, *m.log); diff != "" {
						t.Errorf("calls, with the messages of each (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(tt.turns, m.turns(t)); diff != "" {
						t.Errorf("turns (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(tt.switches, switches); seen && diff != "" {
						t.Errorf("switches (-want +got):\n%s", diff)
					}
					if diff := cmp.Diff(tt.prefixes, prefixes); seen && diff != "" {
						t.Errorf("changes of the prefix (-want +got):\n%s", diff)
					}
					want := `level=WARN msg="run switches to another model of its pool" tenant=t thread=t1`
					if n := strings.Count(m.text.String(), want); n != len(tt.switches) {
						t.Errorf("the log tells of %d switches:\n%s", n, m.text)
					}
				})
			})
		}
	}
}

// always is a vendor whose every call fails.
func always(err error) vendor {
	fails := map[int]error{}
	for i := range 50 {
		fails[i+1] = err
	}
	return vendor{calls: [][]model.Delta{{}}, fails: fails}
}

// atFirst is a vendor whose first call fails.
func atFirst(err error) vendor {
	return vendor{calls: [][]model.Delta{{}, thought("e")}, fails: map[int]error{1: err}}
}

func answers(text string) vendor { return vendor{calls: [][]model.Delta{thought(text)}} }

func TestWhenARunLeavesAMember(t *testing.T) {
	const s = time.Second
	quota, denied := busy(model.KindQuota, 0), busy(model.KindUnauthorized, 0)
	limited, failing := busy(model.KindRateLimited, 0), busy(model.KindProvider, 0)
	gone := func(steps int, reasons string) string {
		return fmt.Sprintf(`done %d {"type":"error","code":"model","detail":"no model of pool \"pool\" is left (%s)"} ""`, steps, reasons)
	}
	const failed = `done 0 {"type":"error","code":"model","detail":"the model failed"} ""`
	tests := []struct {
		name              string
		east, west, spare vendor
		rules             agent.PoolSwitch
		retries           *int
		calls             string
		end               string
		took              time.Duration
	}{
		{name: "it refuses for now", east: always(limited), west: answers("w"), spare: answers("s"), calls: "east west", end: fmt.Sprintf(natural, 1, "w")},
		{name: "its quota is used up", east: always(quota), west: answers("w"), spare: answers("s"), calls: "east west", end: fmt.Sprintf(natural, 1, "w")},
		{name: "those for failover last", east: always(limited), west: always(quota), spare: answers("s"), calls: "east west spare", end: fmt.Sprintf(natural, 1, "s")},
		{name: "no key", east: always(denied), west: answers("w"), spare: answers("s"), calls: "east", end: failed},
		{name: "no key, on_permanent", east: always(denied), west: answers("w"), spare: answers("s"), rules: agent.PoolSwitch{OnPermanent: new(true)},
			calls: "east west", end: fmt.Sprintf(natural, 1, "w")},
		{name: "its own failure is no reason", east: always(failing), west: answers("w"), spare: answers("s"), calls: "east east east", end: failed, took: 200 * time.Millisecond},
		{name: "nor is the request's", east: always(busy(model.KindInvalid, 0)), west: answers("w"), spare: answers("s"), calls: "east", end: failed},
		{name: "quota alone is none either, if so said", east: always(limited), west: answers("w"), spare: answers("s"), rules: agent.PoolSwitch{OnQuota: new(false)},
			calls: "east east east", end: failed, took: 200 * time.Millisecond},
		{name: "a wait under the threshold is waited for", east: vendor{calls: [][]model.Delta{{}, thought("e")}, fails: map[int]error{1: busy(model.KindRateLimited, s)}},
			west: answers("w"), spare: answers("s"), rules: agent.PoolSwitch{QuotaRetryAfterThresholdMS: 1001}, calls: "east east", end: fmt.Sprintf(natural, 1, "e"), took: s},
		{name: "a wait of the threshold is not", east: always(busy(model.KindRateLimited, s)), west: answers("w"), spare: answers("s"),
			rules: agent.PoolSwitch{QuotaRetryAfterThresholdMS: 1000}, calls: "east west", end: fmt.Sprintf(natural, 1, "w")},
		{name: "nor is one that ends a run elsewhere", east: always(busy(model.KindRateLimited, time.Hour)), west: answers("w"), spare: answers("s"),
			calls: "east west", end: fmt.Sprintf(natural, 1, "w")},
		{name: "the step's calls are those of all members", east: always(limited), west: answers("w"), spare: answers("s"), retries: new(0), calls: "east", end: failed},
		{name: "nobody is left", east: always(quota), west: always(denied), spare: always(quota), rules: agent.PoolSwitch{OnPermanent: new(true)}, retries: new(9),
			calls: "east west spare", end: gone(0, "m-east: quota, m-west: unauthorized, m-spare: quota")},
		{name: "those who failed for good are not asked again", east: always(limited), west: always(denied), spare: always(quota), rules: agent.PoolSwitch{OnPermanent: new(true)}, retries: new(4),
			calls: "east west spare east east", end: gone(0, "m-east: rate_limited, m-west: unauthorized, m-spare: quota"), took: 200 * time.Millisecond},
		{name: "the last fails for good, and the first passes", east: atFirst(busy(model.KindOverloaded, 0)), west: always(denied), spare: always(quota), rules: agent.PoolSwitch{OnPermanent: new(true)},
			retries: new(9), calls: "east west spare east", end: fmt.Sprintf(natural, 1, "e"), took: 100 * time.Millisecond},
		{name: "the last asks for too long a wait", east: atFirst(limited), west: always(limited), spare: always(busy(model.KindRateLimited, time.Hour)), retries: new(9),
			calls: "east west spare east", end: fmt.Sprintf(natural, 1, "e"), took: 100 * time.Millisecond},
		{name: "of those that pass the one with the shortest wait", east: always(busy(model.KindRateLimited, 2*s)), west: vendor{calls: [][]model.Delta{{}, thought("w")}, fails: map[int]error{1: busy(model.KindRateLimited, s)}},
			spare: always(quota), retries: new(9), calls: "east west spare west", end: fmt.Sprintf(natural, 1, "w"), took: s},
		{name: "the pool may not go back", east: always(limited), west: always(limited), spare: always(quota), rules: agent.PoolSwitch{MaxSwitches: 2}, retries: new(9),
			calls: "east west spare", end: gone(0, "m-east: rate_limited, m-west: rate_limited, m-spare: quota")},
		{name: "nobody is left for now", east: always(limited), west: always(limited), spare: always(limited), retries: new(3),
			calls: "east west spare spare", end: gone(0, "m-east: rate_limited, m-west: rate_limited, m-spare: rate_limited"), took: 100 * time.Millisecond},
		{name: "nobody was left, and then somebody is", east: always(limited), west: vendor{calls: [][]model.Delta{{}, thought("w")}, fails: map[int]error{1: limited}}, spare: always(limited), retries: new(9),
			calls: "east west spare spare east west", end: fmt.Sprintf(natural, 1, "w"), took: 100 * time.Millisecond},
		{name: "as often as it may", east: always(limited), west: always(limited), spare: answers("s"), rules: agent.PoolSwitch{MaxSwitches: 1},
			calls: "east west west", end: gone(0, "m-east: rate_limited, m-west: rate_limited"), took: 100 * time.Millisecond},
		{name: "a whole turn stands", east: vendor{calls: [][]model.Delta{{begin(0, "a", "echo"), argue(0, `{"text":"x"}`)}, thought("e")}, fails: map[int]error{1: limited}},
			west: answers("w"), spare: answers("s"), calls: "east east 3", end: fmt.Sprintf(natural, 2, "e")},
		{name: "its circuit opens", east: always(failing), west: answers("w"), spare: answers("s"), retries: new(9),
			calls: "east east east east east west", end: fmt.Sprintf(natural, 1, "w"), took: 400 * time.Millisecond},
		{name: "its circuit opens, and that is no reason", east: always(failing), west: answers("w"), spare: answers("s"), rules: agent.PoolSwitch{OnCircuitOpen: new(false)}, retries: new(5),
			calls: "east east east east east east", end: failed, took: 30*s + 400*time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				east, west, spare := tt.east, tt.west, tt.spare
				east.name, west.name, spare.name = "east", "west", "spare"
				m := newMarket(t, func(p *agent.ModelPoolSpec, s *agent.Spec) { p.Switch, s.Retry.MaxRetries = tt.rules, tt.retries }, &east, &west, &spare)
				began := time.Now()
				if end := m.talk(t, "hi", listener); end != tt.end {
					t.Errorf("the run is %s\nwant %s", end, tt.end)
				}
				if calls := strings.ReplaceAll(strings.Join(*m.log, " "), " 1", ""); calls != tt.calls {
					t.Errorf("calls: %s, want %s", calls, tt.calls)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %s, want %s", took, tt.took)
				}
			})
		})
	}
}

// What each member was asked is its own: tokens of a call that failed, too. The turn has
// all of them together, and so has the run.
func TestEachMemberIsMeteredByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		used := func(in, out int) model.Delta {
			return model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: in, Output: out}}
		}
		east := vendor{name: "east", calls: [][]model.Delta{{used(10, 1), say("on")}, {used(11, 2), say("e ")}}, fails: map[int]error{1: busy(model.KindProvider, 0), 2: busy(model.KindRateLimited, 0)}}
		west := vendor{name: "west", calls: [][]model.Delta{{say("two"), used(100, 20), stopped}}}
		m := newMarket(t, nil, &east, &west)
		m.metering = &accounting.Metering{Keep: time.Hour}
		m.stepper = m.other(t, m.options)
		if end, want := m.talk(t, "hi", listener), fmt.Sprintf(natural, 1, "one two"); end != want {
			t.Fatalf("the run is %s, want %s", end, want)
		}
		for _, e := range m.entries(t) {
			if e.Member == nil {
				continue
			}
			want := []core.ModelUse{
				{Provider: "east", Model: "east-1", Usage: core.Usage{Input: 21, Output: 3}, Inferences: 2},
				{Provider: "west", Model: "west-1", Usage: core.Usage{Input: 100, Output: 20}, Inferences: 1},
			}
			if diff := cmp.Diff(want, e.Totals.Metered.Models); diff != "" {
				t.Errorf("metered (-want +got):\n%s", diff)
			}
			if all := (core.Usage{Input: 121, Output: 23}); *e.Message.Usage != all || e.Totals.Usage != all || e.Retried != 2 {
				t.Errorf("the turn has used %+v, the run %+v, %d calls have failed; want %+v and 2", *e.Message.Usage, e.Totals.Usage, e.Retried, all)
			}
		}
	})
}

// A run that a person ends leaves the words of the member that was saying them.
func TestLastWordsAreTheirMembers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		east, west := always(busy(model.KindRateLimited, 0)), vendor{name: "west", calls: [][]model.Delta{{say("so far")}}, fails: map[int]error{1: context.Canceled}}
		east.name = "east"
		m := newMarket(t, nil, &east, &west)
		receipt := m.submit(t, key, "hi", mailbox.ModeQueue)
		m.finish(t, key, func(e core.Event) error {
			if e.Type == core.EventTextDelta {
				if _, err := m.box.Cancel(t.Context(), key, receipt.RunID); err != nil {
					t.Error(err)
				}
			}
			return nil
		})
		if got := strings.Join(m.turns(t), "; "); got != "pool m-west 1 | west west-1 | so far" {
			t.Errorf("turns %s", got)
		}
	})
}

// A step that has hardly any time left leaves the other member to another delivery.
func TestAStepWithoutTimeAsksNobodyElse(t *testing.T) {
	for limit, want := range map[time.Duration]string{10 * time.Second: "east 1, west 1", 10*time.Second - time.Millisecond: "east 1"} {
		synctest.Test(t, func(t *testing.T) {
			east, west := always(busy(model.KindRateLimited, 0)), answers("w")
			east.name, west.name = "east", "west"
			m := newMarket(t, nil, &east, &west)
			m.submit(t, key, "hi", mailbox.ModeQueue)
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			if _, err := m.stepper.Step(ctx, run.Work{Key: key, Head: m.take(t, key)}, listener); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(*m.log, ", "); got != want {
				t.Errorf("within %s the step asks %s, want %s", limit, got, want)
			}
		})
	}
}

// Half a document in a provider's own form is not gone on with: whoever is asked for the
// rest, the same model or another member of the pool, begins the document anew, which is
// the answer. Nothing has to be mended.
func TestAnAnswerOfAFormIsBegunAnew(t *testing.T) {
	for _, tt := range []struct {
		name    string
		failure error
		west    []model.Delta
		calls   []string
	}{
		{"by the same model", busy(model.KindInterrupted, 0), nil, []string{"east 1", "east 1"}},
		{"by another member", busy(model.KindOverloaded, 0), []model.Delta{say(`{"a":`), say(`2}`), stopped}, []string{"east 1", "west 1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				east := vendor{name: "east", calls: [][]model.Delta{{say(`{"a`)}, {say(`{"a":2}`), stopped}}, fails: map[int]error{1: tt.failure}}
				west := vendor{name: "west", calls: [][]model.Delta{tt.west}}
				m := newMarket(t, func(_ *agent.ModelPoolSpec, s *agent.Spec) {
					s.ResponseFormat = &model.ResponseFormat{Name: "x", Schema: []byte(`{"type":"object","required":["a"]}`)}
				}, &east, &west)
				end := m.talk(t, "a", listener)
				if want := fmt.Sprintf(natural, 1, `{"a":2}`); end != want {
					t.Errorf("the run is %s, want %s", end, want)
				}
				if diff := cmp.Diff(tt.calls, *m.log); diff != "" {
					t.Errorf("calls (-want +got):\n%s", diff)
				}
				turn := m.turnOf(t).Message
				if got := finalanswer.Of(turn); len(turn.Content) != 2 || got != `{"a":2}` {
					t.Errorf("the answer is %q of %+v", got, turn.Content)
				}
			})
		})
	}
}
