package store

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// UsageHour is the length of an hour of usage in milliseconds.
const UsageHour = 3_600_000

// HourOf is the hour of a time in unix milliseconds: hours since 1970, in UTC.
func HourOf(millis int64) int64 { return millis / UsageHour }

// Usage is the record of what a stretch of a run has used. It lies outside of the
// thread, under tenant and hour, so that erasing the thread leaves it. Its condition is
// that of [KindRewrite]: whoever comes to the end of the stretch after a crash puts it
// again, in the same hour.
type Usage struct {
	Hour   int64 // of the first commit of the stretch, see [HourOf]
	Record       // its name is UsageName's
}

// usagePrefix begins the name of a usage record.
const usagePrefix = "U#"

// UsageName names the record of a run's stretch.
func UsageName(run core.ID, stretch uint64) string {
	const zeros = "000000"
	var room [64]byte
	var number [20]byte
	digits := strconv.AppendUint(number[:0], stretch, 10)
	b := append(run.AppendTo(append(room[:0], usagePrefix...)), '#')
	return string(append(append(b, zeros[min(len(digits), len(zeros)):]...), digits...))
}

const wastedPart = "#wasted#"

// WastedName names the record of what a stretch of the run has asked of models for turns
// that came to nothing, by the version of the head that puts it in force. It lies in the
// thread.
func WastedName(run core.ID, version uint64) string {
	return fmt.Sprintf("C#%s%s%d", run, wastedPart, version)
}

// IsWasted reports whether the record has the name that WastedName makes. It is asked of
// every record that is written, and makes no name for the others.
func (r *Record) IsWasted(run core.ID, version uint64) bool {
	return strings.Contains(r.Name, wastedPart) && r.Name == WastedName(run, version)
}

// IsUsage reports whether a record belongs in [Commit].Usage.
func (r *Record) IsUsage() bool { return strings.HasPrefix(r.Name, usagePrefix) }

// AdmitUsage is [Admit] for a usage record. Stored is what stands under tenant, hour and
// name.
func AdmitUsage(stored *Record, next Usage) (write bool, err error) {
	if !next.IsUsage() || next.Hour <= 0 {
		return false, core.Errorf(core.CodeInvalid, "usage record %q of hour %d: want a name that UsageName makes and an hour after 1970", next.Name, next.Hour)
	}
	return admit(KindRewrite, stored, next.Record)
}

// Usages keeps what runs have used. [Threads.Commit] puts the records, each before the
// head that it goes with, and behind it marks its hour: a mark that stands says that the
// stored total of the hour is not known to be whole. A Commit in the hour itself may
// leave the mark out if its process has set it before.
type Usages interface {
	// UsageRecords reads the records of a tenant's hour in order of name, behind the
	// name after, at most limit, strongly consistent.
	UsageRecords(ctx context.Context, tenant string, hour int64, after string, limit int) ([]Record, error)
	// UsageMarks lists marks of a shard (see [UsageShard]) in order of tenant and hour,
	// behind after (nil: from the first), at most limit, strongly consistent. A tenant
	// that is not empty lists its own alone.
	UsageMarks(ctx context.Context, shard int, tenant string, after *UsageMark, limit int) ([]UsageMark, error)
	// SumUsage stores the total of an hour that its records were summed to, in the place
	// of the one that was read before them, and removes the mark unless it was set again
	// since it was listed. ErrConflict: another total stands there, so that this one may
	// be older; nothing has changed.
	SumUsage(ctx context.Context, mark UsageMark, total UsageTotal) error
	// UsageTotals reads the stored totals of a tenant's hours from..to, both included,
	// in order, at most limit, strongly consistent.
	UsageTotals(ctx context.Context, tenant string, from, to int64, limit int) ([]UsageTotal, error)
}

// UsageMark says that records of an hour were put.
type UsageMark struct {
	Tenant   string
	Hour     int64
	Revision uint64 // another each time that it is set
}

// UsageTotal is what the records of an hour came to.
type UsageTotal struct {
	Hour     int64
	Revision uint64 // of the stored one; given to SumUsage, that of the one to replace; 0: none
	Payload  []byte
	Expires  int64 // unix seconds after which it may vanish; 0: never
}

// CheckSumUsage validates what is asked of SumUsage.
func CheckSumUsage(mark UsageMark, total UsageTotal) error {
	if err := core.CheckName("tenant", mark.Tenant); err != nil {
		return err
	}
	if mark.Hour != total.Hour || mark.Hour <= 0 {
		return core.Errorf(core.CodeInvalid, "total of hour %d for the mark of hour %d", total.Hour, mark.Hour)
	}
	return nil
}

// UsageShard is the part of the marks that a tenant belongs to, one of [Shards].
func UsageShard(tenant string) int {
	const offset, prime = 2166136261, 16777619 // FNV-1a, 32 bits
	h := uint32(offset)
	for i := range len(tenant) {
		h = (h ^ uint32(tenant[i])) * prime
	}
	return int(h % Shards)
}

// CheckUsageMarks validates what is asked of UsageMarks.
func CheckUsageMarks(shard int, tenant string) error {
	if shard < 0 || shard >= Shards {
		return core.Errorf(core.CodeInvalid, "shard %d is not in 0..%d", shard, Shards-1)
	}
	if tenant == "" {
		return nil
	}
	if err := core.CheckName("tenant", tenant); err != nil {
		return err
	}
	if UsageShard(tenant) != shard {
		return core.Errorf(core.CodeInvalid, "shard %d is not that of tenant %s", shard, tenant)
	}
	return nil
}

// Estimator is a backend whose writes cost units, and that can say about how many
// before they are made.
type Estimator interface {
	// EstimateCommit is about what a Commit costs.
	EstimateCommit(c Commit) thread.Spent
}
