package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// words is a turn of texts: each event's data is one, "." the end of the protocol, ";"
// the end of what matters. An event named error is a failure, "?" makes no sense.
type words struct{ finished bool }

func (w *words) Add(e Event) (deltas []model.Delta, last bool, err error) {
	text := string(e.Data)
	switch {
	case e.Name == "error":
		return nil, false, Failure{Message: text}
	case text == "?":
		return nil, false, errors.New("no word: ?")
	case text == ".":
		return nil, true, nil
	case text == ";":
		w.finished = true
		return nil, false, nil
	}
	return []model.Delta{{Type: model.DeltaText, Text: text}}, false, nil
}

func (w *words) Finished() bool { return w.finished }

func (w *words) Stop() (core.StopReason, error) { return core.StopEndTurn, nil }

// quotedWords is words whose events are JSON strings.
type quotedWords struct{ words }

func (w *quotedWords) Add(e Event) ([]model.Delta, bool, error) {
	var text string
	if err := json.Unmarshal(e.Data, &text); err != nil {
		return nil, false, err
	}
	e.Data = []byte(text)
	return w.words.Add(e)
}

// read reads a stream without HTTP, one line a delta, the error last.
func read(stream string) []string { return readTurn(stream, &words{}) }

func readJSON(stream string) []string { return readTurn(stream, &quotedWords{}) }

func readTurn(stream string, turn Turn) []string {
	var out []string
	_, err := Read(strings.NewReader(stream), turn, func(d model.Delta) bool {
		out = append(out, d.Text+string(d.Stop))
		return true
	})
	if err != nil {
		out = append(out, "error "+err.Error())
	}
	return out
}

func TestEventsAreCutOutOfAStream(t *testing.T) {
	tests := []struct {
		name, stream string
		want         []string
	}{
		{"two and the end", "data: a\n\ndata: b\n\ndata: .\n\n", []string{"a", "b", "end_turn"}},
		{"CR LF, comments, no space, ids, space behind", ": hello\r\n\r\nid: 1\r\ndata:a  \r\nretry: 5\r\n\r\ndata: .\r\n\r\n", []string{"a", "end_turn"}},
		{"two lines of data are one event", "data: a\ndata: b\n\ndata: .\n\n", []string{"a\nb", "end_turn"}},
		{"empty data is no event", "data:\n\nevent: x\n\ndata: a\n\ndata: .\n\n", []string{"a", "end_turn"}},
		{"a name counts for one event", "event: error\n\ndata: a\n\ndata: .\n\n", []string{"a", "end_turn"}},
		{"a byte order mark", "\ufeffdata: a\n\ndata: .\n\n", []string{"a", "end_turn"}},
		{"no blank line behind the end", "data: a\n\ndata: .", []string{"a", "end_turn"}},
		{"nothing is read behind the end", "data: .\n\ndata: a\n\n", []string{"end_turn"}},
		{"the stream may end here", "data: a\n\ndata: ;\n\n", []string{"a", "end_turn"}},
		{"it may go on as well", "data: ;\n\ndata: a\n\n", []string{"a", "end_turn"}},
		{"an early end", "data: a\n\n", []string{"a", "error the stream ended before the turn did"}},
		{"nothing", "", []string{"error the stream ended before the turn did"}},
		{"an error event", "data: a\n\nevent: error\ndata: busy\n\n", []string{"a", "error busy"}},
		{"an event without sense", "data: ?\n\n", []string{"error no word: ?"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, read(test.stream)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestLinesAndEventsAreBounded(t *testing.T) {
	const tooLong = "error an event of the stream is longer than 16 MB, the limit"
	line := func(size int) string { return "data: " + strings.Repeat("x", size-len("data: ")) + "\n\ndata: .\n\n" }
	lines := func(last int) string { // 15 of 1 MB with their ends, and one more
		one := "data: " + strings.Repeat("x", 1<<20-1) + "\n"
		return strings.Repeat(one, 15) + "data: " + strings.Repeat("x", last) + "\n\ndata: .\n\n"
	}
	tests := []struct {
		name, stream string
		size         int // of the first text
		want         string
	}{
		{"longer than the buffer", line(100 << 10), 100<<10 - 6, "end_turn"},
		{"at the limit", line(16 << 20), 16<<20 - 6, "end_turn"},
		{"over the limit", line(16<<20 + 1), 0, tooLong},
		{"far over the limit", line(40 << 20), 0, tooLong},
		{"lines of one event at the limit", lines(1 << 20), 16 << 20, "end_turn"},
		{"lines of one event over the limit", lines(1<<20 + 1), 0, tooLong},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := read(test.stream)
			if last := got[len(got)-1]; last != test.want {
				t.Errorf("ends with %s, want %s", fmt.Sprintf("%.80q", last), test.want)
			}
			if test.size > 0 && (len(got[0]) != test.size || strings.Trim(got[0], "x\n") != "") {
				t.Errorf("the text has %d bytes, want %d", len(got[0]), test.size)
			}
		})
	}
}

func TestWhatIsReadOfAStreamIsBounded(t *testing.T) {
	for size, want := range map[int]error{256<<20 - 1: nil, 256 << 20: nil, 256<<20 + 1: ErrStreamTooLong} {
		n, err := io.Copy(io.Discard, Limit(&repeated{text: strings.Repeat("x", 4096), left: size}))
		if n != int64(min(size, 256<<20)) || err != want {
			t.Errorf("%d of %d bytes are read, error %v, want %v", n, size, err, want)
		}
	}
}

func TestAStreamIsBounded(t *testing.T) {
	const end = "data: .\n\n"
	comment := ":" + strings.Repeat(" ", 4094) + "\n"
	for size, want := range map[int]string{256 << 20: "end_turn", 256<<20 + 1: "error the stream is longer than 256 MB, the limit"} {
		lines := (256<<20 - len(end)) / len(comment)
		rest := ":" + strings.Repeat(" ", size-len(end)-lines*len(comment)-2) + "\n"
		body := io.MultiReader(&repeated{text: comment, left: lines * len(comment)}, strings.NewReader(rest+end[:len(end)-1]), strings.NewReader(end[len(end)-1:]))
		var got string
		_, err := Read(body, &words{}, func(d model.Delta) bool { got = string(d.Stop); return true })
		if err != nil {
			got = "error " + err.Error()
		}
		if got != want {
			t.Errorf("a stream of %d bytes ends with %s, want %s", size, got, want)
		}
	}
}

func TestEventsThatSayNothingAreBounded(t *testing.T) {
	silent := `data: {"":"` + strings.Repeat("x", 1<<20-7) + "\"}\n\n" // 1 MB, ignored by the turn
	for last, want := range map[string]string{
		"data: {}\n\n":   "error the events of the stream that say nothing are longer than 64 MB, the limit",
		"data: \"\"\n\n": "end_turn", // an event with a delta does not count
	} {
		body := io.MultiReader(&repeated{text: silent, left: 64 * len(silent)}, strings.NewReader(last+"data: \".\"\n\n"))
		var got string
		_, err := Read(body, &objects{}, func(d model.Delta) bool { got = string(d.Stop); return true })
		if err != nil {
			got = "error " + err.Error()
		}
		if got != want {
			t.Errorf("64 MB and %q end with %s, want %s", last, got, want)
		}
	}
}

// objects is quotedWords that ignores objects.
type objects struct{ quotedWords }

func (o *objects) Add(e Event) ([]model.Delta, bool, error) {
	if e.Data[0] == '{' {
		return nil, false, nil
	}
	return o.quotedWords.Add(e)
}

// repeated is a text again and again.
type repeated struct {
	text     string
	at, left int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text[r.at:r.at+min(r.left, len(r.text)-r.at)])
	r.left -= n
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// endless is a line without an end; it counts the bytes that are read.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.read > 64<<20 {
		return 0, errors.New("too much was read")
	}
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

func TestALineIsNotReadBeyondTheLimit(t *testing.T) {
	var body endless
	_, err := Read(&body, &words{}, func(model.Delta) bool { return true })
	if !errors.Is(err, ErrTooLong) || body.read > 16<<20+16<<10 {
		t.Errorf("%d bytes are read, error %v, want no more than 16 MB and a buffer", body.read, err)
	}
}
