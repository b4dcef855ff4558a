package accounting

import (
	"context"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// DefaultKeep is how long records and sums are kept: 13 months.
const DefaultKeep = 396 * 24 * time.Hour

// Metering means that the usage of runs is recorded.
type Metering struct {
	// Keep is how long the records are kept.
	Keep time.Duration
	// Memory is that of the function which steps runs, in MB: with it the handler's time
	// is money. 0: the handler's time is not billed.
	Memory int
	// Ended receives each stretch after the write that ended it. nil: nothing is done.
	Ended func(tenant string, record account.Record)
}

// Books are what the runs of a process are accounted in. The zero value accounts nothing,
// and costs no read and no write.
type Books struct {
	Gate     *Gate     // nil: no tenant has limits
	Metering *Metering // nil: usage is not recorded
	Records  thread.Records
	// Store has the records of wasted calls. If it is a [store.Estimator], it estimates the
	// cost of a write of a usage record.
	Store Reader
}

// Reader reads single records of a thread; every store.Backend is one.
type Reader interface {
	// Get returns a record by its name; false: it does not exist.
	Get(ctx context.Context, key core.ThreadKey, name string) (store.Record, bool, error)
}

// Meters reports whether usage is recorded.
func (b *Books) Meters() bool { return b.Metering != nil }

// Claim says whose usage is accounted.
type Claim struct {
	Key core.ThreadKey
	Run core.ID
	// Holder is who has claimed the run. nil: the run is not claimed, so that it is given
	// no slot.
	Holder Holder
}

// Holder is the worker that has a run's claim.
type Holder interface {
	// Head reads the head of the run's thread.
	Head(ctx context.Context) (thread.Head, error)
	// Fence returns that of the claim. It rises when the holder refences.
	Fence() uint64
}

// Run returns the account of a run for one step. Nothing is read.
func (b *Books) Run(c Claim) Run {
	return Run{books: b, claim: c, limited: !b.Gate.Of(c.Key.Tenant).IsZero()}
}
