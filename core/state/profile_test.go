package state_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/state"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/memory"
)

type team struct {
	Goal        string   `json:"goal"`
	Constraints []string `json:"constraints,omitempty"`
}

// everyone is the key of what all share.
var everyone = state.Shared{}.Key()

var teams = state.ProfileKey[team]{Name: "team_context"}

// inMemory returns the profiles of a tenant, none yet.
func inMemory() state.Profiles { return store.ProfilesOf(memory.New(), "acme") }

func TestWhoSharesAProfileIsItsKey(t *testing.T) {
	tests := []struct{ got, want string }{
		{state.Shared{}.Key(), "global"},
		{state.Shared{ParentThread: "t1"}.Key(), "parent_thread::t1"},
		{state.Shared{Agent: "planner"}.Key(), "agent_type::planner"},
		{state.Shared{Thread: "t1"}.Key(), "thread::t1"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestAProfileIsReadWrittenAndDeleted(t *testing.T) {
	ctx, profiles := t.Context(), inMemory()
	want := func(key string, want team) {
		t.Helper()
		got, err := teams.Read(ctx, profiles, key)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", key, err, diff)
		}
	}
	want(everyone, team{})
	write := func(key string, value team) {
		t.Helper()
		if err := teams.Write(ctx, profiles, key, value); err != nil {
			t.Fatal(err)
		}
	}
	write(everyone, team{Goal: "ship <it>"})
	write(everyone, team{Goal: "ship & rest"}) // the last one wins
	write("alice", team{Goal: "rest", Constraints: []string{"quiet"}})
	want(everyone, team{Goal: "ship & rest"})
	want("alice", team{Goal: "rest", Constraints: []string{"quiet"}})
	want(state.Shared{Agent: "planner"}.Key(), team{})

	stored, err := profiles.Read(ctx, state.ProfileName{Namespace: "team_context", Key: "global"})
	if err != nil || string(stored.Value) != `{"goal":"ship & rest"}` {
		t.Errorf("stored is %s, %v", stored.Value, err)
	}
	if keys, err := teams.Keys(ctx, profiles, "", "", 9); err != nil || fmt.Sprint(keys) != "[alice global]" {
		t.Errorf("keys are %v, %v", keys, err)
	}
	if err := teams.Delete(ctx, profiles, everyone); err != nil {
		t.Error(err)
	}
	want(everyone, team{})
}

// rival writes before each of the first writes of a profile that compare.
type rival struct {
	state.Profiles
	times  int
	writes int
}

func (r *rival) Write(ctx context.Context, name state.ProfileName, value json.RawMessage, revision uint64) (uint64, error) {
	r.writes++
	if r.writes <= r.times {
		if _, err := r.Profiles.Write(ctx, name, fmt.Append(nil, 100*r.writes), state.AnyRevision); err != nil {
			return 0, err
		}
	}
	return r.Profiles.Write(ctx, name, value, revision)
}

func TestProfileUpdateTriesAgainWhenAnotherWriterWasFaster(t *testing.T) {
	count := state.ProfileKey[int]{Name: "count"}
	increment := func(n int) (int, error) { return n + 1, nil }
	full := errors.New("the budget is spent")
	tests := []struct {
		name   string
		rivals int
		change func(int) (int, error)
		want   int
		err    error
		writes int
		stored string
	}{
		{"alone", 0, increment, 1, nil, 1, `1`},
		{"one rival", 1, increment, 101, nil, 2, `101`},
		{"fifteen", 15, increment, 1501, nil, 16, `1501`},
		{"sixteen are too many", 16, increment, 0, state.ErrProfileConflict, 16, `1600`},
		{"refused by the change", 0, func(int) (int, error) { return 7, full }, 0, full, 0, ``},
		{"refused by the second change", 1, func(n int) (int, error) {
			if n == 100 {
				return 7, full
			}
			return n + 1, nil
		}, 0, full, 1, `100`},
		{"a zero value that did not exist is written", 0, func(n int) (int, error) { return n, nil }, 0, nil, 1, `0`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			profiles := &rival{Profiles: inMemory(), times: tt.rivals}
			got, err := count.Update(t.Context(), profiles, "a", tt.change)
			if got != tt.want || !errors.Is(err, tt.err) {
				t.Errorf("returns %d, %v, want %d, %v", got, err, tt.want, tt.err)
			}
			stored, err := profiles.Read(t.Context(), state.ProfileName{Namespace: "count", Key: "a"})
			if err != nil || string(stored.Value) != tt.stored || profiles.writes != tt.writes {
				t.Errorf("stored is %s, %v after %d writes, want %s after %d", stored.Value, err, profiles.writes, tt.stored, tt.writes)
			}
		})
	}
}

func TestAProfileThatStaysTheSameIsNotWritten(t *testing.T) {
	ctx, profiles := t.Context(), &rival{Profiles: inMemory()}
	if err := teams.Write(ctx, profiles, "a", team{Goal: "rest"}); err != nil {
		t.Fatal(err)
	}
	got, err := teams.Update(ctx, profiles, "a", func(v team) (team, error) { return v, nil })
	if err != nil || got.Goal != "rest" || profiles.writes != 1 {
		t.Errorf("returns %+v, %v after %d writes, want 1", got, err, profiles.writes)
	}
}

func TestProfileErrors(t *testing.T) {
	ctx, profiles := t.Context(), inMemory()
	if _, err := profiles.Write(ctx, state.ProfileName{Namespace: "team_context", Key: "other"}, json.RawMessage(`[1]`), 0); err != nil {
		t.Fatal(err)
	}
	same := func(v team) (team, error) { return v, nil }
	functions := state.ProfileKey[func()]{Name: "functions"}
	texts := state.ProfileKey[string]{Name: "texts"}
	badName := state.ProfileKey[int]{Name: "a#b"}
	tests := []struct {
		name string
		err  func() error
		want core.Code
		text string
	}{
		{"a value of another type", func() error { _, err := teams.Read(ctx, profiles, "other"); return err },
			core.CodeCorrupt, "decoding profile team_context/other: json: cannot unmarshal array into Go value of type state_test.team"},
		{"updated", func() error { _, err := teams.Update(ctx, profiles, "other", same); return err },
			core.CodeCorrupt, "decoding profile team_context/other: json: cannot unmarshal array into Go value of type state_test.team"},
		{"a value that JSON cannot express", func() error { return functions.Write(ctx, profiles, "a", func() {}) },
			core.CodeInternal, `encoding a profile of "functions": json: unsupported type: func()`},
		{"an update to it", func() error {
			_, err := functions.Update(ctx, profiles, "a", func(func()) (func(), error) { return func() {}, nil })
			return err
		}, core.CodeInternal, `encoding a profile of "functions": json: unsupported type: func()`},
		{"a value over the limit", func() error { return texts.Write(ctx, profiles, "a", strings.Repeat("x", 262_143)) },
			core.CodeTooLarge, "the profile is over the size limit: texts/a has 262145 bytes, at most 262144 are allowed"},
		{"a name with a separator", func() error { return badName.Write(ctx, profiles, "a", 1) },
			core.CodeInvalid, `profile namespace "a#b" has the character '#', allowed are A-Z a-z 0-9 . _ : -`},
		{"no key", func() error { return texts.Write(ctx, profiles, "", "v") }, core.CodeInvalid, "key of profile texts is empty"},
		{"a zero byte in a key", func() error { return texts.Write(ctx, profiles, "a\x00b", "v") },
			core.CodeInvalid, `key "a\x00b" of a profile: want UTF-8 without control characters`},
		{"a key that is not UTF-8", func() error { return texts.Write(ctx, profiles, "a\xff", "v") },
			core.CodeInvalid, `key "a\xff" of a profile: want UTF-8 without control characters`},
		{"a key of 513 bytes", func() error { return texts.Write(ctx, profiles, strings.Repeat("k", 513), "v") },
			core.CodeInvalid, "key of a profile is 513 bytes long, at most 512 are allowed"},
		{"no profiles to read", func() error { _, err := teams.Read(ctx, nil, "a"); return err }, core.CodeUnsupported, "there is no store of profiles here"},
		{"to update", func() error { _, err := teams.Update(ctx, nil, "a", same); return err }, core.CodeUnsupported, "there is no store of profiles here"},
		{"to write", func() error { return teams.Write(ctx, nil, "a", team{}) }, core.CodeUnsupported, "there is no store of profiles here"},
		{"to delete", func() error { return teams.Delete(ctx, nil, "a") }, core.CodeUnsupported, "there is no store of profiles here"},
		{"to list", func() error { _, err := teams.Keys(ctx, nil, "", "", 1); return err }, core.CodeUnsupported, "there is no store of profiles here"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.err(); core.CodeOf(err) != tt.want || fmt.Sprint(err) != tt.text {
				t.Errorf("error %v (%s)\nwant  %s (%s)", err, core.CodeOf(err), tt.text, tt.want)
			}
		})
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	for name, err := range map[string]error{
		"read":   func() error { _, err := teams.Read(stopped, profiles, "b"); return err }(),
		"update": func() error { _, err := teams.Update(stopped, profiles, "b", same); return err }(),
		"write":  teams.Write(stopped, profiles, "b", team{}),
		"delete": teams.Delete(stopped, profiles, "b"),
		"keys":   func() error { _, err := teams.Keys(stopped, profiles, "", "", 1); return err }(),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s of one whose context has ended: %v", name, err)
		}
	}
	// Namespaces are apart.
	if err := texts.Write(ctx, profiles, "mine", "x"); err != nil {
		t.Fatal(err)
	}
	if keys, err := teams.Keys(ctx, profiles, "", "", 10); err != nil || len(keys) != 1 || keys[0] != "other" {
		t.Errorf("the teams are %v, %v", keys, err)
	}
	// What does not decode can be replaced.
	if err := teams.Write(ctx, profiles, "other", team{Goal: "rest"}); err != nil {
		t.Error(err)
	}
}

// broken fails at each read or each write, and returns something all the same.
type broken struct {
	state.Profiles
	read, write error
	writes      int
}

func (b *broken) Read(context.Context, state.ProfileName) (state.Profile, error) {
	return state.Profile{Value: json.RawMessage("7"), Revision: 3}, b.read
}

func (b *broken) Write(context.Context, state.ProfileName, json.RawMessage, uint64) (uint64, error) {
	b.writes++
	return 4, b.write
}

func TestAProfileThatIsOutOfReachIsTheCallersError(t *testing.T) {
	ctx, down := t.Context(), errors.New("the store is down")
	count := state.ProfileKey[int]{Name: "count"}
	next := func(n int) (int, error) { return n + 1, nil }
	if n, err := count.Read(ctx, &broken{read: down}, "a"); n != 0 || !errors.Is(err, down) {
		t.Errorf("Read returns %d, %v", n, err)
	}
	if n, err := count.Update(ctx, &broken{read: down}, "a", next); n != 0 || !errors.Is(err, down) {
		t.Errorf("Update returns %d, %v", n, err)
	}
	profiles := &broken{write: down}
	if n, err := count.Update(ctx, profiles, "a", next); n != 0 || !errors.Is(err, down) || errors.Is(err, state.ErrProfileConflict) || profiles.writes != 1 {
		t.Errorf("Update returns %d, %v after %d writes, want 1", n, err, profiles.writes)
	}
	name := state.ProfileName{Namespace: "count", Key: "a"}
	for value, revision := range map[string]uint64{"{": 0, "1": 5} {
		if revision, err := inMemory().Write(ctx, name, json.RawMessage(value), revision); revision != 0 || err == nil {
			t.Errorf("a write that is refused returns revision %d, %v", revision, err)
		}
	}
}
