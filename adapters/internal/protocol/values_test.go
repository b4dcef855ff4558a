package protocol

import (
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestValues(t *testing.T) {
	for text, want := range map[string]int{
		`1`: 1, `""`: 1, `[]`: 1, `{}`: 1, ` [ ] `: 1, "{\n\t\r}": 1, `[1]`: 2, `[ 1 , 2 ]`: 3, `[[],{},[[]]]`: 5,
		`{"a":1}`: 2, `{"a":{"b":[]},"c":null}`: 4, `[",,,[[["]`: 2, `["\",,,"]`: 2, `["\\",","]`: 3, `["\\\",","a"]`: 3, `{"[":"]",",":[true,-1.5e3]}`: 5,
		`["",""]`: 3, `["a\\\\",1]`: 3, `["`: 2, `["\"`: 2, `"\`: 1, `[`: 1, `[ `: 1, "[\n[\t]\r,{ \n} ]": 3,
	} {
		if got := values([]byte(text)); got != want {
			t.Errorf("%s: %d values, want %d", text, got, want)
		}
	}
}

// list returns a list that is a body of a number of values.
func list(value string, values int) []byte {
	return []byte(`[` + strings.Repeat(value+`,`, values-2) + value + `]`)
}

func TestCheckValues(t *testing.T) {
	const want = "body has 200001 JSON values, at most 200000 are allowed: send only the newest messages, and large results as text or by URL"
	for _, value := range []string{`1`, `{}`, ` [ ]`, `""`, `"\",,,"`} {
		if err := CheckValues(list(value, 200_000)); err != nil {
			t.Errorf("200,000 values, with %s: %v", value, err)
		}
		if err := CheckValues(list(value, 200_001)); err == nil || err.Error() != want || core.CodeOf(err) != core.CodeTooLarge {
			t.Errorf("200,001 values, with %s: %v, want %s", value, err, want)
		}
	}
	for _, long := range []string{strings.Repeat(",", 400_000), strings.Repeat("{", 400_000), strings.Repeat("[", 400_000)} {
		if err := CheckValues([]byte(`{"text":"` + long + `"}`)); err != nil {
			t.Errorf("one long string: %v", err)
		}
	}
	text := list(`"\\\""`, 200_000)
	if got := testing.AllocsPerRun(10, func() { _ = CheckValues(text) }); got != 0 {
		t.Errorf("%g allocations", got)
	}
}

// A history of 4 MB as an AG-UI client sends it, with a tool call in each turn and answers of
// one sentence, has fewer values than are allowed.
func TestALongHistoryHasFewValues(t *testing.T) {
	const turn = `{"id":"0b9a7c0e-4a3f-4c44-9f0c-5d1f3a2b7e61","role":"user","content":"What is the weather in Lisbon tomorrow, and do I need an umbrella?"},` +
		`{"id":"01980c2e5f7a7b21.1","role":"assistant","toolCalls":[{"id":"call_Vt5rXq9bLz","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Lisbon\",\"day\":1}"}}]},` +
		`{"id":"01980c2e5f7a7b21.2","role":"tool","toolCallId":"call_Vt5rXq9bLz","content":"{\"high\":24,\"low\":16,\"rain\":0.1,\"wind\":{\"speed\":17,\"from\":\"NW\"}}"},` +
		`{"id":"01980c2e5f7a7b21.3","role":"assistant","content":"Tomorrow it is 24 degrees in Lisbon and almost surely dry, so you need no umbrella."}`
	history := []byte(`{"threadId":"t1","messages":[` + strings.Repeat(turn+`,`, 4<<20/len(turn)-1) + turn + `]}`)
	if err := CheckValues(history); err != nil || len(history) < 4_190_000 {
		t.Errorf("%d bytes: %v", len(history), err)
	}
	if got := values(history); got > 160_000 {
		t.Errorf("%d bytes have %d values", len(history), got)
	}
}

// One body is a long text, the others are at the limit.
func BenchmarkCheckValues(b *testing.B) {
	for name, text := range map[string][]byte{
		"short": []byte(`{"messages":[{"role":"user","content":"hi"}]}`), "a text": []byte(`"` + strings.Repeat("x", 4<<20) + `"`),
		"quotes": []byte(`"` + strings.Repeat(`\"`, 2<<20) + `"`), "values": list(`1`, 200_000), "commas": []byte(`"` + strings.Repeat("some, text", 400_000) + `"`), "objects": list(`{}`, 1_400_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				_ = CheckValues(text)
			}
		})
	}
}
