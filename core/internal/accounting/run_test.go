package accounting_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/calendar"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

var (
	theRun  = core.ID{1}
	theDay  = time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC)
	theBill = core.ThreadKey{Tenant: "acme", Thread: "t"}
)

// desk is a run of a tenant with limits, over a store that counts its calls.
type desk struct {
	t *testing.T
	store.Backend
	asked int   // calls of the store's admissions
	fails error // of each read of the counters; nil: it succeeds
	head  thread.Head
	fence uint64 // of the claim that the run's step has
	books accounting.Books
}

// newDesk limits the tenant acme. A token of the provider p costs a cent.
func newDesk(t *testing.T, l account.Limits) *desk {
	t.Helper()
	d := &desk{t: t, Backend: memory.New(), fence: 7}
	d.head.Claim.Fence, d.head.Run.ID = 7, theRun
	e := env.System()
	e.Now = func() time.Time { return theDay }
	gate, err := accounting.NewGate(accounting.GateOptions{
		Env: e, Store: d, Limits: account.Tenants{Tenants: map[string]account.Limits{"acme": l, "other": {RunsADay: 1}}},
		Cost: func(provider, _ string, u core.Usage, _ time.Time) (core.USD, bool) {
			return core.USD(accounting.Tokens(u)) * core.USD(1e9) / 100, provider == "p"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	d.books = accounting.Books{Gate: gate, Store: d}
	return d
}

func (d *desk) Head(context.Context) (thread.Head, error) { return d.head, nil }

func (d *desk) Fence() uint64 { return d.fence }

func (d *desk) Admission(ctx context.Context, tenant string, day int64) (store.Admission, error) {
	d.asked++
	if d.fails != nil {
		return store.Admission{}, d.fails
	}
	return d.Backend.Admission(ctx, tenant, day)
}

func (d *desk) Admit(ctx context.Context, tenant string, a store.Admitting) (store.Admission, bool, error) {
	d.asked++
	return d.Backend.Admit(ctx, tenant, a)
}

func (d *desk) Charge(ctx context.Context, tenant string, c store.Use) (store.Admission, bool, error) {
	d.asked++
	return d.Backend.Charge(ctx, tenant, c)
}

// Get is that of a store in which each record is asked for by its name.
func (d *desk) Get(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error) {
	return d.Backend.Get(ctx, key, name)
}

func (d *desk) run() accounting.Run {
	return d.books.Run(accounting.Claim{Key: theBill, Run: theRun, Holder: d})
}

// begin is a run whose step has begun.
func (d *desk) begin(totals thread.Totals) accounting.Run {
	d.t.Helper()
	r := d.run()
	if err := r.Begin(d.t.Context(), totals, nil); err != nil {
		d.t.Fatal(err)
	}
	return r
}

// want compares the counters of the tenant: tokens of the day, its money in cents, and what
// the run's slot knows of both.
func (d *desk) want(when, want string) {
	d.t.Helper()
	a, err := d.Backend.Admission(d.t.Context(), "acme", calendar.Day(theDay.UnixMilli()))
	if err != nil {
		d.t.Fatal(err)
	}
	got := fmt.Sprintf("%d tokens %d cents", a.Tokens, a.Spend/(core.USD(1e9)/100))
	if slot, ok := a.Slots[theRun]; ok {
		got += fmt.Sprintf(", slot %d tokens %d cents", slot.Tokens, slot.Spend/(core.USD(1e9)/100))
	}
	if got != want {
		d.t.Errorf("%s: %s, want %s", when, got, want)
	}
}

// spent is a turn of one call.
func spent(tokens int) *accounting.Spent {
	s := new(accounting.Spent)
	s.Name("p", "gpt-x")
	s.Call()
	s.Count(core.Usage{Input: tokens})
	return s
}

var money = account.Limits{SpendADay: 10 * core.USD(1e9)}

func TestATurnIsChargedToTheSlotAndItsRestIsTakenOff(t *testing.T) {
	d := newDesk(t, money)
	r := d.begin(thread.Totals{})
	d.want("begun", "0 tokens 0 cents, slot 0 tokens 0 cents")
	r.StartTurn(3)
	logged, err := r.Turn(t.Context(), thread.Totals{Steps: 1}, spent(20))
	if err != nil || logged.Usage.Input != 20 || logged.Spend != core.USD(1e9)/5 || logged.Steps != 1 || logged.Metered != nil {
		t.Fatalf("the turn's totals are %+v, %v", logged, err)
	}
	d.want("a turn", "20 tokens 20 cents, slot 20 tokens 20 cents")
	r.StartTurn(4)
	if _, err := r.Turn(t.Context(), logged, spent(5)); err != nil { // its commit is lost
		t.Fatal(err)
	}
	d.want("a turn that is lost", "25 tokens 25 cents, slot 25 tokens 25 cents")
	if err := r.Release(t.Context(), &logged); err != nil {
		t.Fatal(err)
	}
	d.want("released", "20 tokens 20 cents")
	if err := r.Release(t.Context(), &logged); err != nil {
		t.Fatal(err)
	}
	d.want("released twice", "20 tokens 20 cents")
}

func TestWhatCannotBeReadStaysCharged(t *testing.T) {
	d := newDesk(t, money)
	r := d.begin(thread.Totals{})
	if _, err := r.Turn(t.Context(), thread.Totals{}, spent(20)); err != nil {
		t.Fatal(err)
	}
	if err := r.Release(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	d.want("released", "20 tokens 20 cents")
}

func TestAReleaseOfAClaimThatHasNotSteppedLooks(t *testing.T) {
	d := newDesk(t, money)
	before := d.begin(thread.Totals{})
	if _, err := before.Turn(t.Context(), thread.Totals{}, spent(20)); err != nil {
		t.Fatal(err)
	}
	r := d.run()
	if err := r.Release(t.Context(), &thread.Totals{}); err != nil {
		t.Fatal(err)
	}
	d.want("released", "0 tokens 0 cents")
}

func TestATurnOfNoLogIsChargedOnceToTheDay(t *testing.T) {
	tests := []struct {
		name   string
		turn   bool // it is charged to the slot before its commit fails
		logEnd uint64
		head   uint64 // where the log ends by the head as it is read
		want   string
	}{
		{"it has no commit", false, 3, 9, "20 tokens 20 cents, slot 0 tokens 0 cents"},
		{"the log has it", false, 4, 9, "0 tokens 0 cents, slot 0 tokens 0 cents"},
		{"its commit was refused", true, 3, 3, "40 tokens 40 cents, slot 20 tokens 20 cents"},
		{"its commit had no answer, and the log has it", true, 3, 4, "20 tokens 20 cents, slot 20 tokens 20 cents"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t, money)
			r := d.begin(thread.Totals{})
			r.StartTurn(3)
			s := spent(20)
			if tt.turn {
				if _, err := r.Turn(t.Context(), thread.Totals{}, s); err != nil {
					t.Fatal(err)
				}
			}
			if r.Charged() != tt.turn {
				t.Errorf("the turn is charged to the slot: %v", r.Charged())
			}
			d.head.Seq = tt.head
			for range 2 {
				if err := r.Void(t.Context(), s, tt.logEnd); err != nil {
					t.Fatal(err)
				}
			}
			d.want("void", tt.want)
		})
	}
}

func TestVoidOfNoTurnAsksNothing(t *testing.T) {
	d := newDesk(t, money)
	r := d.begin(thread.Totals{})
	asked := d.asked
	r.StartTurn(0)
	for _, s := range []*accounting.Spent{nil, {}} {
		if err := r.Void(t.Context(), s, 0); err != nil || d.asked != asked {
			t.Errorf("%d calls of the store, %v", d.asked-asked, err)
		}
	}
}

func TestAStepUnderTheSameFenceNeedNotLook(t *testing.T) {
	d := newDesk(t, money)
	r := d.begin(thread.Totals{})
	for _, tt := range []struct {
		name  string
		fence uint64
		want  int // calls of the store
	}{{"the same", 7, 0}, {"another", 8, 1}} {
		d.fence = 7
		last := r.Standing()
		next := d.run()
		asked := d.asked
		d.fence = tt.fence
		if err := next.Begin(t.Context(), thread.Totals{}, last); err != nil || d.asked-asked != tt.want {
			t.Errorf("under %s fence it calls the store %d times, %v; want %d", tt.name, d.asked-asked, err, tt.want)
		}
	}
	if _, err := r.Turn(t.Context(), thread.Totals{}, spent(1)); err != nil || r.Standing() == nil {
		t.Errorf("nothing is known after a turn, %v", err)
	}
	if err := r.Release(t.Context(), &thread.Totals{}); err != nil || r.Standing() != nil {
		t.Errorf("something is known after the release, %v", err)
	}
}

func TestASlotThatIsBehindTheLogIsTakenAgain(t *testing.T) {
	d := newDesk(t, money)
	if r := d.begin(thread.Totals{}); r.Over() != nil {
		t.Fatal(r.Over())
	}
	totals := thread.Totals{Usage: core.Usage{Input: 20}, Spend: core.USD(1e9) / 5}
	r := d.begin(totals)
	d.want("begun", "0 tokens 0 cents, slot 20 tokens 20 cents")
	if err := r.Release(t.Context(), &totals); err != nil {
		t.Fatal(err)
	}
	d.want("released", "0 tokens 0 cents")
}

func TestALostClaimIsGivenNoSlot(t *testing.T) {
	d := newDesk(t, money)
	d.head.Claim.Fence = 8
	r := d.run()
	if err := r.Begin(t.Context(), thread.Totals{}, nil); !errors.Is(err, thread.ErrFenced) {
		t.Errorf("it begins with %v", err)
	}
	d.want("begun", "0 tokens 0 cents")
}

func TestATurnTakesASlotThatWasReleased(t *testing.T) {
	d := newDesk(t, money)
	r := d.begin(thread.Totals{})
	slot := d.slot()
	totals := thread.Totals{Usage: core.Usage{Input: 3}}
	if err := d.books.Gate.Release(t.Context(), "acme", theRun, slot, 0, 0); err != nil { // the sweep
		t.Fatal(err)
	}
	if _, err := r.Turn(t.Context(), totals, spent(20)); err != nil {
		t.Fatal(err)
	}
	d.want("a turn", "20 tokens 20 cents, slot 23 tokens 20 cents")
}

func (d *desk) slot() store.Slot {
	d.t.Helper()
	a, err := d.Backend.Admission(d.t.Context(), "acme", calendar.Day(theDay.UnixMilli()))
	if err != nil {
		d.t.Fatal(err)
	}
	return a.Slots[theRun]
}

func TestOverALimitIsKnownBeforeTheNextCall(t *testing.T) {
	d := newDesk(t, account.Limits{TokensADay: 20})
	r := d.begin(thread.Totals{})
	if r.Over() != nil {
		t.Fatal(r.Over())
	}
	totals, err := r.Turn(t.Context(), thread.Totals{}, spent(20))
	if err != nil || totals.Spend != 0 { // money is not limited: no cost
		t.Fatalf("%+v, %v", totals, err)
	}
	if reached, ok := errors.AsType[*account.ReachedError](r.Over()); !ok || reached.Limit != account.TokensADay {
		t.Errorf("after the turn %v is reached", r.Over())
	}
	next := d.begin(totals)
	if next.Over() == nil {
		t.Error("another claim does not know of it")
	}
}

func TestModelsWithoutAPriceAreRefusedWhereMoneyIsLimited(t *testing.T) {
	tests := []struct {
		limits   account.Limits
		provider string
		want     string
	}{
		{money, "p", ""},
		{money, "q", `model "gpt-y" has no known price, and the tenant's money is limited`},
		{account.Limits{TokensADay: 20}, "q", ""},
		{account.Limits{}, "q", ""},
	}
	for _, tt := range tests {
		r := newDesk(t, tt.limits).run()
		got := ""
		if err := r.Allows(tt.provider, "gpt-y"); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("of provider %s with %+v: %q, want %q", tt.provider, tt.limits, got, tt.want)
		}
	}
}

// A gate asks a store that does not respond five times, and one that refuses once.
func TestAStoreThatFailsIsAskedAgain(t *testing.T) {
	for code, want := range map[core.Code]int{core.CodeThrottled: 5, core.CodeUnavailable: 5, core.CodeInvalid: 1, core.CodeCorrupt: 1} {
		synctest.Test(t, func(t *testing.T) {
			d := newDesk(t, money)
			d.fails = core.Errorf(code, "it fails")
			r := d.run()
			if err := r.Look(t.Context()); !errors.Is(err, d.fails) || d.asked != want {
				t.Errorf("code %s: the store is asked %d times, %v; want %d", code, d.asked, err, want)
			}
		})
	}
}

func TestATenantWithoutLimitsCostsNothing(t *testing.T) {
	d := newDesk(t, account.Limits{})
	r := d.begin(thread.Totals{})
	r.StartTurn(3)
	totals, err := r.Turn(t.Context(), thread.Totals{}, spent(20))
	if err != nil || totals.Usage.Input != 20 || totals.Spend != 0 {
		t.Errorf("the turn's totals are %+v, %v", totals, err)
	}
	if err := errors.Join(r.Void(t.Context(), spent(20), 3), r.Release(t.Context(), &totals), r.Look(t.Context())); err != nil {
		t.Error(err)
	}
	if r.Limited() || r.Over() != nil || r.Standing() != nil || d.asked > 0 {
		t.Errorf("limited %v, over %v, %d calls of the store", r.Limited(), r.Over(), d.asked)
	}
}
