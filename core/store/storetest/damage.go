package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

var damageClauses = []clause{
	{"DamagedHeadIsADamagedError", damagedHeadIsADamagedError},
	{"QuarantineTakesAThreadOutOfTheIndexes", quarantineTakesAThreadOutOfTheIndexes},
	{"QuarantinedThreadsArePaged", quarantinedThreadsArePaged},
	{"ReplacedHeadIsReadAndIndexed", replacedHeadIsReadAndIndexed},
	{"DamageThatChangedIsNotTouched", damageThatChangedIsNotTouched},
	{"IntactHeadIsNotQuarantined", intactHeadIsNotQuarantined},
	{"OneOfRacingReplacementsWins", oneOfRacingReplacementsWins},
	{"CallsForDamagedHeadsAreChecked", callsForDamagedHeadsAreChecked},
}

// damagedHead is a head that a backend encodes, and that no program decodes: a delayed
// dispatch without a time does not exist. text makes it differ from others.
func damagedHead(version uint64, text string) thread.Head {
	return thread.Head{
		Version: version, Owner: text, DueAt: 5 * hour, Run: thread.Run{ID: core.ID{1}, WaitsSince: 7},
		Delayed: []thread.Dispatch{{}},
	}
}

// storeDamage stores a damaged head and returns it as it is stored.
func storeDamage(p *probe, key core.ThreadKey, text string) store.StoredHead {
	p.t.Helper()
	p.commit(key, store.Commit{Head: damagedHead(1, text)})
	endDamage(p, key)
	return storedHead(p, key)
}

// endDamage replaces the head at the end of the clause, so that nothing is left due.
func endDamage(p *probe, key core.ThreadKey) {
	p.t.Cleanup(func() {
		ctx := context.Background()
		stored, err := p.b.StoredHead(ctx, key)
		if err == nil && stored.Damage != nil {
			_, err = p.b.ReplaceHead(ctx, key, stored, thread.Head{Version: 1 << 40})
		}
		if err != nil {
			p.t.Error(err)
		}
	})
}

func storedHead(p *probe, key core.ThreadKey) store.StoredHead {
	p.t.Helper()
	stored, err := p.b.StoredHead(p.ctx, key)
	if err != nil {
		p.t.Fatal(fmt.Errorf("StoredHead(%s): %w", key, err))
	}
	return stored
}

// wantDamaged checks the error of a thread whose head is damaged.
func wantDamaged(p *probe, key core.ThreadKey, quarantined int64) {
	p.t.Helper()
	head, err := p.b.Head(p.ctx, key)
	damaged, ok := errors.AsType[*store.DamagedError](err)
	if !ok || !errors.Is(err, store.ErrCorrupt) || core.CodeOf(err) != core.CodeCorrupt || damaged.Key != key || damaged.Quarantined != quarantined || head.Exists() {
		p.t.Errorf("Head(%s) returns %+v, want a *store.DamagedError of the thread, quarantined at %d", key, err, quarantined)
	}
	if stored := storedHead(p, key); core.CodeOf(stored.Damage) != core.CodeCorrupt || stored.Quarantined != quarantined || stored.Bytes == nil {
		p.t.Errorf("StoredHead(%s) returns %+v, want damage and quarantined at %d", key, stored, quarantined)
	}
}

// wantDone checks the result of a call that changes a damaged head.
func wantDone(p *probe, call string, want bool) func(done bool, err error) {
	return func(done bool, err error) {
		p.t.Helper()
		if done != want || err != nil {
			p.t.Errorf("%s returns %v, %v; want %v and no error", call, done, err, want)
		}
	}
}

func isWaiting(p *probe, key core.ThreadKey) func() error {
	return func() error {
		list, err := p.b.Waiting(p.ctx, key.Tenant, nil, 100)
		if err != nil {
			return err
		}
		if !slices.Contains(list, store.Waiting{Thread: key.Thread, Since: 7}) {
			return fmt.Errorf("Waiting(%s) returns %v, without %s", key.Tenant, list, key.Thread)
		}
		return nil
	}
}

func damagedHeadIsADamagedError(p *probe) {
	key := p.key("t")
	if stored := storedHead(p, key); !stored.Same(store.StoredHead{}) || stored.Damage != nil {
		p.t.Errorf("StoredHead of no thread returns %+v, want the zero value", stored)
	}
	storeDamage(p, key, "")
	wantDamaged(p, key, 0)
	if out, err := p.b.Commit(p.ctx, key, store.Commit{Head: thread.Head{Version: 9}}); out.Written || core.CodeOf(err) != core.CodeCorrupt {
		p.t.Errorf("Commit over a damaged head returns %+v, %v; want an error of code corrupt", out, err)
	}
}

// quarantineTakesAThreadOutOfTheIndexes: the bytes stay, and so do the records. When a later
// program can read them, nothing is lost.
func quarantineTakesAThreadOutOfTheIndexes(p *probe) {
	key, other := p.key("t"), p.key("t2")
	record := logRecord(1, 1)
	if _, err := p.b.Waiting(p.ctx, key.Tenant, nil, 1); err != nil { // a list that is made at the first call omits heads that are damaged by then
		p.t.Fatal(err)
	}
	p.commit(key, store.Commit{Records: []store.Record{record}, Head: damagedHead(1, "")})
	endDamage(p, key)
	p.setDue(other, dueHead(1, 5*hour))
	p.eventually(isWaiting(p, key))
	was := storedHead(p, key)
	wantDone(p, "QuarantineHead of a damaged head", true)(p.b.QuarantineHead(p.ctx, key, was, 3*hour))
	wantDamaged(p, key, 3*hour)
	if now := storedHead(p, key); string(now.Bytes) != string(was.Bytes) || now.Same(was) {
		p.t.Errorf("QuarantineHead leaves %+v of %+v, want the same bytes with a mark", now, was)
	}
	p.wantRecord(key, record)
	p.eventually(func() error {
		due, err := p.b.Overdue(p.ctx, store.Overdue{Key: key}.Shard(), 1000*hour, nil, 1000)
		if lists(due, key) {
			err = errors.New("a quarantined thread is due")
		}
		return err
	})
	p.wantDue(other, 1000*hour, true)
	p.eventually(func() error {
		if isWaiting(p, key)() == nil {
			return errors.New("a quarantined thread still waits")
		}
		return nil
	})
	again := storedHead(p, key)
	wantDone(p, "QuarantineHead of a quarantined head", true)(p.b.QuarantineHead(p.ctx, key, again, 4*hour))
	wantDamaged(p, key, 4*hour)
	if done, err := p.b.ReleaseHead(p.ctx, key, storedHead(p, key)); done || core.CodeOf(err) != core.CodeCorrupt {
		p.t.Errorf("ReleaseHead of a damaged head returns %v, %v; want an error of code corrupt", done, err)
	}
	wantDamaged(p, key, 4*hour)
}

func (p *probe) quarantined(after *core.ThreadKey, limit int) (own []string) {
	p.t.Helper()
	list, err := p.b.Quarantined(p.ctx, after, limit)
	if err != nil {
		p.t.Fatal(err)
	}
	for _, key := range list {
		if key.Tenant == p.tenant {
			own = append(own, key.Thread)
		}
	}
	return own
}

func quarantinedThreadsArePaged(p *probe) {
	for _, name := range []string{"c", "a", "b"} {
		storeDamage(p, p.key(name), "")
	}
	before := core.ThreadKey{Tenant: p.tenant, Thread: "."}
	want := func(after core.ThreadKey, limit int, names ...string) {
		p.t.Helper()
		p.eventually(func() error {
			if got := p.quarantined(&after, limit); !slices.Equal(got, names) {
				return fmt.Errorf("Quarantined(after %s, limit %d) returns %q, want %q", after, limit, got, names)
			}
			return nil
		})
	}
	want(before, 10)
	for _, name := range []string{"c", "a", "b"} {
		wantDone(p, "QuarantineHead", true)(p.b.QuarantineHead(p.ctx, p.key(name), storedHead(p, p.key(name)), 1))
	}
	want(before, 10, "a", "b", "c")
	want(before, 2, "a", "b")
	want(p.key("b"), 10, "c")
	want(before, 0)
	wantDone(p, "ReplaceHead", true)(p.b.ReplaceHead(p.ctx, p.key("b"), storedHead(p, p.key("b")), head(5, 5)))
	want(before, 10, "a", "c")
	if got := p.quarantined(nil, 1000); len(got) != 2 {
		p.t.Errorf("Quarantined from the first returns %q, want a and c", got)
	}
}

// replacedHeadIsReadAndIndexed: whether or not it was quarantined.
func replacedHeadIsReadAndIndexed(p *probe) {
	for _, quarantined := range []bool{false, true} {
		key := p.key(fmt.Sprint("t", quarantined))
		was := storeDamage(p, key, "")
		if quarantined {
			wantDone(p, "QuarantineHead", true)(p.b.QuarantineHead(p.ctx, key, was, 1))
		}
		next := thread.Head{Layout: 1, Version: 1 << 40, Deleted: true, DueAt: 2 * hour}
		wantDone(p, "ReplaceHead", true)(p.b.ReplaceHead(p.ctx, key, storedHead(p, key), next))
		if diff := cmp.Diff(next, p.head(key)); diff != "" {
			p.t.Errorf("ReplaceHead leaves (-want +got):\n%s", diff)
		}
		p.wantDue(key, 3*hour, true)
		next.Version, next.DueAt = next.Version+1, 0
		p.set(key, next)
		p.wantDue(key, 1000*hour, false)
	}
}

// damageThatChangedIsNotTouched: neither a head that was repaired, nor one that is damaged
// otherwise.
func damageThatChangedIsNotTouched(p *probe) {
	key := p.key("t")
	first := storeDamage(p, key, "")
	wantDone(p, "ReplaceHead", true)(p.b.ReplaceHead(p.ctx, key, first, damagedHead(2, "other")))
	wantDone(p, "QuarantineHead of another damaged head", false)(p.b.QuarantineHead(p.ctx, key, first, 1))
	wantDone(p, "ReplaceHead of another damaged head", false)(p.b.ReplaceHead(p.ctx, key, first, head(3, 3)))
	wantDamaged(p, key, 0)
	second := storedHead(p, key)
	wantDone(p, "QuarantineHead", true)(p.b.QuarantineHead(p.ctx, key, second, 1))
	wantDone(p, "ReplaceHead of a head that was quarantined since", false)(p.b.ReplaceHead(p.ctx, key, second, head(3, 3)))
	third := storedHead(p, key)
	wantDone(p, "ReplaceHead", true)(p.b.ReplaceHead(p.ctx, key, third, dueHead(3, 5*hour)))
	wantDone(p, "QuarantineHead of a repaired head", false)(p.b.QuarantineHead(p.ctx, key, third, 1))
	wantDone(p, "ReleaseHead of a repaired head", false)(p.b.ReleaseHead(p.ctx, key, third))
	wantDone(p, "ReplaceHead of a repaired head", false)(p.b.ReplaceHead(p.ctx, key, third, head(4, 4)))
	p.wantHead(key, dueHead(3, 5*hour))
	p.wantDue(key, 6*hour, true)
	p.set(key, dueHead(4, 0))
}

func intactHeadIsNotQuarantined(p *probe) {
	key := p.key("t")
	p.setDue(key, dueHead(1, 5*hour))
	was := storedHead(p, key)
	for call, f := range map[string]func() (bool, error){
		"QuarantineHead": func() (bool, error) { return p.b.QuarantineHead(p.ctx, key, was, 1) },
		"ReplaceHead":    func() (bool, error) { return p.b.ReplaceHead(p.ctx, key, was, head(2, 2)) },
	} {
		if done, err := f(); done || core.CodeOf(err) != core.CodeConflict {
			p.t.Errorf("%s of an intact head returns %v, %v; want an error of code conflict", call, done, err)
		}
	}
	wantDone(p, "ReleaseHead of an intact head", true)(p.b.ReleaseHead(p.ctx, key, was))
	if now := storedHead(p, key); !now.Same(was) || now.Damage != nil {
		p.t.Errorf("StoredHead returns %+v, want %+v", now, was)
	}
	p.wantDue(key, 6*hour, true)
	p.set(key, dueHead(2, 0))
}

func oneOfRacingReplacementsWins(p *probe) {
	key := p.key("t")
	was := storeDamage(p, key, "")
	const writers = 8
	done := make([]bool, writers)
	p.race(writers, func(ctx context.Context, i int) (err error) {
		if i%2 == 0 {
			done[i], err = p.b.QuarantineHead(ctx, key, was, int64(i+1))
		} else {
			done[i], err = p.b.ReplaceHead(ctx, key, was, head(uint64(i+1), byte(i+1)))
		}
		return err
	})
	winners := 0
	for _, d := range done {
		if d {
			winners++
		}
	}
	if winners != 1 {
		p.t.Errorf("%d of %d racing changes of a damaged head were done, want 1", winners, writers)
	}
	if stored := storedHead(p, key); stored.Same(was) {
		p.t.Error("the damaged head is stored as it was")
	}
	if stored := storedHead(p, key); stored.Damage != nil {
		wantDone(p, "ReplaceHead", true)(p.b.ReplaceHead(p.ctx, key, stored, head(9, 9)))
	}
}

func callsForDamagedHeadsAreChecked(p *probe) {
	bad, none := p.key("a#b"), p.key("none")
	if _, err := p.b.StoredHead(p.ctx, bad); core.CodeOf(err) != core.CodeInvalid {
		p.t.Errorf("StoredHead of a bad key returns %v, want code invalid", err)
	}
	for _, tt := range []struct {
		key  core.ThreadKey
		code core.Code
	}{{bad, core.CodeInvalid}, {none, core.CodeNotFound}} {
		for call, f := range map[string]func() (bool, error){
			"QuarantineHead": func() (bool, error) { return p.b.QuarantineHead(p.ctx, tt.key, store.StoredHead{}, 1) },
			"ReplaceHead":    func() (bool, error) { return p.b.ReplaceHead(p.ctx, tt.key, store.StoredHead{}, head(1, 1)) },
		} {
			if done, err := f(); done || core.CodeOf(err) != tt.code {
				p.t.Errorf("%s(%s) returns %v, %v; want an error of code %s", call, tt.key, done, err, tt.code)
			}
		}
	}
	p.wantHead(none, thread.Head{})
}
