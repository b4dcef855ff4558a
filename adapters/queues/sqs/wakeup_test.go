package sqs

import (
	"testing"

	"github.com/reveille-run/reveille/core"
)

var hint = core.WakeUp{
	Tenant: "acme", Thread: "t1", Epoch: 3,
	Dispatch: core.ID{0x01, 0x93, 0x5d, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 0x01},
}

const body = `{"tenant":"acme","thread":"t1","dispatch":"01935d00-0000-7000-8000-000000000001","epoch":3}`

// What a hint says only sometimes is not there otherwise: an older program, which
// does not know it, sends and reads the short form.
func TestWakeUpOnTheWire(t *testing.T) {
	returned, swept, followed := hint, hint, hint
	returned.Tries, swept.Sweep, followed.Followed = 2, true, 1_767_225_600_000
	const start = `{"tenant":"acme","thread":"t1","dispatch":"01935d00-0000-7000-8000-000000000001","epoch":3`
	tests := []struct {
		name string
		hint core.WakeUp
		want string
	}{
		{"a hint", hint, body},
		{"one that came back from a program too old", returned, start + `,"tries":2}`},
		{"one of the sweep", swept, start + `,"sweep":true}`},
		{"one of a run that is followed", followed, start + `,"followed":1767225600000}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := encode(tt.hint); err != nil || got != tt.want {
				t.Errorf("encode returns %s, %v, want %s", got, err, tt.want)
			}
		})
	}
	if got, err := encode(core.WakeUp{Tenant: "acme", Thread: "t1#M"}); got != "" || core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("encode returns %q and the error %v, want code %q", got, err, core.CodeInvalid)
	}
}
