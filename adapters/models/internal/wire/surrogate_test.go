package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

func TestHalvesAreMarked(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"none", `{"a":"\u00e9\\ud83d"}`, `{"a":"\u00e9\\ud83d"}`},
		{"a pair", `"\ud83d\ude00 \uD83D\uDE00"`, `"\ud83d\ude00 \uD83D\uDE00"`},
		{"the first half", `"a\ud83d"`, "\"a\ufdd0d83d\""},
		{"the second half", `"\uDE00a"`, "\"\ufdd0DE00a\""},
		{"two first halves and a pair", `"\ud83d\ud83d\ud83d\ude00"`, "\"\ufdd0d83d\ufdd0d83d\\ud83d\\ude00\""},
		{"a pair before a half", `"\ud83d\ude00\ud83d\"\ude00"`, "\"\\ud83d\\ude00\ufdd0d83d\\\"\ufdd0de00\""},
		{"halves in the wrong order", `"\ude00\ud83d"`, "\"\ufdd0de00\ufdd0d83d\""},
		{"behind a backslash, and an odd number of them", `"\\\ud83d \\\\ud83d"`, "\"\\\\\ufdd0d83d \\\\\\\\ud83d\""},
		{"cut escapes", `"\ud83d\u00", "\ud8`, "\"\ufdd0d83d\\u00\", \"\\ud8"},
		{"at the end", `\ud83d`, "\ufdd0d83d"},
		{"a lone backslash at the end", `"\ude00\`, "\"\ufdd0de00\\"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(MarkHalves([]byte(tt.data))); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// pieces are deltas of every kind by short names: t text, r reasoning, a and b the
// arguments of two calls, s the start of one, u a count, e an echo, . the stop.
func pieces(deltas ...string) []model.Delta {
	kinds := map[byte]model.Delta{
		't': {Type: model.DeltaText}, 'r': {Type: model.DeltaReasoning}, 'a': {Type: model.DeltaToolArgument}, 'b': {Type: model.DeltaToolArgument, Index: 1},
		's': {Type: model.DeltaToolStart}, 'u': {Type: model.DeltaUsage}, 'e': {Type: model.DeltaReasoning}, '.': {Type: model.DeltaStop},
	}
	var all []model.Delta
	for _, text := range deltas {
		d := kinds[text[0]]
		switch text = string(MarkHalves([]byte(text[1:]))); d.Type {
		case model.DeltaToolStart:
			d.Name = text
		case model.DeltaReasoning:
			if deltas[len(all)][0] == 'e' {
				d.Echo = json.RawMessage(text)
				break
			}
			d.Text = text
		default:
			d.Text = text
		}
		all = append(all, d)
	}
	return all
}

func TestHalvesAreJoined(t *testing.T) {
	tests := []struct {
		name   string
		deltas []string
		want   string
	}{
		{"no halves", []string{"ta", "rb", "ac", "."}, "1a 2b 4.0c 6"},
		{"text", []string{`ta\ud83d`, `t\ude00b`, "."}, "1a 1😀b 6"},
		{"nothing but halves", []string{`t\ud83d`, `t\ude00`, `t\ud83d`, `t\ude00`, "."}, "1😀 1😀 6"},
		{"reasoning", []string{`r\ud83d`, `r\ude00`, "."}, "2😀 6"},
		{"arguments of two calls in turns", []string{`a"\ud83d`, `b"\ud83d`, `a\ude00"`, `b\ude01"`, "."}, `4.0" 4.1" 4.0😀" 4.1😁" 6`},
		{"usage between", []string{`t\ud83d`, "u", `t\ude00`, "."}, "5 1😀 6"},
		{"an empty piece between", []string{`t\ud83d`, "t", `t\ude00`, "."}, "1😀 6"},
		{"the echo has the whole", []string{`r\ud83d`, `r\ude00`, `e{"a":"\ud83d|\ude00"}`, "."}, "2😀 2{\"a\":\"\ufffd|\ufffd\"} 6"},
		{"another text follows", []string{`t\ud83d`, `tb`, "."}, "1\ufffdb 6"},
		{"another kind follows", []string{`t\ud83d`, `rb`, `t\ude00`, "."}, "1\ufffd 2b 1\ufffd 6"},
		{"a call follows", []string{`t\ud83d`, "sx", "."}, "1\ufffd 3x 6"},
		{"the end follows", []string{`a\ud83d`, `b\ud83d`, "."}, "4.0\ufffd 4.1\ufffd 6"},
		{"an echo follows", []string{`r\ud83d`, `e{}`, "."}, "2\ufffd{} 6"},
		{"two first halves", []string{`t\ud83d\ud83d`, `t\ude00`, "."}, "1\ufffd 1😀 6"},
		{"a second half alone", []string{`ta\ude00b`, "."}, "1a\ufffdb 6"},
		{"a name", []string{`sx\ude00`, "."}, "3x\ufffd 6"},
		{"noncharacters of a server", []string{"t\ufdd0", "t\ufdd0zzzz", "t\ufdd000e9", "."}, "1\ufdd0 1\ufdd0zzzz 1\ufdd000e9 6"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			var j Joiner
			for _, d := range pieces(tt.deltas...) {
				j.Join(d, func(d model.Delta) bool {
					kind := fmt.Sprint(d.Type)
					if d.Type == model.DeltaToolArgument {
						kind += fmt.Sprintf(".%d", d.Index)
					}
					got = append(got, kind+d.Name+d.Text+string(d.Echo))
					return true
				})
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACitationHasNoMarksAndLeavesTheText(t *testing.T) {
	marked := func(text string) string { return string(MarkHalves([]byte(text))) }
	cited := Cite(core.Annotation{URL: marked(`a\ud83d|`), Title: marked(`b\ude00`), Quote: marked(`c\ud83d`) + marked(`\ude00`), ID: marked(`\ud83d`), Start: 3})
	var got []model.Delta
	var j Joiner
	for _, d := range append(append(pieces(`tx\ud83d`), cited), pieces(`t\ude00`)...) {
		j.Join(d, func(d model.Delta) bool { got = append(got, d); return true })
	}
	want := append(append(pieces("tx"), Cite(core.Annotation{URL: "a\ufffd|", Title: "b\ufffd", Quote: "c😀", ID: "\ufffd", Start: 3})), pieces("t😀")...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A text of halves alone takes no longer than another of its length.
func TestManyHalvesTakeLittleTime(t *testing.T) {
	marked := string(MarkHalves([]byte(strings.Repeat(`\ud83d`, 1<<20))))
	began := time.Now()
	if got := JoinHalves(marked); len(got) != 3<<20 || strings.Trim(got, "\ufffd") != "" {
		t.Errorf("%d bytes, want %d", len(got), 3<<20)
	}
	if took := time.Since(began); took > 20*time.Second { // if each half copies the rest, it takes minutes
		t.Errorf("it takes %v", took)
	}
}

func TestAMessageHasNoMarks(t *testing.T) {
	marked := string(MarkHalves([]byte(`no \ud83d, \ude00`)))
	if got := OneLine(marked+marked, 100); got != "no \ufffd, \ufffdno \ufffd, \ufffd" {
		t.Errorf("got %q", got)
	}
}

func TestAHeldHalfIsNotYieldedAfterTheConsumerHasLeft(t *testing.T) {
	var j Joiner
	none := func(model.Delta) bool { t.Error("a delta after the end"); return false }
	first := pieces(`t\ud83d`)[0]
	if !j.Join(first, none) {
		t.Error("a half that is held ends the stream")
	}
	n := 0
	if j.Join(model.Delta{Type: model.DeltaStop}, func(model.Delta) bool { n++; return false }) || n != 1 {
		t.Errorf("%d deltas, want one, and the end", n)
	}
}

func TestAStreamJoinsHalvesOverItsEvents(t *testing.T) {
	got := readJSON("data: \"a\\ud83d\"\n\ndata: \"\\ude00b\"\n\ndata: \"\\ud83d\"\n\ndata: \".\"\n\n")
	if diff := cmp.Diff([]string{"a", "😀b", "\ufffd", "end_turn"}, got); diff != "" {
		t.Error(diff)
	}
}
