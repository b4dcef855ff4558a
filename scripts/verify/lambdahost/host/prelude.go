package host

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Prelude is the metadata in front of a streamed HTTP response.
type Prelude struct {
	StatusCode        int                 `json:"statusCode"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Cookies           []string            `json:"cookies"`
}

// maxPrelude is where API Gateway stops looking for its end.
const maxPrelude = 16 << 10

var errPrelude = errors.New("malformed prelude")

// preludeEnd are the 8 bytes between the metadata and the body.
var preludeEnd = make([]byte, 8)

// readPrelude returns an error that wraps errPrelude if the bytes are not a prelude, and
// the reader's error if the stream is truncated.
func readPrelude(r *bufio.Reader) (*Prelude, error) {
	var head []byte
	for !bytes.HasSuffix(head, preludeEnd) {
		if len(head) == maxPrelude {
			return nil, fmt.Errorf("%w: no end within %d bytes", errPrelude, maxPrelude)
		}
		c, err := r.ReadByte()
		if err == io.EOF {
			return nil, fmt.Errorf("%w: the response ends inside", errPrelude)
		}
		if err != nil {
			return nil, fmt.Errorf("prelude: %w", err)
		}
		head = append(head, c)
	}
	var p Prelude
	if err := json.Unmarshal(head[:len(head)-len(preludeEnd)], &p); err != nil {
		return nil, fmt.Errorf("%w: %w", errPrelude, err)
	}
	if p.StatusCode == 0 {
		p.StatusCode = 200
	}
	return &p, nil
}
