package counter_test

import (
	"testing"

	"tiny/counter"
)

func TestAdd(t *testing.T) {
	c := counter.Counter{Max: 1}
	if !c.Add() || c.Add() || c.N != 1 {
		t.Errorf("%+v", c)
	}
}

func TestKindAndEither(t *testing.T) {
	if counter.Kind(1) != "few" || counter.Kind(3) != "many" || !counter.Either(true, true) {
		t.Error("wrong")
	}
}

func TestWait(t *testing.T) {
	if counter.Wait(3) != 4 {
		t.Error("wrong")
	}
}

func TestSameIsLong(t *testing.T) {
	if testing.Short() {
		t.Skip()
	}
	n := 0
	if counter.Same(&n); n != 7 {
		t.Error("wrong")
	}
}
