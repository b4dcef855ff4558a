package host

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

func TestPrelude(t *testing.T) {
	const end = "\x00\x00\x00\x00\x00\x00\x00\x00"
	tests := []struct {
		name, stream string
		want         *Prelude
		rest         string
		malformed    bool
	}{
		{"with a body", `{"statusCode":201,"cookies":["a=1"]}` + end + "body\x00", &Prelude{StatusCode: 201, Cookies: []string{"a=1"}}, "body\x00", false},
		{"without a status", `{}` + end, &Prelude{StatusCode: 200}, "", false},
		{"no end", `{"statusCode":201}`, nil, "", true},
		{"nothing", ``, nil, "", true},
		{"no JSON", `hello` + end, nil, "", true},
		{"too long", strings.Repeat(" ", 16<<10) + `{}` + end, nil, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := bufio.NewReader(iotest.OneByteReader(strings.NewReader(tt.stream)))
			got, err := readPrelude(r)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if errors.Is(err, errPrelude) != tt.malformed {
				t.Errorf("error = %v", err)
			}
			if rest, _ := io.ReadAll(r); err == nil && string(rest) != tt.rest {
				t.Errorf("rest = %q", rest)
			}
		})
	}
	broken := bufio.NewReader(iotest.ErrReader(io.ErrUnexpectedEOF))
	if _, err := readPrelude(broken); errors.Is(err, errPrelude) || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a broken connection: %v", err)
	}
}
