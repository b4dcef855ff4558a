package mailbox

import (
	"encoding/json"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// Pointers of several builds are compared byte by byte.
func TestPointerIsEncodedAsItsJSON(t *testing.T) {
	for _, p := range []pointer{
		{}, {Thread: "t1"}, {Thread: "a.B_c:d-9", Run: core.ID{1, 15: 2}, Dispatch: core.ID{3}},
		{Thread: "t1", Run: core.ID{1}, Body: "0123456789abcdef"}, {Dispatch: core.ID{15: 1}, Body: "ff"},
	} {
		want, err := json.Marshal(&p)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.encoded(); string(got) != string(want) || cap(got) > len(want)+72+10 {
			t.Errorf("got %s (room for %d), want %s", got, cap(got), want)
		}
		if back, err := decodePointer(p.encoded()); err != nil || back != p {
			t.Errorf("decoded %+v, %v, want %+v", back, err, p)
		}
	}
}
