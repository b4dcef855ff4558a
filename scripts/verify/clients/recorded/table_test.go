package recorded

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of README.md")

// fewest is how many transcripts the folder has at least, and largest its size in bytes.
const (
	fewest  = 150
	largest = 3_000_000
)

// marks are around the table of the document.
const (
	begins = "<!-- transcripts -->\n"
	ends   = "<!-- end of transcripts -->\n"
)

func TestTheTableNamesEachTranscript(t *testing.T) {
	all := transcripts(t)
	var table strings.Builder
	table.WriteString("\n| Transcript | Host | API | npm package | Shows | Shape of |\n| --- | --- | --- | --- | --- | --- |\n")
	size := 0
	for _, s := range all {
		size += len(s.body)
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s | %s |\n", s.name, s.host, s.api, s.client, s.shows, s.shape)
	}
	table.WriteString("\n")
	if len(all) < fewest || size > largest {
		t.Errorf("%d transcripts of %d bytes, want %d of at most %d bytes", len(all), size, fewest, largest)
	}
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begins)
	kept, after, closed := strings.Cut(rest, ends)
	if !ok || !closed {
		t.Fatalf("README.md has no lines %s and %s", strings.TrimSpace(begins), strings.TrimSpace(ends))
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(before+begins+table.String()+ends+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if kept != table.String() {
		t.Error("the table is not that of the transcripts, run `go test ./scripts/verify/clients/recorded -run Table -update`")
	}
}
