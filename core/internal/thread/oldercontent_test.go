package thread_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// within renumbers the fields of a level inside an encoded entry, which its path names.
func within(t *testing.T, b []byte, path []protowire.Number, numbers []protowire.Number, by protowire.Number) []byte {
	t.Helper()
	if len(path) == 0 {
		return renumbered(t, b, numbers, by)
	}
	var all []byte
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(number, kind, b[max(n, 0):])
		if n < 0 || size < 0 {
			t.Fatalf("no field: %x", b)
		}
		if number == path[0] {
			value, _ := protowire.ConsumeBytes(b[n:])
			all = protowire.AppendTag(all, number, kind)
			all = protowire.AppendBytes(all, within(t, value, path[1:], numbers, by))
		} else {
			all = append(all, b[:n+size]...)
		}
		b = b[n+size:]
	}
	return all
}

// A program of before the content of results and the citations of texts reads a thread that
// has them, and writes its records again: they are all there for the newer one.
func TestOlderProgramsIgnoreAndKeepContentAndCitations(t *testing.T) {
	var records thread.Records
	image := core.Block{Type: core.BlockFile, MediaType: "image/png", Data: []byte("png")}
	cited := core.Annotation{Type: core.AnnotationURL, Start: 1, End: 4, URL: "https://a.example", Title: "A", Quote: "q", Document: 1, ID: "f", Unit: core.UnitPage, From: 2, To: 3}
	for _, tt := range []struct {
		name   string
		entry  thread.Entry
		path   []protowire.Number // of the level with the new field
		field  protowire.Number
		unseen func(m *core.Message) bool // by the older program
	}{
		{"a result with files", thread.Entry{Run: core.ID{1}, Step: 2, Message: &core.Message{ID: "r", Role: core.RoleTool, RunID: core.ID{1}, Step: 2,
			ToolResult: &core.ToolResult{CallID: "c", Message: "A cat.", Status: core.ResultOK, Content: []core.Block{{Type: core.BlockText, Text: "See."}, image}}}},
			[]protowire.Number{5, 6}, 8, func(m *core.Message) bool { return m.ToolResult.Content == nil && m.ToolResult.Text() == "A cat." }},
		{"a turn with citations", thread.Entry{Run: core.ID{1}, Step: 2, Message: &core.Message{ID: "t", Role: core.RoleAssistant, RunID: core.ID{1}, Step: 2,
			Content: []core.Block{{Type: core.BlockText, Text: "It rains.", Annotations: []core.Annotation{cited}}, {Type: core.BlockText, Text: "Now."}}}},
			[]protowire.Number{5, 4}, 9, func(m *core.Message) bool { return m.Content[0].Annotations == nil && m.Text() == "It rains.Now." }},
	} {
		b, err := records.EncodeEntry(&tt.entry)
		if err != nil {
			t.Fatal(err)
		}
		numbers := []protowire.Number{tt.field}
		older := within(t, b, tt.path, numbers, 500) // which is not its field
		then, err := records.DecodeEntry(older)
		if err != nil || !tt.unseen(then.Message) {
			t.Fatalf("%s: the older program reads %+v, %v", tt.name, then.Message, err)
		}
		then.Place, tt.entry.Place = 4, 4
		if older, err = records.EncodeEntryAgain(&then, older); err != nil {
			t.Fatal(err)
		}
		numbers[0] += 500
		got, err := records.DecodeEntry(within(t, older, tt.path, numbers, -500))
		if diff := cmp.Diff(tt.entry, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", tt.name, err, diff)
		}
	}
}
