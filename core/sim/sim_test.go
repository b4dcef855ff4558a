package sim

import (
	"os"
	"strconv"
	"testing"
	"time"
)

func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

func TestWorlds(t *testing.T) {
	var total Stats
	start := time.Now()
	bad := 0
	for n := number("SEED0", 0); n < number("SEED0", 0)+number("SEEDS", 130); n++ {
		w := New(Kind(n))
		if v := w.Run(); v != "" {
			t.Errorf("world %d (kind %d): %s", n, n%Kinds, v)
			if bad++; bad > 5 {
				break
			}
		}
		total.Add(&w.Stats)
	}
	t.Logf("%s", time.Since(start))
	total.Print(os.Stdout)
}

func TestOneWorld(t *testing.T) {
	if os.Getenv("SEED") == "" {
		t.Skip("SEED is not set")
	}
	c := Kind(number("SEED", 0))
	var w *World
	c.Trace = func(f string, a ...any) { t.Logf("%10s "+f, append([]any{w.now}, a...)...) }
	w = New(c)
	t.Log(w.Run())
}

func TestTheSameSeedIsTheSameWorld(t *testing.T) {
	for n := range 2 * Kinds {
		a, b := New(Kind(n)), New(Kind(n))
		a.Run()
		b.Run()
		if a.Hash() != b.Hash() || a.Stats != b.Stats {
			t.Errorf("world %d differs from itself", n)
		}
	}
}
