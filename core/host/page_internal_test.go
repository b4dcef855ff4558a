package host

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

const noRun = "00000000-0000-0000-0000-000000000000"

func TestPlacesInLists(t *testing.T) {
	for text, want := range map[string]store.Place{
		"1#t1#L#":                 {At: 1, Thread: "t1", Name: "L#"},
		"0#t1#":                   {Thread: "t1"},
		"9223372036854775807#a#b": {At: 9223372036854775807, Thread: "a", Name: "b"},
	} {
		if got, err := parseListed(text); err != nil || *got != want || listedText(got) != text {
			t.Errorf("%q is %+v, %v, want %+v", text, got, err, want)
		}
	}
	if got, err := parseWaiting("200:a:b"); err != nil || *got != (store.Waiting{Since: 200, Thread: "a:b"}) || waitingText(got) != "200:a:b" {
		t.Errorf("the thread that waits is %+v, %v", got, err)
	}
	if got, err := parseChanged("7#" + noRun); err != nil || got != (changed{seq: 7}) || got.String() != "7#"+noRun {
		t.Errorf("the change is %+v, %v", got, err)
	}
	if p, err := parseListed(""); p != nil || err != nil || listedText(nil) != "" {
		t.Errorf("the beginning of a list is %+v, %v", p, err)
	}
	if w, err := parseWaiting(""); w != nil || err != nil || waitingText(nil) != "" {
		t.Errorf("the beginning of what waits is %+v, %v", w, err)
	}
}

func TestPlacesThatNoPageGaveAreRefused(t *testing.T) {
	for _, text := range []string{"x", "1", "1#t", "x#t#n", "-1#t#n", "1#a b#n", "1##n", "1#t#\xff", "9223372036854775808#t#n"} {
		if p, err := parseListed(text); p != nil || core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%q is the place %+v, %v", text, p, err)
		}
	}
	for _, text := range []string{"x", "1", "x:t", "1:", "1:a b"} {
		if w, err := parseWaiting(text); w != nil || core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%q is the thread %+v, %v", text, w, err)
		}
	}
	for _, text := range []string{"", "1", "1#", "x#" + noRun, "-1#" + noRun, "1099511627776#" + noRun} { // sequences have 40 bits
		if c, err := parseChanged(text); core.CodeOf(err) != core.CodeInvalid {
			t.Errorf("%q is the change %+v, %v", text, c, err)
		}
	}
}

// A place that a client makes up is refused, or is one that a page would have given.
func FuzzPlaces(f *testing.F) {
	for _, seed := range []string{"1#t1#L#", "0#t1#", "7#00000000-0000-4000-8000-000000000000", "-1#t1#L#", "1##", "+1#t#a", "200:a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if place, err := parseListed(text); err == nil && place != nil {
			again, err := parseListed(listedText(place))
			if err != nil || *again != *place || place.At < 0 {
				t.Fatalf("%q is the place %+v, and that %+v, %v", text, place, again, err)
			}
		}
		if w, err := parseWaiting(text); err == nil && w != nil {
			if again, err := parseWaiting(waitingText(w)); err != nil || *again != *w {
				t.Fatalf("%q is the thread %+v, and that %+v, %v", text, w, again, err)
			}
		}
		if at, err := parseChanged(text); err == nil && at.seq >= 1<<40 {
			t.Fatalf("%q is the change %+v", text, at)
		}
	})
}
