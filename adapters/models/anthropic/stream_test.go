package anthropic

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// read returns what a stream of events comes to, a line each.
func read(stream string) []string {
	var got []string
	_, err := wire.Read(strings.NewReader(stream), &turn{}, func(d model.Delta) bool {
		switch d.Type {
		case model.DeltaText:
			got = append(got, "text "+d.Text)
		case model.DeltaReasoning:
			got = append(got, fmt.Sprintf("reasoning %s%s", d.Text, d.Echo))
		case model.DeltaToolStart:
			got = append(got, fmt.Sprintf("call %d %s %s", d.Index, d.CallID, d.Name))
		case model.DeltaToolArgument:
			got = append(got, fmt.Sprintf("argument %d %s", d.Index, d.Text))
		case model.DeltaUsage:
			got = append(got, fmt.Sprintf("usage %+v", d.Usage))
		case model.DeltaStop:
			got = append(got, "stop "+string(d.Stop))
		}
		return true
	})
	if err != nil {
		var f wire.Failure
		if errors.As(err, &f) {
			got = append(got, fmt.Sprintf("failure %s: %s", f.Kind, f.Message))
		} else {
			got = append(got, "error: "+err.Error())
		}
	}
	return got
}

// The streams are shaped after the reference of the Messages API, streaming, and what
// servers that speak it do differently.
func TestStreams(t *testing.T) {
	const (
		stop  = `{"type":"message_stop"}`
		tool  = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"now","input":{}}}`
		close = `{"type":"content_block_stop","index":0}`
	)
	reason := func(r string) string { return `{"type":"message_delta","delta":{"stop_reason":"` + r + `"}}` }
	tests := []struct {
		name   string
		events []string
		want   []string
	}{
		{"a message that begins twice", []string{
			`{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":17,"output_tokens":1}}}`,
			`{"type":"message_start","message":{"id":"msg_1","usage":{"input_tokens":17,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi."}}`, close, reason("end_turn"), stop,
		}, []string{"usage {Input:17 Output:1 CacheRead:0 CacheWrite:0 Reasoning:0 CacheWriteHour:0 Long:<nil>}", "text Hi.", "stop end_turn"}},
		{"another message within the first", []string{
			`{"type":"message_start","message":{"id":"msg_1"}}`, tool,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"zone"}}`,
			`{"type":"message_start","message":{"id":"msg_2"}}`, tool, close, reason("tool_use"), stop,
		}, []string{"call 0 toolu_1 now", `argument 0 {"zone`, `error: message "msg_2" began within message "msg_1"`}},
		{"the same id again, in the middle", []string{
			`{"type":"message_start","message":{"id":"msg_1"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"Hi."}}`,
			`{"type":"message_start","message":{"id":"msg_1"}}`, close, reason("end_turn"), stop,
		}, []string{"text Hi.", "stop end_turn"}},
		{"thinking that is cut within a character", []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm \ud83d"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"\ude00"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}`, close, reason("end_turn"), stop,
		}, []string{"reasoning hm ", "reasoning 😀", `reasoning {"type":"thinking","thinking":"hm 😀","signature":"s"}`, "stop end_turn"}},
		{"messages without ids", []string{
			`{"type":"message_start","message":{}}`, `{"type":"message_start","message":{}}`, tool, close,
			`{"type":"message_start","message":{}}`, reason("tool_use"), stop,
		}, []string{"call 0 toolu_1 now", `error: message "" began within message ""`}},
		{"usage that comes in parts", []string{
			`{"type":"message_start","message":{"usage":{"input_tokens":7,"cache_read_input_tokens":20,"cache_creation_input_tokens":100,"output_tokens":1}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":8,"output_tokens":50,"output_tokens_details":{"thinking_tokens":30}}}`, stop,
		}, []string{
			"usage {Input:127 Output:1 CacheRead:20 CacheWrite:100 Reasoning:0 CacheWriteHour:0 Long:<nil>}",
			"usage {Input:128 Output:50 CacheRead:20 CacheWrite:100 Reasoning:30 CacheWriteHour:0 Long:<nil>}", "stop end_turn",
		}},
		{"tokens that the cache keeps for an hour", []string{
			`{"type":"message_start","message":{"usage":{"input_tokens":7,"cache_creation_input_tokens":100,"cache_creation":{"ephemeral_5m_input_tokens":40,"ephemeral_1h_input_tokens":60},"output_tokens":1}}}`, reason("end_turn"), stop,
		}, []string{"usage {Input:107 Output:1 CacheRead:0 CacheWrite:100 Reasoning:0 CacheWriteHour:60 Long:<nil>}", "stop end_turn"}},
		{"more for an hour than all that the cache got", []string{
			`{"type":"message_start","message":{"usage":{"input_tokens":7,"cache_creation_input_tokens":50,"cache_creation":{"ephemeral_1h_input_tokens":60},"output_tokens":1}}}`, reason("end_turn"), stop,
		}, []string{"usage {Input:57 Output:1 CacheRead:0 CacheWrite:50 Reasoning:0 CacheWriteHour:50 Long:<nil>}", "stop end_turn"}},
		{"text and thinking that come with their blocks", []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"a","signature":"s"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"<b>"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"t"}}`, close,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":"c"}}`, `{"type":"content_block_stop","index":1}`, reason("end_turn"), stop,
		}, []string{"reasoning a", "reasoning <b>", `reasoning {"type":"thinking","thinking":"a<b>","signature":"st"}`, "text c", "stop end_turn"}},
		{"thinking that is not shown", []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}`, close, reason("end_turn"), stop,
		}, []string{`reasoning {"type":"thinking","thinking":"","signature":"s"}`, "stop end_turn"}},
		{"redacted thinking", []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"d"}}`, close, reason("end_turn"), stop,
		}, []string{`reasoning {"type":"redacted_thinking","data":"d"}`, "stop end_turn"}},
		{"unsigned thinking of another server", []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"a"}}`, close, reason("end_turn"), stop,
		}, []string{"reasoning a", "stop end_turn"}},
		{"calls side by side, and one without an argument", []string{
			tool, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_2","name":"add","input":{}}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"a\""}}`, close,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":1}"}}`, `{"type":"content_block_stop","index":1}`, reason("tool_use"), stop,
		}, []string{"call 0 toolu_1 now", "call 1 toolu_2 add", `argument 1 {"a"`, `argument 1 :1}`, "argument 0 {}", "stop tool_use"}},
		{"a call without an argument, and text behind it", []string{
			tool, close, `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`, reason("max_tokens"), stop,
		}, []string{"call 0 toolu_1 now", "argument 0 {}", "stop max_tokens"}},
		{"a call that the limit may have cut off before its first argument", []string{tool, close, reason("max_tokens"), stop},
			[]string{"call 0 toolu_1 now", "argument 0 {", "stop max_tokens"}},
		{"a call that a refusal may have cut off", []string{tool, close, reason("refusal"), stop}, []string{"call 0 toolu_1 now", "argument 0 {", "stop content_filter"}},
		{"a call that the window may have cut off", []string{tool, close, reason("model_context_window_exceeded"), stop}, []string{"call 0 toolu_1 now", "argument 0 {", "stop context_overflow"}},
		{"a call without a stop reason", []string{tool, close, stop}, []string{"call 0 toolu_1 now", "argument 0 {}", "stop other"}},
		{"a call whose arguments came with its beginning", []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"add","input":{"a": 1}}}`, close, reason("tool_use"), stop,
		}, []string{"call 0 1 add", `argument 0 {"a": 1}`, "stop tool_use"}},
		{"an event that leaves out what the one before it had", []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"add","input":{"a":1}}}`, close,
			`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","name":"now"}}`, `{"type":"content_block_stop","index":1}`, reason("tool_use"), stop,
		}, []string{"call 0 1 add", `argument 0 {"a":1}`, "call 1  now", "argument 1 {}", "stop tool_use"}},
		{"pieces count more than the beginning", []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"1","name":"add","input":{"a":1}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"b\":2}"}}`, close, reason("tool_use"), stop,
		}, []string{"call 0 1 add", `argument 0 {"b":2}`, "stop tool_use"}},
		{"blocks and pieces of kinds that nobody asked for", []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"1","name":"web_search","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}`, close,
			`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}`, `{"type":"content_block_stop","index":1}`,
			"@a_new_event " + `{"type":"a_new_event","index":{}}`, reason("end_turn"), stop,
		}, []string{"stop end_turn"}},
		{"no JSON", []string{`{"type":"message_start"`}, []string{"error: read an event: unexpected end of JSON input"}},
		{"a new event, and a ping", []string{`{"type":"ping"}`, `{"type":"a_new_event","x":[1]}`, reason("pause_turn"), stop}, []string{"stop other"}},
		{"the end of a message within a call", []string{tool, reason("max_tokens"), stop},
			[]string{"call 0 toolu_1 now", "error: the message ended within the tool call of block 0"}},
		{"the end of a message within a text", []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"a"}}`, reason("end_turn"), stop,
		}, []string{"text a", "stop end_turn"}},
		{"a piece of nothing", []string{`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}`}, []string{"error: a piece of block 0, which is not open"}},
		{"the end of nothing", []string{close}, []string{"error: the end of block 0, which is not open"}},
		{"a call without a name", []string{`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"1"}}`}, []string{"error: the tool call of block 2 has no name"}},
		{"an error without a message", []string{`{"type":"error","error":{"type":"api_error"}}`}, []string{"failure : api_error"}},
		{"an end without its last event", []string{reason("end_turn")}, []string{"failure interrupted: the stream ended before the turn did"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var stream strings.Builder
			for _, e := range test.events {
				if name, data, ok := strings.Cut(e, " "); ok && name[0] == '@' {
					stream.WriteString("event: " + name[1:] + "\n")
					e = data
				}
				stream.WriteString("data: " + e + "  \n\n")
			}
			if diff := cmp.Diff(test.want, read(stream.String())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzStream reads anything as a stream: it ends in one stop or one error, and no delta is
// of a call that has not begun.
func FuzzStream(f *testing.F) {
	f.Add([]byte("data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"name\":\"a\",\"input\":{\"b\":1}}}\n\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\ndata: {\"type\":\"message_stop\"}\n\n"))
	f.Add([]byte("data: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"thinking\",\"signature\":\"s\"}}\n\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n"))
	f.Add([]byte("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		calls, stops := 0, 0
		complete, err := wire.Read(strings.NewReader(string(stream)), &turn{}, func(d model.Delta) bool {
			switch d.Type {
			case model.DeltaToolStart:
				if d.Index != calls || d.Name == "" {
					t.Errorf("call %+v behind %d calls", d, calls)
				}
				calls++
			case model.DeltaToolArgument:
				if d.Index >= calls {
					t.Errorf("arguments of call %d of %d", d.Index, calls)
				}
			case model.DeltaStop:
				stops++
			}
			return true
		})
		if complete != (stops == 1) || complete == (err != nil) {
			t.Errorf("complete %v, %d stops, %v", complete, stops, err)
		}
	})
}
