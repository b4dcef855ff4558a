package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// eventualClauses are for a backend that is a store.EventualLog. Nothing is required of how
// old a record may be, but all else is as of LogBackwards.
var eventualClauses = []clause{
	{"EventualLogIsTheLogInTheEnd", eventualLogIsTheLogInTheEnd},
	{"EventualLogHasOnlyWhatWasPut", eventualLogHasOnlyWhatWasPut},
	{"EventualLogMayBeLeftAndWrittenTo", eventualLogMayBeLeftAndWrittenTo},
	{"EventualLogRefusesWhatTheLogRefuses", eventualLogRefusesWhatTheLogRefuses},
	{"ACancelledEventualLogIsNeverShort", aCancelledEventualLogIsNeverShort},
}

// eventual skips the clause for other backends.
func eventual(p *probe) store.EventualLog {
	log, ok := p.b.(store.EventualLog)
	if !ok {
		p.t.Skip("the backend is not a store.EventualLog")
	}
	return log
}

func eventualLogIsTheLogInTheEnd(p *probe) {
	log, key := eventual(p), p.key("t")
	p.set(key, head(1, 1))
	for _, seq := range []uint64{10, 3, 0, 1, 6, 2, 5, 100} {
		p.put(key, logRecord(seq, 1))
	}
	p.put(key, logRecord(6, 2))
	p.put(key, store.Record{Name: "C#1#1#0#s", Payload: []byte("a")}) // names on both sides of the log's
	p.put(key, store.Record{Name: "Q#1#0", Payload: []byte("a")})
	p.put(p.key("t2"), logRecord(4, 1))
	for _, bounds := range [][2]uint64{{1, 3}, {2, 2}, {3, 5}, {4, 4}, {6, 10}, {101, 200}, {6, 5}, {0, 0}, {0, 999_999_999_999}, {5, 1<<64 - 1}} {
		from, to := bounds[0], bounds[1]
		want := collect(p.t, p.b.LogBackwards(p.ctx, key, from, to))
		p.eventually(func() error {
			if diff := diffRecords(want, collect(p.t, log.LogBackwardsEventually(p.ctx, key, from, to))); diff != "" {
				return fmt.Errorf("LogBackwardsEventually(%d, %d) has other records than LogBackwards (-LogBackwards +LogBackwardsEventually):\n%s", from, to, diff)
			}
			return nil
		})
	}
}

// eventualLogHasOnlyWhatWasPut reads while records are overwritten: each is one of its
// versions, as a whole, and they are in order within the bounds.
func eventualLogHasOnlyWhatWasPut(p *probe) {
	log, key := eventual(p), p.key("t")
	const from, to = 2, 4
	put := map[string]bool{}
	for fence := uint64(1); fence <= 2; fence++ {
		for seq := uint64(1); seq <= 5; seq++ {
			r := logRecord(seq, fence)
			p.put(key, r)
			put[describe(r)] = true
			before := store.LogName(to + 1)
			for record, err := range log.LogBackwardsEventually(p.ctx, key, from, to) {
				if err != nil {
					p.t.Fatal(err)
				}
				if record.Name >= before || record.Name < store.LogName(from) {
					p.t.Fatalf("LogBackwardsEventually(%d, %d) returns %s before %s", from, to, before, record.Name)
				}
				if !put[describe(record)] {
					p.t.Fatalf("LogBackwardsEventually returns %s, which was never put", describe(record))
				}
				before = record.Name
			}
		}
	}
}

func eventualLogMayBeLeftAndWrittenTo(p *probe) {
	log, key := eventual(p), p.key("t")
	for seq := uint64(1); seq <= 3; seq++ {
		p.put(key, logRecord(seq, 1))
	}
	p.eventually(func() error {
		if n := len(collect(p.t, log.LogBackwardsEventually(p.ctx, key, 1, 3))); n != 3 {
			return fmt.Errorf("LogBackwardsEventually returns %d records, want 3", n)
		}
		return nil
	})
	for range log.LogBackwardsEventually(p.ctx, key, 1, 3) {
		p.put(p.key("t2"), logRecord(1, 1))
		p.set(key, head(1, 1))
		break
	}
}

func eventualLogRefusesWhatTheLogRefuses(p *probe) {
	log := eventual(p)
	for _, key := range []core.ThreadKey{{}, {Tenant: p.tenant}, {Tenant: p.tenant, Thread: "t#M"}, {Tenant: p.tenant + "#t", Thread: "t"}} {
		p.wantInvalid("LogBackwardsEventually", key, firstError(log.LogBackwardsEventually(p.ctx, key, 1, 1)))
	}
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	if err := firstError(log.LogBackwardsEventually(ctx, p.key("t"), 1, 1)); !errors.Is(err, context.Canceled) {
		p.t.Errorf("LogBackwardsEventually with a cancelled context returns the error %v, want one that wraps context.Canceled", err)
	}
}

// aCancelledEventualLogIsNeverShort: a log that ends early without an error would be read
// again strongly, at its full price, by a caller that is gone.
func aCancelledEventualLogIsNeverShort(p *probe) {
	log := eventual(p)
	key, _ := p.longLog()
	p.eventually(func() error {
		if n := len(collect(p.t, log.LogBackwardsEventually(p.ctx, key, 0, longLog))); n != longLog {
			return fmt.Errorf("LogBackwardsEventually returns %d records, want %d", n, longLog)
		}
		return nil
	})
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	seen := 0
	var last error
	for _, err := range log.LogBackwardsEventually(ctx, key, 0, longLog) {
		if last = err; err != nil {
			break
		}
		if seen++; seen == 3 {
			cancel()
		}
	}
	if seen != longLog && !errors.Is(last, context.Canceled) {
		p.t.Errorf("LogBackwardsEventually whose context ends after the third of %d records ends after %d with the error %v, want one that wraps context.Canceled", longLog, seen, last)
	}
}
