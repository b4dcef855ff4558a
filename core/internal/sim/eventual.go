package sim

import (
	"context"
	"hash/fnv"
	"iter"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

var _ store.EventualLog = backend{}

// replicated is how long an eventually consistent read may have what was there before a put.
const replicated = time.Minute

// LogBackwardsEventually implements [store.EventualLog]: one record in four that was put a
// short while ago is what was there before, or is missing.
func (b backend) LogBackwardsEventually(ctx context.Context, key core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	w := b.host.world
	return b.backwards(ctx, key, from, to, func(p *partition, records []store.Record) {
		w.Stats.Steps.Eventual++
		for i, r := range records {
			seq, ok := r.LogSeq()
			// Not drawn from the world's numbers: a record would change all that follows.
			hash := fnv.New32a()
			_, _ = hash.Write([]byte(r.Name + w.now.String()))
			if !ok || w.now-p.putAt[seq-1] > replicated || hash.Sum32()%4 != 0 {
				continue
			}
			records[i] = p.before[seq-1]
			w.Stats.Steps.Old++
		}
	})
}
