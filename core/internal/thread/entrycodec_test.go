package thread_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// filler sets each field of a value to another value that is not zero.
type filler struct{ n int }

func (f *filler) fill(v reflect.Value) {
	f.n++
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() && field.Tag.Get("json") != "-" {
				f.fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem())
	case reflect.Slice:
		switch v.Interface().(type) {
		case json.RawMessage:
			v.SetBytes(fmt.Appendf(nil, `{"n":%d}`, f.n))
		case []byte:
			v.SetBytes([]byte{byte(f.n), 0, 255})
		default:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			f.fill(v.Index(0))
			f.fill(v.Index(1))
		}
	case reflect.Map:
		value := reflect.New(v.Type().Elem()).Elem()
		f.fill(value)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(fmt.Sprint("key", f.n)), value)
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.String:
		v.SetString(fmt.Sprint("text ", f.n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Float64:
		v.SetFloat(float64(f.n) / 4)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(int64(f.n))
	case reflect.Uint8:
		v.SetUint(uint64(f.n%255 + 1))
	case reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(f.n))
	default:
		panic(v.Type().String())
	}
}

func encodeEntry(t testing.TB, e thread.Entry) []byte {
	t.Helper()
	b, err := thread.Records{}.EncodeEntry(&e)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A field that the codec does not know would be lost here.
func TestEachFieldOfAnEntryIsStored(t *testing.T) {
	var e thread.Entry
	(&filler{}).fill(reflect.ValueOf(&e).Elem())
	got, err := thread.Records{}.DecodeEntry(encodeEntry(t, e))
	if diff := cmp.Diff(e, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestEntriesAreStoredExactly(t *testing.T) {
	message := func(m core.Message) thread.Entry { return thread.Entry{Run: core.ID{1}, Step: 2, Message: &m} }
	const uuid = "0190abcd-0000-7000-8000-0123456789ab"
	entries := map[string]thread.Entry{
		"nothing":                   {},
		"an empty message":          message(core.Message{}),
		"the run and the step":      message(core.Message{RunID: core.ID{1}, Step: 2}),
		"another run and step":      message(core.Message{RunID: core.ID{3}, Step: 4}),
		"a run, but of the message": {Message: &core.Message{RunID: core.ID{1}}},
		"a negative step":           message(core.Message{Step: -1}),
		"usage of nothing":          message(core.Message{Usage: &core.Usage{}}),
		"the least numbers":         {Step: math.MinInt64, At: math.MinInt64, Totals: &thread.Totals{Spend: math.MinInt64}, Toolless: []int{math.MinInt64, 0}},
		"the largest numbers":       {Step: math.MaxInt64, Attempt: math.MaxUint64, Retried: 255, Place: math.MaxUint16, Sum: math.MaxUint32, Totals: &thread.Totals{Steps: 1, Failures: math.MaxInt32, ErrorSteps: math.MaxInt32, Repairs: math.MaxInt32}, Toolless: []int{0, 127, 128, math.MaxInt64}},
		"totals of nothing":         {Totals: &thread.Totals{Metered: &thread.Metered{}}},
		"a window of nothing":       {Window: &core.Window{}},
		"a hash that is 0":          {Window: &core.Window{Prefix: [3]uint32{0, 0, 1}}},
		"ranges":                    {Superseded: &thread.Range{}, Earlier: []thread.Range{{}, {From: 1, To: 2}}},
		"a command of nothing":      {Hooks: &state.Command{}, Sent: &thread.Sent{}, Failed: &thread.Failure{}, Member: &thread.Member{}},
		"JSON null":                 {Arguments: json.RawMessage("null")},
		"a call without arguments":  message(core.Message{ToolCalls: []core.ToolCall{{}, {ID: "c"}}}),
		"lengths of two bytes":      message(core.Message{Content: []core.Block{{Text: strings.Repeat("x", 127)}, {Text: strings.Repeat("y", 128)}, {Text: strings.Repeat("z", 20_000)}}}),
	}
	for _, id := range []string{uuid, strings.ToUpper(uuid), "00000000-0000-0000-0000-000000000000", uuid[1:], uuid + ".2", one, one + ".2.1", "0123456789abcdef", "\xff", strings.ReplaceAll(uuid, "-", "")} {
		entries["the id "+id] = message(core.Message{ID: id})
	}
	for _, hash := range []string{strings.Repeat("0", 32), "0190abcdef0190abcdef0190abcdef01", "0190ABcdef0190abcdef0190abcdef01", "0190abcdef0190abcdef0190abcdef0", "0190abcdef0190abcdef0190abcdef0101", "g190abcdef0190abcdef0190abcdef01"} {
		entries["the prompt "+hash] = thread.Entry{Prompt: hash}
	}
	for _, word := range []string{"user", "assistant", "tool", "system", "\x01"} {
		entries["the role "+word] = message(core.Message{Role: core.Role(word)})
	}
	for name, e := range entries {
		b := encodeEntry(t, e)
		got, err := thread.Records{}.DecodeEntry(b)
		if diff := cmp.Diff(e, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
		if again := encodeEntry(t, got); !bytes.Equal(again, b) {
			t.Errorf("%s: %s became %s", name, spelled(b), spelled(again))
		}
	}
}

// What a word is stored as never changes.
func TestWordsAreNumbers(t *testing.T) {
	for number, words := range map[string][]string{
		"3":   {"user", "assistant", "tool"},
		"4.1": {"text", "reasoning", "file"},
		"6.6": {"ok", "error", "invalid", "blocked", "denied", "set", "cancelled", "not_executed", "unknown"},
		"12":  {"end_turn", "tool_use", "max_tokens", "stop_sequence", "content_filter", "context_overflow", "other"},
		"11":  {"add", "replace", "remove"},
	} {
		for i, word := range words {
			e, want := thread.Entry{Message: &core.Message{}}, fmt.Sprintf("1:1 5:{%s:%d}", number, i+1)
			switch number {
			case "3":
				e.Message.Role = core.Role(word)
			case "4.1":
				e.Message.Content, want = []core.Block{{Type: core.BlockType(word)}}, fmt.Sprintf("1:1 5:{4:{1:%d}}", i+1)
			case "6.6":
				e.Message.ToolResult, want = &core.ToolResult{Status: core.ResultStatus(word)}, fmt.Sprintf("1:1 5:{6:{6:%d}}", i+1)
			case "12":
				e.Message.StopReason = core.StopReason(word)
			default:
				e, want = thread.Entry{Patch: state.Patch{{Op: word}}}, fmt.Sprintf("1:1 11:{1:%d}", i+1)
			}
			if got := spelled(encodeEntry(t, e)); got != want {
				t.Errorf("%s is stored as %s, want %s", word, got, want)
			}
		}
	}
}

// JSON keeps its bytes, but for white space between its parts, as in other records.
func TestJSONInAnEntryIsStoredWithoutWhiteSpace(t *testing.T) {
	e := thread.Entry{Arguments: json.RawMessage("{ \"a\": [1.50, \"<\u2028\\u003c \"] }")}
	if got, want := spelled(encodeEntry(t, e)), "1:1 26:x"+fmt.Sprintf("%x", "{\"a\":[1.50,\"<\u2028\\u003c \"]}"); got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
}

func TestADamagedEntrySaysWhatIsWrong(t *testing.T) {
	tests := []struct{ text, want string }{
		{"1:1 3:1 2:" + oneID, "entry: field 2 follows field 3"},
		{"1:1 3:1 3:1", "entry: field 3 follows field 3"},
		{"1:1 1:1", "entry: field 1 follows field 1"},
		{"1:1 3:0", "entry: field 3 is 0"},
		{"1:1 3:`a`", "entry: field 3 has the wire type 2, want 0"},
		{"1:1 5:7", "entry: field 5 has the wire type 0, want 2"},
		{"1:1 15:7", "entry: field 15 has the wire type 0, want 5"},
		{"1:1 15:i0", "entry: field 15 is 0"},
		{"1:1 2:x00000000000000000000000000000000", "entry: field 2 is 0"},
		{"1:1 10:`a`", "entry: field 10 has 1 bytes, want 16"},
		{"1:1 18:65536", "entry: field 18 is 65536, at most 65535 is allowed"},
		{"1:1 19:256", "entry: field 19 is 256, at most 255 is allowed"},
		{"1:1 6:{5:2147483648}", "totals: field 5 is 2147483648, at most 2147483647 is allowed"},
		{"1:1 6:{6:2147483648}", "totals: field 6 is 2147483648, at most 2147483647 is allowed"},
		{"1:1 6:{7:2147483648}", "totals: field 7 is 2147483648, at most 2147483647 is allowed"},
		{"1:1 20:x80", "entry: field 20 has a number that is malformed"},
		{"1:1 20:``", "entry: field 20 is empty"},
		{"1:1 23:2", "entry: field 23 is 2, want 1"},
		{"1:1 26:`{`", "entry: field 26 is not JSON"},
		{"1:1 27:`[]`", "entry: field 27: json: cannot unmarshal array into Go value of type state.Command"},
		{"1:1 10:" + oneID + " 33:`a`", "entry: fields 10 and 33 are both there"},
		{"1:1 5:{1:x01}", "message: field 1 has 1 bytes, want 16"},
		{"1:1 5:{2:``}", "message: field 2 is empty"},
		{"1:1 5:{536870911:1 2:`a`}", "message: field 2 follows field 536870911"},
		{"1:1 5:{536870912:1 2:`a`}", "message: a tag is malformed"},
		{"1:1 5:{3:4}", "message: field 3 is word 4, at most 3 is known"},
		{"1:1 5:{3:0}", "message: field 3 is 0"},
		{"1:1 5:{7:`a`}", "message: field 7 has 1 bytes, want 16"},
		{"1:1 5:{8:`a`}", "message: field 8 has the wire type 2, want 0"},
		{"1:1 5:{4:{2:``}}", "block: field 2 is empty"},
		{"1:1 5:{5:{3:`{}{}`}}", "call: field 3 is not JSON"},
		{"1:1 5:{6:{7:`[]`}}", "result: field 7: json: cannot unmarshal array into Go value of type map[string]json.RawMessage"},
		{"1:1 5:{6:{8:{2:``}}}", "block: field 2 is empty"},
		{"1:1 5:{4:{9:`{}`}}", "block: field 9: json: cannot unmarshal object into Go value of type []core.Annotation"},
		{"1:1 6:{1:{6:1 1:1}}", "usage: field 1 follows field 6"},
		{"1:1 7:{10:`short`}", "window: field 10 has 5 bytes, want 12"},
		{"1:1 11:{1:4}", "operation: field 1 is word 4, at most 3 is known"},
	}
	for _, tt := range tests {
		_, err := thread.Records{}.DecodeEntry(written(t, tt.text))
		if core.CodeOf(err) != core.CodeCorrupt || err.Error() != "decode log entry: "+tt.want {
			t.Errorf("%s: error %v, want %s", tt.text, err, tt.want)
		}
	}
	for text, want := range map[string]string{
		"\x08\x01\x18\x81\x00":                         "entry: field 3 is not a number", // 1 in two bytes
		"\x08\x01\x18":                                 "entry: field 3 is not a number",
		"\x08\x01\x98\x00\x01":                         "entry: a tag is malformed",
		"\x08\x01\x00\x01":                             "entry: a tag is malformed",
		"\x08\x01\x19\x01":                             "entry: field 3 has the wire type 1",
		"\x08\x01\x7d\x01\x01\x01":                     "entry: field 15 is cut off",
		"\x08\x01\xd2\x01\x02{":                        "entry: field 26 is cut off",
		"\x08\x01\xd2\x01\x82\x00{}":                   "entry: field 26 is cut off", // 2 in two bytes
		"\x08\x01\xd2\x01\xff\xff\xff\xff\xff\xff\x7f": "entry: field 26 is cut off", // memory is not taken for it
	} {
		_, err := thread.Records{}.DecodeEntry([]byte(text))
		if core.CodeOf(err) != core.CodeCorrupt || err.Error() != "decode log entry: "+want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// However much is cut off the end of an entry, it is damaged, and not an entry without the
// fields that are missing. Nothing may follow its end.
func TestAnEntryThatIsCutOffIsDamaged(t *testing.T) {
	var full thread.Entry
	(&filler{}).fill(reflect.ValueOf(&full).Elem())
	for name, e := range map[string]thread.Entry{"nothing": {}, "a usual turn": usualTurn(), "all fields": full} {
		b := encodeEntry(t, e)
		for n := 2; n < len(b); n++ { // with a whole schema
			if _, err := (thread.Records{}).DecodeEntry(b[:n]); core.CodeOf(err) != core.CodeCorrupt {
				t.Fatalf("%s: the first %d of %d bytes are read with %v, want corrupt", name, n, len(b), err)
			}
		}
	}
	for text, want := range map[string]string{
		"\x08\x01\x18\x02":                     "it is cut off: field 2047 is missing",
		"\x08\x01\xf8\x7f\x02":                 "field 2047 is 2, want 1",
		"\x08\x01\xf8\x7f\x01\xf8\x7f\x01":     "3 bytes follow field 2047",
		"\x08\x01\xf8\x7f\x01\x80\x80\x01\x01": "4 bytes follow field 2047", // field 2048
	} {
		_, err := thread.Records{}.DecodeEntry([]byte(text))
		if core.CodeOf(err) != core.CodeCorrupt || err.Error() != "decode log entry: entry: "+want {
			t.Errorf("%q: error %v, want %s", text, err, want)
		}
	}
}

// Parts of an entry keep what a newer program has in them, when they are in the same place.
func TestPartsKeepFieldsOfANewerProgram(t *testing.T) {
	const stored = "1:1 2:" + oneID + " 5:{2:`m` 4:{1:1 2:`a` 10:1} 4:{1:1 2:`b` 10:2 10:3} 6:{1:`c` 8:{1:1 2:`d` 10:4} 9:{}} 9:{1:7 9:1} 17:x00} 6:{1:{1:7 9:1} 3:1 11:i9} 7:{1:3 14:`z`} 11:{1:1 2:`/run/k` 3:`1` 4:1} 21:{2:2 3:1} 34:1 999:i1 1001:`t`"
	var records thread.Records
	payload := written(t, stored)
	for _, tt := range []struct {
		name   string
		change func(e *thread.Entry)
		want   string
	}{
		{"nothing", func(*thread.Entry) {}, stored},
		{"a value before and one after", func(e *thread.Entry) { e.Step, e.Closing = 1, true }, "1:1 2:" + oneID + " 3:1 5:{2:`m` 4:{1:1 2:`a` 10:1} 4:{1:1 2:`b` 10:2 10:3} 6:{1:`c` 8:{1:1 2:`d` 10:4} 9:{}} 8:0 9:{1:7 9:1} 17:x00} 6:{1:{1:7 9:1} 3:1 11:i9} 7:{1:3 14:`z`} 11:{1:1 2:`/run/k` 3:`1` 4:1} 21:{2:2 3:1} 23:1 34:1 999:i1 1001:`t`"},
		{"a part that is gone, and a longer list", func(e *thread.Entry) {
			e.Window, e.Totals, e.Superseded, e.Patch = nil, nil, nil, nil
			e.Message.Content = append(e.Message.Content, core.Block{Type: core.BlockText})
		}, "1:1 2:" + oneID + " 5:{2:`m` 4:{1:1 2:`a`} 4:{1:1 2:`b`} 4:{1:1} 6:{1:`c` 8:{1:1 2:`d` 10:4} 9:{}} 9:{1:7 9:1} 17:x00} 34:1 999:i1 1001:`t`"},
	} {
		e, err := records.DecodeEntry(payload)
		if err != nil {
			t.Fatal(err)
		}
		tt.change(&e)
		got, err := records.EncodeEntryAgain(&e, payload)
		want := strings.NewReplacer("{}", "``").Replace(tt.want)
		if diff := cmp.Diff(want, spelled(got)); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}

// usualTurn is a turn as most steps store it.
func usualTurn() thread.Entry {
	return thread.Entry{
		Run: core.ID{1}, Step: 2, At: 1_795_000_000_000, Attempt: 3, Duration: 700, First: 90, Prompt: "0190abcdef0190abcdef0190abcdef01",
		Message: &core.Message{
			ID: one + ".2", Role: core.RoleAssistant, RunID: core.ID{1}, Step: 2, CreatedAt: 1_795_000_000_700,
			Content: []core.Block{{Type: core.BlockText, Text: "It rains in Rome."}}, Usage: &core.Usage{Input: 900, Output: 12},
			Model: "claude-sonnet-4-5", Provider: "anthropic", StopReason: core.StopEndTurn,
		},
		Totals: &thread.Totals{Usage: core.Usage{Input: 1700, Output: 40}, Steps: 2, Called: 1, Calls: []byte{1, 2, 3, 4}},
		Window: &core.Window{Estimate: 812, Tokens: 900, Prefix: [3]uint32{1, 2, 3}},
	}
}

// The same in JSON had 633 bytes.
func TestATurnIsStoredInFewBytes(t *testing.T) {
	if got := len(encodeEntry(t, usualTurn())); got != 177 {
		t.Errorf("it has %d bytes, want 177", got)
	}
}

func TestEntriesOfALogShareTheirNames(t *testing.T) {
	b := encodeEntry(t, usualTurn())
	r := thread.Records{}.Entries()
	first, err := r.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.Decode(b)
	if diff := cmp.Diff(first, second); diff != "" || err != nil {
		t.Fatalf("%v %s", err, diff)
	}
	for name, texts := range map[string][2]string{
		"model":  {first.Message.Model, second.Message.Model},
		"prompt": {first.Prompt, second.Prompt},
	} {
		if unsafe.StringData(texts[0]) != unsafe.StringData(texts[1]) {
			t.Errorf("the %s is in memory twice", name)
		}
	}
	if unsafe.StringData(first.Message.Content[0].Text) == unsafe.StringData(second.Message.Content[0].Text) {
		t.Error("a text is taken for a name")
	}
	if allocs := testing.AllocsPerRun(100, func() { _, _ = r.Decode(b) }); allocs > 8 {
		t.Errorf("a turn takes %.0f objects, want at most 8", allocs)
	}
}

// A log with ever new names does not keep them all.
func TestNamesThatAreKeptAreBounded(t *testing.T) {
	r := thread.Records{}.Entries()
	read := func(model string) string {
		e, err := r.Decode(encodeEntry(t, thread.Entry{Message: &core.Message{Model: model}}))
		if err != nil || e.Message.Model != model {
			t.Fatalf("%q became %q, %v", model, e.Message.Model, err)
		}
		return e.Message.Model
	}
	kept := func(model string) bool {
		first, second := read(model), read(model)
		return unsafe.StringData(first) == unsafe.StringData(second)
	}
	if !kept(strings.Repeat("x", 128)) || kept(strings.Repeat("x", 129)) {
		t.Error("the longest name that is kept has not 128 bytes")
	}
	for i := range 255 {
		read(fmt.Sprint("model ", i))
	}
	if !kept("model 254") || kept("model 255") {
		t.Error("not 256 names are kept")
	}
}

func FuzzDecodeEntry(f *testing.F) {
	var full thread.Entry
	(&filler{}).fill(reflect.ValueOf(&full).Elem())
	f.Add(encodeEntry(f, full))
	f.Add(encodeEntry(f, usualTurn()))
	for _, text := range []string{
		"1:1 2:" + oneID + " 3:1 5:{2:`m` 3:1 4:{1:1 2:`hi` 9:1}}",
		"1:1 28:`{\"batch\":{\"mutations\":[{\"key\":\"k\",\"update\":1}]},\"effects\":[{\"key\":\"e\"}]}`",
		"1:3 5:{6:{1:`c` 2:`n` 3:`{\"a\": [1,2]}` 8:i1} 7:``} 34:1 1000:`x` 1001:``",
		"1:3 6:{8:x01020304} 11:{1:1 2:`/run/a`} 1000:`x`",
	} {
		f.Add(written(f, text))
	}
	records := thread.Records{Schemas: thread.Schemas{Reads: 3, Writes: 3}, Extra: "x"}
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := records.DecodeEntry(b)
		if err != nil {
			if code := core.CodeOf(err); code != core.CodeCorrupt && code != core.CodeSchema {
				t.Fatalf("code %s: %v", code, err)
			}
			return
		}
		once, err := records.EncodeEntry(&e)
		if err != nil {
			t.Fatalf("%s was decoded and cannot be encoded: %v", spelled(b), err)
		}
		again, err := records.DecodeEntry(once)
		if err != nil {
			t.Fatalf("%s does not decode: %v", spelled(once), err)
		}
		if twice, err := records.EncodeEntry(&again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("%s became %s (%v)", spelled(once), spelled(twice), err)
		}
		whole, err := records.EncodeEntryAgain(&e, b)
		if err != nil {
			t.Fatalf("%s cannot be encoded again: %v", spelled(b), err)
		}
		if again, err = records.DecodeEntry(whole); err != nil {
			t.Fatalf("%s does not decode: %v", spelled(whole), err)
		}
		if twice, err := records.EncodeEntry(&again); err != nil || !bytes.Equal(once, twice) {
			t.Fatalf("with unknown fields %s became %s (%v)", spelled(once), spelled(twice), err)
		}
		if twice, err := records.EncodeEntryAgain(&again, whole); err != nil || !bytes.Equal(whole, twice) {
			t.Fatalf("unknown fields of %s became %s (%v)", spelled(whole), spelled(twice), err)
		}
	})
}

func BenchmarkDecodeEntry(b *testing.B) {
	payload := encodeEntry(b, usualTurn())
	r := thread.Records{}.Entries()
	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))
	for b.Loop() {
		if _, err := r.Decode(payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncodeEntry(b *testing.B) {
	e := usualTurn()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := (thread.Records{}).EncodeEntry(&e); err != nil {
			b.Fatal(err)
		}
	}
}
