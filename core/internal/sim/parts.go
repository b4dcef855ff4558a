package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/tool"
)

// part does one part of a call. A part that was stored when it starts must not act again,
// and returns the stored value.
func (as *asks) part(ctx context.Context, call tool.Call, key, name string) error {
	w := as.th.w
	_, stored := as.storedPart(call, name)
	h, began, at := w.current().host, w.now, recordname.Part(call.Run, placed(call).turn, uint8(placed(call).index), name)
	said, err := call.Once(ctx, name, func(ctx context.Context) (json.RawMessage, error) {
		if stored {
			as.th.fail("part %s of call %s acts again, although its result was stored", name, key)
		}
		gone := as.th.p.head.Deleted // with what was stored
		if f, ok := as.finished[at]; ok && !gone && !f.host.dead && !f.host.ending && f.host.hindered < f.at && f.at <= began {
			as.th.fail("part %s of call %s acts again, although %[4]s, which is healthy, finished it at %[3]s", name, key, f.at, f.host.name)
		}
		if err := w.sleep(ctx, w.random.between(10*time.Millisecond, 500*time.Millisecond)); err != nil {
			return nil, err
		}
		if ctx.Err() == nil {
			as.finished[at] = finishedPart{h, w.now}
		}
		return json.RawMessage(fmt.Sprintf(`{"k":"%s","part":"%s","n":%d}`, key, name, w.id())), nil
	})
	if err != nil {
		return err
	}
	as.th.checkCommitted(call, key, "stores a part")
	kept, ok := as.storedPart(call, name)
	if !ok || string(kept) != string(said) {
		as.th.fail("part %s of call %s returns %s, %s is stored", name, key, said, kept)
	}
	if callKey(string(said)) != key {
		as.th.fail("part %s of call %s belongs to another call: %s", name, key, said)
	}
	return nil
}

// finishedPart is a part that has acted while its process was well, and is yet to be put.
type finishedPart struct {
	host *host
	at   time.Duration
}

// maxThrottled is how often a put of one part is throttled: a worker tries once more.
const maxThrottled = 6

// throttle reports whether the put of a record is throttled: of a part, most are.
func (w *World) throttle(name string) bool {
	if !strings.Contains(name, "#once#") || w.storage.throttled[name] >= maxThrottled || !w.random.chance(0.7) {
		return false
	}
	w.did(ThrottledPart)
	return true
}

// throttledPart reports whether a fault hinders no call: the operation that it strikes is
// repeated more often than that.
func (w *World) throttledPart(r request, f Fault) bool {
	if !w.config.Storage.Throttled || f != FaultThrottled || !strings.Contains(r.name, "#once#") {
		return false
	}
	w.storage.throttled[r.name]++
	return w.storage.throttled[r.name] <= maxThrottled
}

// storedPart is the stored value of a call's part.
func (as *asks) storedPart(call tool.Call, name string) (json.RawMessage, bool) {
	at := placed(call)
	r, ok := as.th.p.record(recordname.Part(call.Run, at.turn, uint8(at.index), name))
	if !ok {
		return nil, false
	}
	var part struct {
		Value json.RawMessage `json:"value"`
	}
	if err := as.th.w.checks.Decode("part", r.Payload, &part); err != nil {
		as.th.fail("part %s is unreadable: %v", r.Name, err)
	}
	return part.Value, true
}

// A deaf tool looks at its context every slice, and ignores it. After so many slices past
// its end no step waits for it any more.
const (
	slice   = 500 * time.Millisecond
	tooLate = 6
)

// ignore is the work of a tool that ignores its context. Its result after it was
// abandoned does not count.
func (ca *calls) ignore(ctx context.Context, h *host, call tool.Call, key string) (tool.Result, error) {
	w := ca.th.w
	behind, show := 0, ca.shows(call, key)
	for until := w.now + w.random.between(slice, 15*time.Second); w.now < until; {
		_ = w.sleep(context.WithoutCancel(ctx), slice)
		if ctx.Err() != nil {
			behind++
		}
		if behind <= tooLate {
			show()
		} else {
			call.Output(late)
		}
	}
	text := fmt.Sprintf("%s of %d", key, w.id())
	if behind <= tooLate {
		return tool.NewResult(text), nil
	}
	w.Stats.Steps.LeftBehind++
	ca.th.asks.late[text] = true
	if w.config.Trace != nil {
		w.config.Trace("%s: %s is late", h.name, key)
	}
	if _, err := call.Once(context.WithoutCancel(ctx), "late", func(context.Context) (json.RawMessage, error) {
		return json.RawMessage(`1`), nil
	}); err == nil {
		ca.th.fail("call %s was abandoned and keeps a part", key)
	}
	if _, ok := ca.th.asks.storedPart(call, "late"); ok {
		ca.th.fail("call %s was abandoned, and a part of it is stored", key)
	}
	return tool.NewResult(text), nil
}
