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

func TestWakeUpOnTheWire(t *testing.T) {
	if got, err := encode(hint); err != nil || got != body {
		t.Errorf("encode answers %s, %v, want %s", got, err, body)
	}
	if got, err := encode(core.WakeUp{Tenant: "acme", Thread: "t1#M"}); got != "" || core.CodeOf(err) != core.CodeInvalid {
		t.Errorf("encode answers %q and the error %v, want code %q", got, err, core.CodeInvalid)
	}
}
