package house

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestTheDiagramHasBothSchemes checks the picture of core/README.md: browsers must be able to
// parse it, and it must have colors for light and for dark pages.
func TestTheDiagramHasBothSchemes(t *testing.T) {
	const file = "core/architecture.svg"
	text := read(t, file)
	d := xml.NewDecoder(strings.NewReader(text))
	for first := true; ; first = false {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if start, ok := token.(xml.StartElement); first && (!ok || start.Name.Local != "svg") {
			t.Errorf("%s starts with %v, want an svg element", file, token)
		}
	}
	for _, want := range []string{`viewBox="`, "prefers-color-scheme: dark", "<title "} {
		if !strings.Contains(text, want) {
			t.Errorf("%s lacks %q", file, want)
		}
	}
	if readme := read(t, "core/README.md"); !strings.Contains(readme, `<img src="architecture.svg"`) {
		t.Errorf("core/README.md does not show %s", file)
	}
}
