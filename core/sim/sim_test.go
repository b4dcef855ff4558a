package sim

import "testing"

func TestNothingIsViolatedInAnyKindOfWorld(t *testing.T) {
	var total Stats
	for n := range worlds {
		w := New(Kind(n))
		if violation := w.Run(); violation != "" {
			t.Errorf("world %d (%s): %s\n\tgo run ./scripts/sim -world %d", n, KindName(n), violation, n)
		}
		total.Add(&w.Stats)
	}
	if total.Worlds != worlds || total.Faults < 5*worlds || total.Takeovers < worlds || total.Effects < 10*worlds {
		t.Errorf("%d worlds with %d faults, %d takeovers and %d effects are tamer than they should be",
			total.Worlds, total.Faults, total.Takeovers, total.Effects)
	}
	if total.Replayed < worlds/2 || total.Unreplayed*20 > total.Replayed {
		t.Errorf("%d runs were repeated from their records, and %d could not be", total.Replayed, total.Unreplayed)
	}
	if want := worlds / 10; total.With.Unswept != want {
		t.Errorf("%d worlds go without a sweep, want %d", total.With.Unswept, want)
	}
	for _, share := range []struct {
		what    string
		got     int
		percent int
	}{
		{"a suspended call", total.With.Suspension, 15},
		{"a decision", total.With.Decision, 15},
		{"a call that was denied", total.With.Deny, 10},
		{"a deadline that passed", total.With.Expired, 2},
		{"a tool that was left behind", total.With.LeftBehind, 1},
	} {
		if share.got*100 < share.percent*worlds {
			t.Errorf("%d of %d worlds have %s, want %d %% of them", share.got, worlds, share.what, share.percent)
		}
	}
}

func TestTheSameSeedIsTheSameWorld(t *testing.T) {
	for n := range Kinds {
		a, b := New(Kind(n)), New(Kind(n))
		a.Run()
		b.Run()
		if a.Hash() != b.Hash() || a.Stats != b.Stats {
			t.Errorf("world %d (%s) differs from itself", n, KindName(n))
		}
	}
	a, b := New(Kind(0)), New(Kind(Kinds))
	a.Run()
	b.Run()
	if a.Hash() == b.Hash() {
		t.Error("two seeds are the same world")
	}
}
