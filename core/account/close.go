package account

import (
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/thread"
)

// Closing is a stretch that a write ends.
type Closing struct {
	Run     core.ID
	Stretch thread.Stretch
	User    string
	Agent   string
	End     string
	Used    *thread.Metered // by the whole run so far
	Base    *thread.Metered // when the stretch began
	Wasted  *thread.Metered // by the stretch, for turns that came to nothing; Used has none of it
	Known   bool            // Base is
	Memory  int
	Until   int64
}

// Record is what is stored of it.
func (c Closing) Record() Record {
	r := Record{
		User: c.User, Agent: c.Agent, Run: c.Run, Stretch: c.Stretch.Number, Since: c.Stretch.Since, Until: c.Until,
		End: c.End, Spent: c.Stretch.Spent, Memory: c.Memory, Lost: !c.Known,
	}
	if c.Known {
		own := c.Used.Since(c.Base)
		if c.Wasted != nil {
			own = *own.Plus(c.Wasted)
		}
		r.Models, r.Tools, r.ToolTime = own.Models, own.Tools, own.ToolMillis
	}
	return r
}

// Encode returns the stored form, which is kept so long behind the stretch's begin.
func (r *Record) Encode(records thread.Records, keep time.Duration) (store.Record, error) {
	payload, err := records.Encode("usage", r)
	return store.Record{Name: store.UsageName(r.Run, r.Stretch), Payload: payload, Expires: (r.Since + keep.Milliseconds()) / 1000}, err
}
