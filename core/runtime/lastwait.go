package runtime

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// A client whose connection broke sends its decisions again. They stand already, and
// the run may be long past them: then nothing in the head says what this client had
// been shown when it decided. The round's own records do, one for each time that the
// run came to wait in it, for as long as the run is open.

// roundPage is how many records of open rounds are looked through at a time. All of
// a run's are: the versions in their names are not padded, so that the newest need
// not be the last of the list.
const roundPage = 100

// lastWait is what a client had been shown of the round when the run last waited
// for a decision: what the record says that the round left then. Without one,
// since siblings still ran when the decision came, or since lists lag, it is
// nothing: the round is repeated then, and nothing is left out.
func (f *follower) lastWait(ctx context.Context, d mailbox.Decided) (shown shownBefore, err error) {
	shown.tickets = map[uint64]bool{}
	ticket := thread.TicketKey(d.RunID, d.SuspensionID)
	prefix, after, newest := strings.TrimSuffix(store.RoundName(d.RunID, 0), "0"), "", uint64(0)
	var round thread.RoundRecord
	for {
		page, err := f.store.Records(ctx, f.key, prefix, after, roundPage)
		if err != nil {
			return shown, fmt.Errorf("list rounds of run %s: %w", d.RunID, err)
		}
		for _, record := range page {
			after = record.Name
			version, err := strconv.ParseUint(strings.TrimPrefix(record.Name, prefix), 10, 64)
			if err != nil || version < newest {
				continue // no round's name; or an older wait, which this client has seen past
			}
			var r thread.RoundRecord
			if err := f.records.Decode("round", record.Payload, &r); err != nil {
				return shown, fmt.Errorf("%s: %w", record.Name, err)
			}
			if r.Turn == d.Turn && slices.Contains(r.Waits, ticket) {
				newest, round = version, r
			}
		}
		if len(page) < roundPage {
			break
		}
	}
	shown.results = round.Merged
	for _, key := range round.Waits {
		shown.tickets[key] = true
	}
	return shown, nil
}
