package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/store"
)

// A history is what clients ask of a few threads at the same time, and the
// answers that they get.
const (
	historyClients    = 4
	historyOperations = 50 // of each client
	historyThreads    = 3
)

// checkTime is how long one history may take to be checked. Most take a
// millisecond, and the search for an order grows without bound where many answers were
// lost: a history that takes this long is undecided.
const checkTime = 30 * time.Second

// undecidedOf: one history may be undecided, and one more for each so many of them.
const undecidedOf = 1000

// errUndecided means that no order of a history was found in time, and none excluded.
var errUndecided = errors.New("undecided")

// Linearizable records n histories of 4 clients with 50 operations each on three
// threads of the backend. It fails unless each history is linearizable: there must be
// an order of its operations, each at one moment between its call and its return, in
// which a plain model of the contract returns the same results. It checks combinations
// that a clause about one race cannot: heads whose refused writers receive the current
// head, records under all three conditions, pointers, logs, and lost responses, whose
// writes may happen then, later or never.
//
// If the backend has transactions, a Commit is one moment. If it has none, each
// pointer and record has its own moment, all before the head's. The contract promises
// no more, and the check requires no more.
//
// A history is undecided if no order is found in 30 s. At most 1 + n/1000 histories may
// be undecided.
//
// It opens the backend once, and uses a separate tenant for each history.
func (Options) Linearizable(t *testing.T, open func(t *testing.T) store.Backend, n int) {
	t.Helper()
	seed := rand.Uint64()
	made, undecided, err := histories(t.Context(), open(t), seed, n, checkTime)
	if err != nil {
		t.Fatalf("history %d of %d: %v", made, n, err)
	}
	t.Logf("%d histories of %d operations are linearizable, and %d are undecided", made-undecided, historyClients*historyOperations, undecided)
}

// histories records and checks histories, some of them side by side, until one is
// not accepted or too many are undecided, each after patience. made is the number of
// the last, or n.
func histories(ctx context.Context, backend store.Backend, seed uint64, n int, patience time.Duration) (made, undecided int, err error) {
	f := &Faulty{Backend: backend, Around: loseResponses}
	group, _ := env.System().Group(ctx)
	var next, failed, open atomic.Int64
	for range min(runtime.GOMAXPROCS(0), n) {
		group.Go(func(ctx context.Context) error {
			for {
				number := next.Add(1)
				if number > int64(n) || ctx.Err() != nil {
					return nil
				}
				err := checkHistory(ctx, f, seed, number, patience)
				if errors.Is(err, errUndecided) && open.Add(1) <= int64(1+n/undecidedOf) {
					continue
				}
				if err != nil {
					failed.CompareAndSwap(0, number)
					return err
				}
			}
		})
	}
	if err := group.Wait(); err != nil {
		return int(failed.Load()), int(open.Load()), err
	}
	return n, int(open.Load()), nil
}

// checkHistory records one history and looks for an order that explains it, on each
// thread for as long as patience: errUndecided if it finds none by then.
func checkHistory(ctx context.Context, b store.Backend, seed uint64, number int64, patience time.Duration) error {
	h := &history{backend: b, tenant: fmt.Sprintf("linear.%x.%d", seed, number)}
	recorded := make([][]porcupine.Operation, historyClients)
	group, _ := env.System().Group(ctx)
	for i := range recorded {
		c := &client{history: h, number: i, random: rand.New(rand.NewPCG(seed, uint64(number)<<8|uint64(i)))}
		group.Go(func(ctx context.Context) error {
			err := c.run(ctx)
			recorded[i] = c.recorded
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	var undecided error
	for i, operations := range contract.Partition(slices.Concat(recorded...)) {
		switch porcupine.CheckOperationsTimeout(contract, operations, patience) {
		case porcupine.Illegal:
			return fmt.Errorf("no order of the operations on t%d explains the answers; those that the longest attempt does not reach are marked:\n%s", i, describeHistory(operations, patience))
		case porcupine.Unknown:
			undecided = fmt.Errorf("%w: no order that explains the operations on t%d was found in %s:\n%s", errUndecided, i, patience, describeHistory(operations, patience))
		}
	}
	return undecided
}

// describeHistory lists the operations on one thread in the order of their calls,
// around the first that porcupine could not place.
func describeHistory(operations []porcupine.Operation, patience time.Duration) string {
	_, info := porcupine.CheckOperationsVerbose(contract, operations, patience)
	placed := map[*operation]bool{}
	for _, order := range slices.Concat(info.PartialLinearizationsOperations()...) {
		if len(order) <= len(placed) {
			continue
		}
		clear(placed)
		for _, o := range order {
			placed[o.Input.(*operation)] = true
		}
	}
	slices.SortFunc(operations, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	first := slices.IndexFunc(operations, func(o porcupine.Operation) bool { return !placed[o.Input.(*operation)] })
	const around = 30
	var text strings.Builder
	for _, o := range operations[max(0, first-around):min(len(operations), first+around)] {
		in := o.Input.(*operation)
		mark, until := " ", fmt.Sprint(o.Return)
		if !placed[in] {
			mark = "!"
		}
		if o.Return == math.MaxInt64 {
			until = "?"
		}
		fmt.Fprintf(&text, "%s %d..%s client %d: %s\n", mark, o.Call, until, o.ClientId, in)
	}
	return text.String()
}
