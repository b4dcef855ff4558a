package recorded

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
)

var update = flag.Bool("update", false, "write table.txt")

// uncounted is what a transcript shows that does not count, since the adapters lack it.
const uncounted = "(not counted)"

// fewest is how many transcripts count at least, and largest is the size of all in bytes at
// most.
const (
	fewest  = 150
	largest = 3_000_000
)

func TestTheTableNamesEachTranscript(t *testing.T) {
	all := transcripts(t)
	var table bytes.Buffer
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "Transcript\tHost\tAPI\tnpm package\tShows\tShape of")
	size, counted := 0, 0
	for _, s := range all {
		size += len(s.body)
		if !strings.Contains(s.shows, uncounted) {
			counted++
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", s.name, s.host, s.api, s.client, s.shows, s.shape)
	}
	_ = w.Flush() // a buffer takes everything
	if counted < fewest || size > largest {
		t.Errorf("%d transcripts count, all have %d bytes, want %d and at most %d bytes", counted, size, fewest, largest)
	}
	if *update {
		if err := os.WriteFile("table.txt", table.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile("table.txt")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, table.Bytes()) {
		t.Error("table.txt is not that of the transcripts, run `go test ./scripts/verify/clients/recorded -run Table -update`")
	}
}
