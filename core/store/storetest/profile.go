package storetest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
)

var profileClauses = []clause{
	{"ProfilesAreReadBackAtOnce", profilesAreReadBackAtOnce},
	{"ProfileWritesCompareTheRevision", profileWritesCompareTheRevision},
	{"ProfileRevisionsNeverComeAgain", profileRevisionsNeverComeAgain},
	{"OneOfRacingProfileWritersWins", oneOfRacingProfileWritersWins},
	{"NoProfileUpdateIsLost", noProfileUpdateIsLost},
	{"ProfilesNeverMeet", profilesNeverMeet},
	{"ProfileNamesThatFailCheckAreInvalid", profileNamesThatFailCheckAreInvalid},
	{"ProfilesTakeNoMoreThanTheLimit", profilesTakeNoMoreThanTheLimit},
	{"ProfileKeysAreListedInOrder", profileKeysAreListedInOrder},
	{"ProfilesOfATenant", profilesOfATenant},
}

func named(namespace, key string) state.ProfileName {
	return state.ProfileName{Namespace: namespace, Key: key}
}

// writeProfile makes a write that must be accepted.
func (p *probe) writeProfile(tenant string, name state.ProfileName, value string, revision uint64) uint64 {
	p.t.Helper()
	next, err := p.b.WriteProfile(p.ctx, tenant, name, json.RawMessage(value), revision)
	if err != nil {
		p.t.Fatalf("WriteProfile(%s, %s) at revision %d: %v", tenant, name, revision, err)
	}
	if next == 0 || next == state.AnyRevision {
		p.t.Fatalf("WriteProfile(%s, %s) returns the revision %d, which never names a value", tenant, name, next)
	}
	return next
}

// wantProfile checks what ReadProfile returns now; revision 0: nothing.
func (p *probe) wantProfile(tenant string, name state.ProfileName, value string, revision uint64) {
	p.t.Helper()
	got, err := p.b.ReadProfile(p.ctx, tenant, name)
	if err != nil {
		p.t.Fatalf("ReadProfile(%s, %s): %v; a profile that does not exist is the zero Profile and no error", tenant, name, err)
	}
	if string(got.Value) != value || got.Revision != revision {
		p.t.Errorf("ReadProfile(%s, %s) returns %s at revision %d, want %s at %d; it must be strongly consistent",
			tenant, name, core.Excerpt(string(got.Value)), got.Revision, core.Excerpt(value), revision)
	}
}

func (p *probe) wantProfileConflict(what string, err error) {
	p.t.Helper()
	if !errors.Is(err, state.ErrProfileConflict) {
		p.t.Errorf("%s returns the error %v, want ErrProfileConflict", what, err)
	}
}

func profilesAreReadBackAtOnce(p *probe) {
	name := named("locale", "alice")
	p.wantProfile(p.tenant, name, "", 0)
	for _, value := range []string{`"en-GB"`, `{"a":[1,2,{"b":null}]}`, `null`, ` {"spelled": "as it is" } `, `"ä€😀"`} {
		p.wantProfile(p.tenant, name, value, p.writeProfile(p.tenant, name, value, state.AnyRevision))
	}
	large := `"` + strings.Repeat("compressible ", 5000) + `"`
	p.wantProfile(p.tenant, name, large, p.writeProfile(p.tenant, name, large, state.AnyRevision))
	if err := p.b.DeleteProfile(p.ctx, p.tenant, name, state.AnyRevision); err != nil {
		p.t.Fatalf("DeleteProfile(%s): %v", name, err)
	}
	p.wantProfile(p.tenant, name, "", 0)
}

func profileWritesCompareTheRevision(p *probe) {
	name := named("budget", state.Shared{}.Key())
	write := func(revision uint64) error {
		_, err := p.b.WriteProfile(p.ctx, p.tenant, name, json.RawMessage(`"refused"`), revision)
		return err
	}
	erase := func(revision uint64) error { return p.b.DeleteProfile(p.ctx, p.tenant, name, revision) }

	p.wantProfileConflict("WriteProfile at revision 7 where nothing is stored", write(7))
	for _, revision := range []uint64{0, 7, state.AnyRevision} {
		if err := erase(revision); err != nil {
			p.t.Errorf("DeleteProfile at revision %d where nothing is stored returns the error %v, want none", revision, err)
		}
	}
	first := p.writeProfile(p.tenant, name, `1`, 0)
	p.wantProfileConflict("WriteProfile at revision 0 where a value is stored", write(0))
	second := p.writeProfile(p.tenant, name, `2`, first)
	p.wantProfileConflict("WriteProfile at the previous revision", write(first))
	p.wantProfileConflict("DeleteProfile at the previous revision", erase(first))
	p.wantProfileConflict("DeleteProfile at revision 0 where a value is stored", erase(0))
	p.wantProfile(p.tenant, name, `2`, second)
	if err := erase(second); err != nil {
		p.t.Errorf("DeleteProfile at the stored revision returns the error %v", err)
	}
	p.wantProfile(p.tenant, name, "", 0)
	p.wantProfileConflict("WriteProfile at the revision of a deleted value", write(second))
	p.wantProfile(p.tenant, name, "", 0)
}

// profileRevisionsNeverComeAgain: who has read a value before it was deleted must
// not take its successor for it.
func profileRevisionsNeverComeAgain(p *probe) {
	name := named("count", "a")
	seen := map[uint64]bool{}
	for i := range 6 {
		revision := p.writeProfile(p.tenant, name, `1`, state.AnyRevision)
		if seen[revision] {
			p.t.Fatalf("write %d of the same value returns the revision %d for the second time", i+1, revision)
		}
		seen[revision] = true
		if i%2 == 1 {
			if err := p.b.DeleteProfile(p.ctx, p.tenant, name, revision); err != nil {
				p.t.Fatalf("DeleteProfile(%s): %v", name, err)
			}
		}
	}
}

func oneOfRacingProfileWritersWins(p *probe) {
	const writers = 16
	name := named("owner", "a")
	for round := range 3 {
		before, err := p.b.ReadProfile(p.ctx, p.tenant, name)
		if err != nil {
			p.t.Fatalf("ReadProfile(%s): %v", name, err)
		}
		var mu sync.Mutex
		var won []string
		p.race(writers, func(ctx context.Context, i int) error {
			value := fmt.Sprint(round*writers + i)
			_, err := p.b.WriteProfile(ctx, p.tenant, name, json.RawMessage(value), before.Revision)
			if errors.Is(err, state.ErrProfileConflict) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			won = append(won, value)
			return err
		})
		after, err := p.b.ReadProfile(p.ctx, p.tenant, name)
		if err != nil || len(won) != 1 || won[0] != string(after.Value) {
			p.t.Errorf("%d of %d racing writers got no error, want exactly 1, whose value is stored (%s, %v): the comparison and the write must be one atomic step",
				len(won), writers, after.Value, err)
		}
	}
}

func noProfileUpdateIsLost(p *probe) {
	const writers, each = 4, 5
	name := named("count", "a")
	p.race(writers, func(ctx context.Context, _ int) error {
		for done := 0; done < each; {
			stored, err := p.b.ReadProfile(ctx, p.tenant, name)
			if err != nil {
				return err
			}
			n := 0
			if stored.Revision != 0 {
				if err := json.Unmarshal(stored.Value, &n); err != nil {
					return err
				}
			}
			_, err = p.b.WriteProfile(ctx, p.tenant, name, fmt.Append(nil, n+1), stored.Revision)
			if err == nil {
				done++
			} else if !errors.Is(err, state.ErrProfileConflict) {
				return err
			}
		}
		return nil
	})
	got, err := p.b.ReadProfile(p.ctx, p.tenant, name)
	if err != nil || string(got.Value) != "20" {
		p.t.Errorf("after 20 increments the count is %s, %v, want 20", got.Value, err)
	}
}

// profilesNeverMeet writes one profile and finds nothing of it under another name
// whose parts are the same text when a separator is badly chosen.
func profilesNeverMeet(p *probe) {
	a, b := p.tenant+".a", p.tenant+".b"
	tests := []struct {
		name    string
		tenantA string
		nameA   state.ProfileName
		tenantB string
		nameB   state.ProfileName
	}{
		{"tenants", a, named("n", "k"), b, named("n", "k")},
		{"case of the tenant", a, named("case", "k"), strings.ToUpper(a), named("case", "k")},
		{"namespaces", a, named("m1", "k"), a, named("m2", "k")},
		{"case of the key", a, named("m", "K"), a, named("m", "k")},
		{"colon", a, named("x:y", "z"), a, named("x", "y:z")},
		{"number sign", a, named("x", "y#z"), a, named("x", "y")},
		{"slash", a, named("s", "y/z"), a, named("s", "y")},
		{"another tenant's name in the key", a, named("t", "k"), b, named("t", a+"#t#k")},
		{"prefix", a, named("p", "kk"), a, named("p", "k")},
		{"space at the end", a, named("e", "k "), a, named("e", "k")},
		{"composed letters", a, named("c", "\u00e4"), a, named("c", "a\u0308")},
	}
	for _, tt := range tests {
		revision := p.writeProfile(tt.tenantA, tt.nameA, `"a"`, 0)
		p.wantProfile(tt.tenantB, tt.nameB, "", 0)
		p.writeProfile(tt.tenantB, tt.nameB, `"b"`, 0)
		p.wantProfile(tt.tenantA, tt.nameA, `"a"`, revision)
		if err := p.b.DeleteProfile(p.ctx, tt.tenantB, tt.nameB, state.AnyRevision); err != nil {
			p.t.Errorf("%s: DeleteProfile: %v", tt.name, err)
		}
		p.wantProfile(tt.tenantA, tt.nameA, `"a"`, revision)
	}
}

func profileNamesThatFailCheckAreInvalid(p *probe) {
	tests := []struct {
		name   string
		tenant string
		at     state.ProfileName
	}{
		{"no tenant", "", named("n", "k")},
		{"a number sign in the tenant", "a#b", named("n", "k")},
		{"a zero byte in the tenant", "a\x00b", named("n", "k")},
		{"no namespace", p.tenant, named("", "k")},
		{"a number sign in the namespace", p.tenant, named("a#b", "k")},
		{"a zero byte in the namespace", p.tenant, named("a\x00b", "k")},
		{"a space in the namespace", p.tenant, named("a b", "k")},
		{"a namespace of 129 bytes", p.tenant, named(strings.Repeat("n", 129), "k")},
		{"no key", p.tenant, named("n", "")},
		{"a zero byte in the key", p.tenant, named("n", "a\x00b")},
		{"a line break in the key", p.tenant, named("n", "a\nb")},
		{"a key that is not UTF-8", p.tenant, named("n", "a\xffb")},
		{"a key of 513 bytes", p.tenant, named("n", strings.Repeat("k", 513))},
	}
	for _, tt := range tests {
		_, readErr := p.b.ReadProfile(p.ctx, tt.tenant, tt.at)
		_, writeErr := p.b.WriteProfile(p.ctx, tt.tenant, tt.at, json.RawMessage(`1`), state.AnyRevision)
		deleteErr := p.b.DeleteProfile(p.ctx, tt.tenant, tt.at, state.AnyRevision)
		errs := map[string]error{"ReadProfile": readErr, "WriteProfile": writeErr, "DeleteProfile": deleteErr}
		if tt.at.Key != "" { // no prefix is any
			_, errs["ProfileKeys"] = p.b.ProfileKeys(p.ctx, tt.tenant, tt.at.Namespace, tt.at.Key, "", 1)
			_, errs["ProfileKeys after it"] = p.b.ProfileKeys(p.ctx, tt.tenant, tt.at.Namespace, "", tt.at.Key, 1)
		}
		for method, err := range errs {
			if core.CodeOf(err) != core.CodeInvalid {
				p.t.Errorf("%s: %s returns the error %v, want code %q: a separator would reach another's value", tt.name, method, err, core.CodeInvalid)
			}
		}
	}
	for _, value := range []string{"", "{", `"a" "b"`, "\x00"} {
		_, err := p.b.WriteProfile(p.ctx, p.tenant, named("n", "k"), json.RawMessage(value), state.AnyRevision)
		if core.CodeOf(err) != core.CodeInvalid {
			p.t.Errorf("WriteProfile of %q, which is not JSON, returns the error %v, want code %q", value, err, core.CodeInvalid)
		}
	}
	longest := named(strings.Repeat("n", 128), strings.Repeat("k", 512))
	p.wantProfile(p.tenant, longest, `1`, p.writeProfile(p.tenant, longest, `1`, 0))
}

func profilesTakeNoMoreThanTheLimit(p *probe) {
	// 256 KB of JSON that does not compress below the half.
	largest := `"` + hex.EncodeToString(noise(131_071)) + `"`
	name := named("large", "k")
	revision := p.writeProfile(p.tenant, name, largest, 0)
	p.wantProfile(p.tenant, name, largest, revision)
	_, err := p.b.WriteProfile(p.ctx, p.tenant, name, json.RawMessage(largest+" "), state.AnyRevision)
	if core.CodeOf(err) != core.CodeTooLarge {
		p.t.Errorf("WriteProfile of 262145 bytes, one over the limit, returns the error %v, want code too_large", err)
	}
	p.wantProfile(p.tenant, name, largest, revision)
}

func profileKeysAreListedInOrder(p *probe) {
	for _, key := range []string{"thread::2", "thread::10", "thread::1", "global", "thread", "A", "ä"} {
		p.writeProfile(p.tenant, named("n", key), `1`, 0)
	}
	p.writeProfile(p.tenant, named("n.2", "other"), `1`, 0)
	p.writeProfile(p.tenant+".2", named("n", "foreign"), `1`, 0)
	p.writeProfile(p.tenant, named("n", "gone"), `1`, 0)
	if err := p.b.DeleteProfile(p.ctx, p.tenant, named("n", "gone"), state.AnyRevision); err != nil {
		p.t.Fatalf("DeleteProfile: %v", err)
	}
	tests := []struct {
		prefix, after string
		limit         int
		want          []string
	}{
		{"", "", 10, []string{"A", "global", "thread", "thread::1", "thread::10", "thread::2", "ä"}},
		{"", "", 2, []string{"A", "global"}},
		{"", "global", 2, []string{"thread", "thread::1"}},
		{"", "b", 1, []string{"global"}},
		{"thread::", "", 10, []string{"thread::1", "thread::10", "thread::2"}},
		{"thread::", "thread::1", 1, []string{"thread::10"}},
		{"thread::", "thread::2", 10, nil},
		{"thread::", "A", 1, []string{"thread::1"}},
		{"thread::", "u", 10, nil},
		{"thread::1", "", 10, []string{"thread::1", "thread::10"}},
		{"", "ä", 10, nil},
		{"x", "", 10, nil},
		{"", "", 0, nil},
		{"", "", -1, nil},
	}
	for _, tt := range tests {
		got, err := p.b.ProfileKeys(p.ctx, p.tenant, "n", tt.prefix, tt.after, tt.limit)
		if err != nil || !slices.Equal(tt.want, got) {
			p.t.Errorf("ProfileKeys(prefix %q, after %q, limit %d) returns %q, %v, want %q", tt.prefix, tt.after, tt.limit, got, err, tt.want)
		}
	}
}

// profilesOfATenant uses the port as hooks and tools do.
func profilesOfATenant(p *probe) {
	ours, theirs := store.ProfilesOf(p.b, p.tenant), store.ProfilesOf(p.b, p.tenant+".2")
	goals := state.ProfileKey[[]string]{Name: "goals"}
	add := func(goal string) func([]string) ([]string, error) {
		return func(before []string) ([]string, error) { return append(before, goal), nil }
	}
	for _, goal := range []string{"ship", "rest"} {
		if _, err := goals.Update(p.ctx, ours, state.Shared{}.Key(), add(goal)); err != nil {
			p.t.Fatalf("Update: %v", err)
		}
	}
	got, err := goals.Read(p.ctx, ours, state.Shared{}.Key())
	if diff := cmp.Diff([]string{"ship", "rest"}, got); err != nil || diff != "" {
		p.t.Errorf("Read returns the error %v (-want +got):\n%s", err, diff)
	}
	if got, err := goals.Read(p.ctx, theirs, state.Shared{}.Key()); err != nil || got != nil {
		p.t.Errorf("another tenant reads %q, %v, want nothing", got, err)
	}
	keys, err := goals.Keys(p.ctx, ours, "", "", 9)
	if diff := cmp.Diff([]string{"global"}, keys); err != nil || diff != "" {
		p.t.Errorf("Keys returns the error %v (-want +got):\n%s", err, diff)
	}
	if err := goals.Delete(p.ctx, ours, state.Shared{}.Key()); err != nil {
		p.t.Errorf("Delete: %v", err)
	}
	p.wantProfile(p.tenant, named("goals", "global"), "", 0)
}
