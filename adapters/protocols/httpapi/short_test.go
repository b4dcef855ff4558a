package httpapi

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/host"
)

// Whatever field of an event is set besides the usual ones, its JSON is that of the whole
// event: a field that is new in core is not left out.
func TestAnEventIsTheSameShortOrNot(t *testing.T) {
	usual := core.Event{Type: core.EventTextDelta, Step: 3, MessageID: "m", Delta: "a \"quoted\" <tag>\n\u2028", CallID: "c", Name: "echo"}
	shorts := 0
	for i := range reflect.TypeFor[core.Event]().NumField() {
		event := usual
		field := reflect.ValueOf(&event).Elem().Field(i)
		name := reflect.TypeFor[core.Event]().Field(i).Name
		set(t, name, field)
		if isShort(&event) {
			shorts++
		}
		e := newEncoder(host.Missed{}, "", env.System())
		frames, err := e.Encode(event)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got, want map[string]any
		event.Sequence = 1
		text, err := core.EncodeJSON(event)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := json.Unmarshal(frames[0].Data, &got); err != nil {
			t.Fatalf("%s: %v in %s", name, err, frames[0].Data)
		}
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatalf("%s: %v in %s", name, err, text)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("with %s the frame is %s, want the fields of %s", name, frames[0].Data, text)
		}
	}
	if shorts != 23 { // type, sequence, time, run, position, and those of short
		t.Errorf("%d fields keep an event short, want 23", shorts)
	}
}

// set gives a field a value that is not zero.
func set(t *testing.T, name string, field reflect.Value) {
	t.Helper()
	switch {
	case field.Type() == reflect.TypeFor[json.RawMessage]():
		field.SetBytes([]byte(`{"a":1}`))
	case field.Type() == reflect.TypeFor[core.ID]():
		field.Set(reflect.ValueOf(env.System().NewID()))
	case field.Kind() == reflect.String:
		field.SetString("v")
	case field.CanInt():
		field.SetInt(7)
	case field.CanUint():
		field.SetUint(7)
	case field.Kind() == reflect.Bool:
		field.SetBool(true)
	case field.Kind() == reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
	case field.Kind() == reflect.Slice:
		field.Set(reflect.MakeSlice(field.Type(), 1, 1))
	case field.Kind() == reflect.Map:
		field.Set(reflect.ValueOf(map[string]json.RawMessage{"k": json.RawMessage("1")}))
	default:
		t.Fatalf("no value for %s of type %s", name, field.Type())
	}
}
