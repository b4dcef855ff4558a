package thread_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/wire"
)

// Whatever field of a record is set, alone or besides all others of the usual ones, its bytes
// are those of encoding/json: a field that is new is not left out.
func TestUsualRecordsAreEncodedAsByReflection(t *testing.T) {
	message := core.UserMessage(`say "<hi>"`).WithID("m")
	message.RunID, message.CreatedAt = core.ID{3}, 4
	run := func() *thread.RunRecord {
		return &thread.RunRecord{Run: core.Run{
			ID: core.ID{1}, ThreadID: "t", AgentID: "demo", Status: core.RunDone, Steps: 2, Usage: core.Usage{Input: 1, Output: 2}, Response: "é\n",
			Termination: &core.Termination{Type: core.TerminationNatural}, CreatedAt: 5,
		}, Models: []core.ModelUse{{Model: "m"}, {Provider: "p", Usage: core.Usage{CacheRead: 1, CacheWrite: 2, Reasoning: 3}}}}
	}
	usual := map[string]int{}
	count := func(kind string, v thread.Usual) {
		if _, ok, _ := wire.ObjectOf(nil, v); ok {
			usual[kind]++
		}
	}
	eachField(t, func() *thread.RunRecord { return &thread.RunRecord{} }, func(r *thread.RunRecord) ([]byte, error) { count("empty run", r); return thread.Records{}.EncodeRun(r) })
	eachField(t, run, func(r *thread.RunRecord) ([]byte, error) { count("run", r); return thread.Records{}.EncodeRun(r) })
	eachField(t, func() *thread.Listing { return &thread.Listing{Last: &core.LastRun{}} }, func(l *thread.Listing) ([]byte, error) { count("listing", l); return thread.Records{}.EncodeListing(l) })
	eachField(t, func() *thread.Queued { return &thread.Queued{Messages: []core.Message{message, {}}} }, func(q *thread.Queued) ([]byte, error) {
		count("queued", q)
		return thread.Records{}.EncodeQueued(q)
	})
	for kind, want := range map[string]int{"empty run": 67, "run": 67, "listing": 25, "queued": 35} {
		if usual[kind] != want {
			t.Errorf("of %s %d values are encoded without reflection, want %d", kind, usual[kind], want)
		}
	}
	broken := thread.Queued{Messages: []core.Message{}, Request: json.RawMessage("{")}
	if _, err := (thread.Records{}).EncodeQueued(&broken); core.CodeOf(err) != core.CodeInternal {
		t.Errorf("a request that is not JSON: %v, want internal", err)
	}
}

// eachField compares the bytes of a record with those of encoding/json, with each of its
// fields set in turn.
func eachField[T any](t *testing.T, base func() *T, encode func(*T) ([]byte, error)) {
	t.Helper()
	for n := 0; ; n++ {
		v, left := base(), n
		name, ok := setField(reflect.ValueOf(v).Elem(), &left)
		if !ok {
			return
		}
		want, err := wire.Object([]byte(`"schema":1`), v)
		if err != nil {
			t.Fatalf("%T with %s: %v", v, name, err)
		}
		if got, err := encode(v); string(got) != string(want) || err != nil {
			t.Errorf("%T with %s is\n%s, %v, want\n%s", v, name, got, err, want)
		}
	}
}

// setField sets the n-th of the fields within v, which counts down to it.
func setField(v reflect.Value, n *int) (name string, ok bool) {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		return set(v, reflect.ValueOf(json.RawMessage("{ \"a\" : [ 1 ] }")), n)
	case v.Type() == reflect.TypeFor[thread.Unknown](), v.Type() == reflect.TypeFor[*core.Frontend](), v.Type() == reflect.TypeFor[*thread.Metered](), v.Type() == reflect.TypeFor[*core.Cost](), v.Kind() == reflect.Array && v.Type() != reflect.TypeFor[core.ID]():
		return "", false // other code encodes them
	case v.Kind() == reflect.Array:
		return set(v, reflect.ValueOf(core.ID{7}), n)
	case v.Kind() == reflect.String:
		return set(v, reflect.ValueOf("a \"b\"\t").Convert(v.Type()), n)
	case v.CanInt():
		return set(v, reflect.ValueOf(7).Convert(v.Type()), n)
	case v.CanUint():
		return set(v, reflect.ValueOf(1).Convert(v.Type()), n)
	case v.Kind() == reflect.Bool:
		return set(v, reflect.ValueOf(true), n)
	case v.Kind() == reflect.Pointer:
		made := reflect.New(v.Type().Elem())
		if !v.IsNil() {
			made.Elem().Set(v.Elem())
		}
		if name, ok = setField(made.Elem(), n); ok {
			v.Set(made)
		}
		return name, ok
	case v.Kind() == reflect.Slice:
		made := reflect.MakeSlice(v.Type(), v.Len()+1, v.Len()+1)
		reflect.Copy(made, v)
		if name, ok = setField(made.Index(v.Len()), n); ok {
			v.Set(made)
		}
		return name, ok
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			if name, ok = setField(v.Field(i), n); ok {
				return v.Type().Field(i).Name + "." + name, true
			}
		}
	}
	return "", false
}

func set(v, to reflect.Value, n *int) (string, bool) {
	if *n--; *n >= 0 {
		return "", false
	}
	v.Set(to)
	return v.Type().Name(), true
}
