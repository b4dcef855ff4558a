package window_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolrun"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/tool"
)

func TestReaderReturnsPiecesOfResults(t *testing.T) {
	long := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Message: strings.Repeat("0123456789", 1000)}}
	accents := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Message: "éèê"}}
	reader := window.Reader{History: listed(7, user(1), long, accents)}
	tests := []struct {
		arguments string
		want      string
	}{
		{`{"result":8,"offset":9990}`, "0123456789"},
		{`{"result":8,"offset":9985,"limit":5}`, "56789\n\n[These are bytes 9985 to 9990 of 10000. Offset 9990 returns what follows.]"},
		{`{"result":8}`, strings.Repeat("0123456789", 800) + "\n\n[These are bytes 0 to 8000 of 10000. Offset 8000 returns what follows.]"},
		{`{"result":9,"offset":1,"limit":2}`, "é\n\n[These are bytes 0 to 2 of 6. Offset 2 returns what follows.]"},
		{`{"result":9,"offset":2,"limit":1}`, "è\n\n[These are bytes 2 to 4 of 6. Offset 4 returns what follows.]"},
		{`{"result":8,"offset":10000}`, "execution failed: offset is 10000, the result has 10000 bytes"},
		{`{"result":7}`, "execution failed: there is no result 7 in what is shown of the conversation"},
		{`{"result":10}`, "execution failed: there is no result 10 in what is shown of the conversation"},
		{`{}`, "invalid arguments: result is missing or 0, want the number of a result"},
		{`{"result":8,"offset":-1}`, "invalid arguments: offset is -1, want 0 or more"},
		{`{"result":8,"limit":100001}`, "invalid arguments: limit is 100001, allowed are 1 to 100000"},
		{`{"result":8,"limit":-1}`, "invalid arguments: limit is -1, allowed are 1 to 100000"},
		{`{"result":8,"length":1}`, `invalid arguments: unknown field "length" in arguments, allowed are result, offset, limit`},
	}
	for _, tt := range tests {
		got, err := toolrun.Execute(context.Background(), reader, tool.Call{Arguments: json.RawMessage(tt.arguments)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got.Text()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.arguments, diff)
		}
	}
	if err := reader.Spec().Check(); err != nil {
		t.Error(err)
	}
}

// A result of two images is large, however short its text is.
func TestFilesOfLargeResultsAreReferences(t *testing.T) {
	file := core.Block{Type: core.BlockFile, MediaType: "image/png", Data: []byte("png")}
	result := func(files int) core.Message {
		r := core.ToolResult{Message: "Two charts.", Content: []core.Block{{Type: core.BlockText, Text: "Made today."}}}
		for range files {
			r.Content = append(r.Content, file)
		}
		return core.Message{Role: core.RoleTool, ToolResult: &r}
	}
	h := listed(7, user(1), turn(1, 2), result(2), result(1), user(2))
	for reads, want := range map[bool]string{
		true:  "Two charts.\nMade today.\n\n[Omitted: 2 of its files. read_result with result 9 returns them.]",
		false: "Two charts.\nMade today.\n\n[Omitted: 2 of its files.]",
	} {
		shown := window.View(h, core.Window{Short: 100}, nil, nil, reads)
		if got := shown[2].ToolResult; got.Text() != want || got.Content != nil {
			t.Errorf("%+v, want %q", got, want)
		}
		if got := shown[3].ToolResult; len(got.Content) != 2 {
			t.Errorf("a result of one image is not large: %+v", got)
		}
	}
	for arguments, want := range map[string]int{`{"result":9}`: 2, `{"result":9,"limit":3}`: 2, `{"result":9,"offset":3}`: 0} {
		got, err := toolrun.Execute(t.Context(), window.Reader{History: h}, tool.Call{Arguments: json.RawMessage(arguments)})
		if err != nil || len(got.Content) != want || got.Status != core.ResultOK {
			t.Errorf("%s: %+v, %v, want %d files", arguments, got, err, want)
		}
	}
}

// A result may have files alone.
func TestReaderReturnsFilesWithoutText(t *testing.T) {
	file := core.Block{Type: core.BlockFile, MediaType: "image/png", Data: []byte("png")}
	h := listed(7, user(1), turn(1, 2), core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Content: []core.Block{file, file}}})
	got, err := toolrun.Execute(t.Context(), window.Reader{History: h}, tool.Call{Arguments: json.RawMessage(`{"result":9}`)})
	if err != nil || got.Text() != "" || len(got.Content) != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	if got := window.View(h, core.Window{Short: 100}, nil, nil, false)[2].Text(); got != "[Omitted: 2 of its files.]" {
		t.Errorf("%q", got)
	}
}

func TestViewShowsWhatTheWindowSays(t *testing.T) {
	lines := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: "0", Name: "read", Status: core.ResultOK, Message: strings.Repeat("line\n", 2000)}}
	small := core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{Message: strings.Repeat("z", 8191)}}
	h := listed(5, user(1), turn(1, 2), lines, small, user(2))
	summary, opening := core.UserMessage("so far").WithID("s"), core.UserMessage("asked").WithID("o")
	preview := strings.TrimSuffix(strings.Repeat("line\n", 24), "\n")
	rest := " read_result with result 7 and offset 119 returns what follows.]"
	tests := []struct {
		name    string
		window  core.Window
		summary *core.Message
		opening *core.Message
		reads   bool
		want    []string
	}{
		{"all", core.Window{}, nil, nil, true, []string{"x", "y", lines.Text(), small.Text(), "xx"}},
		{"a large result as a reference", core.Window{Short: 8}, nil, nil, true,
			[]string{"x", "y", preview + "\n\n[Shortened: these are the first 119 of 10000 bytes." + rest, small.Text(), "xx"}},
		{"one that cannot be read on", core.Window{Short: 8}, nil, nil, false,
			[]string{"x", "y", preview + "\n\n[Shortened: these are the first 119 of 10000 bytes.]", small.Text(), "xx"}},
		{"not the one at the sequence itself", core.Window{Short: 7}, nil, nil, true, []string{"x", "y", lines.Text(), small.Text(), "xx"}},
		{"from a person's message on", core.Window{First: 9}, nil, nil, true, []string{"xx"}},
		{"a note before a turn", core.Window{First: 6}, nil, nil, true, []string{"(What was said before is left out.)", "y", lines.Text(), small.Text(), "xx"}},
		{"what was asked before a turn", core.Window{First: 6, Opening: 2}, nil, &opening, true, []string{"asked", "y", lines.Text(), small.Text(), "xx"}},
		{"a summary for what is up to it", core.Window{Summary: 8, Opening: 2}, &summary, &opening, true, []string{"so far", "asked", "xx"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, m := range window.View(h, tt.window, tt.summary, tt.opening, tt.reads) {
				got = append(got, m.Text())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(strings.Contains(strings.Join(got, ""), "[Shortened"), window.Shortens(h, tt.window)); diff != "" {
				t.Errorf("shortens (-want +got):\n%s", diff)
			}
		})
	}
	short := window.View(h, core.Window{Short: 8}, nil, nil, true)[2].ToolResult
	if short.CallID != "0" || short.Name != "read" || short.Status != core.ResultOK || short.Data != nil {
		t.Errorf("the reference belongs to %+v", short)
	}
}
