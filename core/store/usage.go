package store

import (
	"strings"

	"github.com/reveille-run/reveille/core"
)

// Usage is the record of the usage of a stretch of a run. It lies outside of the thread,
// under tenant and hour, so that erasing the thread leaves it. Its condition is that of
// [KindRewrite]: a worker that ends the stretch after a crash puts it again, in the same
// hour.
type Usage struct {
	Hour   int64 // of the first commit of the stretch: hours since 1970, in UTC
	Record       // its name begins with U#
}

// usagePrefix begins the name of a usage record.
const usagePrefix = "U#"

// IsUsage reports whether a record belongs in [Commit].Usage.
func (r *Record) IsUsage() bool { return strings.HasPrefix(r.Name, usagePrefix) }

// AdmitUsage is [Record.Admit] for a usage record. stored is the record under tenant, hour
// and name.
func (u Usage) AdmitUsage(stored *Record) (write bool, err error) {
	if !u.IsUsage() || u.Hour <= 0 {
		return false, core.Errorf(core.CodeInvalid, "usage record %q of hour %d: want a name of a usage record and an hour after 1970", u.Name, u.Hour)
	}
	return admit(KindRewrite, stored, u.Record)
}

// UsageMark records that records of an hour were put.
type UsageMark struct {
	Tenant   string
	Hour     int64
	Revision uint64 // another each time that it is set
}

// UsageTotal is the total of the records of an hour.
type UsageTotal struct {
	Hour     int64
	Revision uint64 // of the stored one; given to SumUsage, that of the one to replace; 0: none
	Payload  []byte
	Expires  int64 // unix seconds after which it may vanish; 0: never
}

// CheckSum validates the arguments of SumUsage.
func (m UsageMark) CheckSum(total UsageTotal) error {
	if err := core.CheckName("tenant", m.Tenant); err != nil {
		return err
	}
	if m.Hour != total.Hour || m.Hour <= 0 {
		return core.Errorf(core.CodeInvalid, "total of hour %d for the mark of hour %d", total.Hour, m.Hour)
	}
	return nil
}

// Shard returns the part of the marks that the tenant's belong to, one of [Shards].
func (m UsageMark) Shard() int {
	const offset, prime = 2166136261, 16777619 // FNV-1a, 32 bits
	h := uint32(offset)
	for i := range len(m.Tenant) {
		h = (h ^ uint32(m.Tenant[i])) * prime
	}
	return int(h % Shards)
}

// CheckShard validates the arguments of UsageMarks: a shard, and the mark's tenant, which
// may be empty.
func (m UsageMark) CheckShard(shard int) error {
	if shard < 0 || shard >= Shards {
		return core.Errorf(core.CodeInvalid, "shard %d is not in 0..%d", shard, Shards-1)
	}
	if m.Tenant == "" {
		return nil
	}
	if err := core.CheckName("tenant", m.Tenant); err != nil {
		return err
	}
	if m.Shard() != shard {
		return core.Errorf(core.CodeInvalid, "shard %d is not that of tenant %s", shard, m.Tenant)
	}
	return nil
}

// Estimator is a backend whose writes cost units, and that can estimate how many before a
// write.
type Estimator interface {
	// EstimateCommit is about what a Commit costs.
	EstimateCommit(c Commit) core.Spent
}
