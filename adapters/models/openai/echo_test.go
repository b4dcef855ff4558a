package openai

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// decodeWith reads a stream of a dialect without HTTP.
func decodeWith(t *turn, stream string) []string {
	return lines(func(yield func(model.Delta, error) bool) {
		if _, err := wire.Read(strings.NewReader(stream), t, func(d model.Delta) bool { return yield(d, nil) }); err != nil {
			yield(model.Delta{}, err)
		}
	})
}

func TestDetailsAreKeptForWhoWantsThemBack(t *testing.T) {
	stream := data(`{"choices":[{"delta":{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0}]},"finish_reason":"stop"}]}`)
	for echo, want := range map[echoForm][]string{
		echoNothing: {"reasoning a", "stop end_turn"},
		echoContent: {"reasoning a", `reasoning echo "reasoning_content"`, "stop end_turn"},
		echoDetails: {"reasoning a", `reasoning echo [{"index":0,"text":"a","type":"reasoning.text"}]`, "stop end_turn"},
	} {
		read := &turn{echo: echo}
		if diff := cmp.Diff(want, decodeWith(read, stream)); diff != "" || len(read.details.all) > 0 {
			t.Errorf("%d: %d details are kept\n%s", echo, len(read.details.all), diff)
		}
		read = &turn{echo: echo}
		decodeWith(read, strings.Replace(stream, `"stop"`, "null", 1))
		if kept := len(read.details.all) > 0; kept != (echo == echoDetails) {
			t.Errorf("%d: before the end details are kept: %v", echo, kept)
		}
	}
}

// Twice the pieces cost twice as much: a piece does not decode and encode all before it.
func TestDetailsCostWhatTheyAreLong(t *testing.T) {
	const pieces, limit = 5_000, 64 << 20
	chunk := data(`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"` + strings.Repeat("x", 200) + `","index":0}]}}]}`)
	stream := strings.Repeat(chunk, pieces) + data(`[DONE]`)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := decodeWith(&turn{echo: echoDetails}, stream)
	runtime.ReadMemStats(&after)
	want := `reasoning echo [{"index":0,"text":"` + strings.Repeat("x", 200*pieces) + `","type":"reasoning.text"}]`
	if len(got) != 2 || got[0] != want {
		t.Errorf("%d deltas, the first is %.60q", len(got), got[0])
	}
	if cost := after.TotalAlloc - before.TotalAlloc; cost > limit {
		t.Errorf("1 MB of details allocated %d MB", cost>>20)
	}
}

func TestCallsAreHeldUntilTheDetailsBehindThem(t *testing.T) {
	got := decodeWith(&turn{echo: echoDetails}, data(
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"add","arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"y","function":{"arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}},{"index":1,"function":{"name":"now","arguments":"}"}}]}}]}`,
		`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted","data":"e"}]}}]}`,
		`{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`))
	want := []string{`reasoning echo [{"data":"e","type":"reasoning.encrypted"}]`,
		"call 0 x add", "argument 0 {}", "call 1 y now", "argument 1 {}", "stop tool_use"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsHeldIsBounded(t *testing.T) {
	large := strings.Repeat("x", 900_000)
	const calls = `"tool_calls":[{"index":0,"id":"x","function":{"name":"add","arguments":"%s"}}]`
	tests := []struct {
		name  string
		echo  echoForm
		piece string
		takes int // pieces of 20
	}{
		{"arguments", echoDetails, calls, 18},
		{"a text", echoDetails, `"reasoning_details":[{"type":"reasoning.text","text":"%s","index":0}]`, 18},
		{"details", echoDetails, `"reasoning_details":[{"type":"reasoning.encrypted","data":"%s"}]`, 18},
		{"where nothing is held", echoNothing, calls, 20},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			read, taken := &turn{echo: tt.echo}, 0
			event := wire.Event{Data: fmt.Appendf(nil, `{"choices":[{"delta":{`+tt.piece+`}}]}`, large)}
			var err error
			for taken < 20 {
				if _, _, err = read.Add(event); err != nil {
					break
				}
				taken++
			}
			if taken != tt.takes || taken < 20 && fmt.Sprint(err) != "the calls and the reasoning details of a turn are longer than 16 MB" {
				t.Errorf("%d pieces of 0.9 MB, want %d: %v", taken, tt.takes, err)
			}
		})
	}
}
