package accounting_test

import (
	"reflect"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
	"github.com/reveille-run/reveille/core/internal/accounting"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// Whatever field of a record of usage is set, its bytes are those of encoding/json.
func TestUsageIsEncodedAsByReflection(t *testing.T) {
	check := func(name string, r *account.Record) {
		t.Helper()
		want, err := wire.Object([]byte(`"schema":1`), r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := accounting.EncodeRecord(r, thread.Records{}, 0); string(got.Payload) != string(want) || err != nil {
			t.Errorf("with %s: %s, %v, want %s", name, got.Payload, err, want)
		}
	}
	values := map[reflect.Type]any{
		reflect.TypeFor[string](): "a\n", reflect.TypeFor[core.ID](): core.ID{2}, reflect.TypeFor[uint64](): uint64(3), reflect.TypeFor[int64](): int64(-4),
		reflect.TypeFor[int](): 5, reflect.TypeFor[bool](): true, reflect.TypeFor[core.Spent](): core.Spent{Handler: 1, Write: 2, Read: 3, Queue: 4, WriteMore: 5, QueueMore: 6},
		reflect.TypeFor[[]core.ModelUse](): []core.ModelUse{{Model: "a"}, {Provider: "b", Usage: core.Usage{Input: 1}, Inferences: 2, Millis: 3}},
	}
	all := account.Record{Run: core.ID{1}}
	check("nothing", &account.Record{})
	for i := range reflect.TypeFor[account.Record]().NumField() {
		one, name := account.Record{Run: core.ID{1}}, reflect.TypeFor[account.Record]().Field(i).Name
		for _, r := range []*account.Record{&one, &all} {
			field := reflect.ValueOf(r).Elem().Field(i)
			field.Set(reflect.ValueOf(values[field.Type()]))
			check(name, r)
		}
	}
}
