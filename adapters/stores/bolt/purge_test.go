package bolt_test

import (
	"testing"
	"time"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// clock is a hand that the test moves.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func TestExpiredIsAbsent(t *testing.T) {
	ctx, c := t.Context(), &clock{time.Unix(1000, 0)}
	s := open(t, newPath(t), bolt.Options{Now: c.Now})
	put := func(name, payload string, fence uint64, expires int64) error {
		return s.Put(ctx, key, store.Record{Name: name, Fence: fence, Payload: []byte(payload), Expires: expires})
	}
	for _, r := range []struct {
		name    string
		expires int64
	}{{"M#000000000001", 1010}, {"M#000000000002", 0}, {"D#1#1#0#a", 1010}} {
		if err := put(r.name, "a", 9, r.expires); err != nil {
			t.Fatal(err)
		}
	}
	run := store.Pointer{Name: "run", Value: []byte("a"), TTL: 10 * time.Second}
	commit(t, s, key, store.Commit{Pointers: []store.Pointer{run}, Head: store.Head{Version: 1}})
	seen := func() (record, pointer bool, logged, listed int) {
		_, record, _ = s.Get(ctx, key, "M#000000000001")
		_, pointer, _ = s.Pointer(ctx, "acme", "run")
		for range s.Log(ctx, key, 1, 9) {
			logged++
		}
		list, _ := s.Records(ctx, key, "", "", 10)
		return record, pointer, logged, len(list)
	}

	c.now = time.Unix(1010, 0)
	if record, pointer, logged, listed := seen(); !record || !pointer || logged != 2 || listed != 3 {
		t.Errorf("in its last second: record %v, pointer %v, %d logged, %d listed, want true, true, 2, 3", record, pointer, logged, listed)
	}
	c.now = time.Unix(1011, 0)
	if record, pointer, logged, listed := seen(); record || pointer || logged != 1 || listed != 1 {
		t.Errorf("after it: record %v, pointer %v, %d logged, %d listed, want false, false, 1, 1", record, pointer, logged, listed)
	}

	if err := put("D#1#1#0#a", "b", 0, 0); err != nil {
		t.Errorf("putting over an expired decision returns %v, want it written", err)
	}
	if err := put("M#000000000001", "b", 1, 0); err != nil {
		t.Errorf("putting over an expired record of a higher fence returns %v, want it written", err)
	}
	commit(t, s, key, store.Commit{Pointers: []store.Pointer{{Name: "run", Value: []byte("b")}}, Head: store.Head{Version: 2}}) // over an expired pointer
	if value, _, err := s.Pointer(ctx, "acme", "run"); err != nil || string(value) != "b" {
		t.Errorf("after a Commit over the expired pointer it is %q, %v, want b", value, err)
	}
	if purged, err := s.Purge(ctx, 10); purged != 0 || err != nil {
		t.Errorf("Purge returns %d, %v, want nothing left to purge: all was written anew", purged, err)
	}
	if record, pointer, logged, listed := seen(); !record || !pointer || logged != 2 || listed != 3 {
		t.Errorf("after the new writes: record %v, pointer %v, %d logged, %d listed, want true, true, 2, 3", record, pointer, logged, listed)
	}
}

func TestPurgeErasesWhatHasExpired(t *testing.T) {
	ctx, c := t.Context(), &clock{time.Unix(1000, 0)}
	s := open(t, newPath(t), bolt.Options{Now: c.Now})
	for i, expires := range []int64{1001, 1002, 1003, 2000, 0} {
		if err := s.Put(ctx, key, store.Record{Name: store.LogName(uint64(i)), Fence: 1, Expires: expires}); err != nil {
			t.Fatal(err)
		}
	}
	commit(t, s, key, store.Commit{Head: store.Head{Version: 1}, Pointers: []store.Pointer{
		{Name: "short", Value: []byte("a"), TTL: time.Second}, {Name: "long", Value: []byte("a"), TTL: time.Hour}, {Name: "kept", Value: []byte("a")},
	}})
	c.now = time.Unix(1500, 0)
	for _, want := range []int{3, 1, 0} {
		if purged, err := s.Purge(ctx, 3); purged != want || err != nil {
			t.Errorf("Purge returns %d, %v, want %d", purged, err, want)
		}
	}
	c.now = time.Unix(1000, 0) // what was erased stays away even if the clock goes back
	if list, err := s.Records(ctx, key, "", "", 10); err != nil || len(list) != 2 || list[0].Name != store.LogName(3) {
		t.Errorf("after Purge %d records are left, %v, want the last 2", len(list), err)
	}
	for name, want := range map[string]bool{"short": false, "long": true, "kept": true} {
		if _, ok, err := s.Pointer(ctx, "acme", name); ok != want || err != nil {
			t.Errorf("after Purge pointer %s is there: %v, %v, want %v", name, ok, err, want)
		}
	}
}

func TestClaimedListsClaimsAndWhatIsDue(t *testing.T) {
	ctx, c := t.Context(), &clock{time.UnixMilli(10_000)}
	s := open(t, newPath(t), bolt.Options{Now: c.Now})
	claim := func(due int64, fence uint64, lease int64, made core.ID) (h store.Head) {
		h.Version, h.DueAt, h.Claim.Fence, h.Claim.Lease, h.Claim.CommitID = 1, due, fence, lease, made
		return h
	}
	heads := map[string]store.Head{
		"idle":       {Version: 1},
		"due":        {Version: 1, DueAt: 10_000},
		"later":      {Version: 1, DueAt: 10_001},
		"claimed":    claim(40_000, 1, 39_999, core.ID{}),
		"other-host": claim(1, 7, 1, core.ID{}),
		// The time of a claim is in its commit id: 9,999 ms is before the file was opened.
		"before": claim(40_000, 1, 39_999, core.ID{4: 0x27, 5: 0x0f}),
		"since":  claim(1, 1, 39_999, core.ID{4: 0x27, 5: 0x10}),
	}
	for name, head := range heads {
		commit(t, s, core.ThreadKey{Tenant: "acme", Thread: name}, store.Commit{Head: head})
	}
	claimed, err := s.Claimed(ctx)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, k := range claimed {
		got[k.Thread] = true
	}
	for name, want := range map[string]bool{"idle": false, "due": true, "later": false, "claimed": true, "other-host": true, "before": true, "since": false} {
		if got[name] != want {
			t.Errorf("Claimed lists %s: %v, want %v", name, got[name], want)
		}
	}
}
