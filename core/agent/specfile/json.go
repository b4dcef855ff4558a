package specfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/reveille-run/reveille/core/agent/internal/strict"
)

// parseJSON returns the values of the file, which may follow each other.
func parseJSON(data []byte) (documents []document, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var value json.RawMessage
		if err := decoder.Decode(&value); errors.Is(err, io.EOF) {
			return documents, nil
		} else if err != nil {
			return nil, errorAt(placeAt(data, errorOffset(data, err)), "not JSON: %w", err)
		}
		begin := int(decoder.InputOffset()) - len(value)
		s := scan{data: data, base: begin, at: map[string]place{"": placeAt(data, begin)}}
		s.offset, s.place = begin, s.at[""]
		s.decoder = json.NewDecoder(bytes.NewReader(value))
		if err := s.value("", 1); err != nil {
			return nil, err
		}
		documents = append(documents, document{json: value, at: s.at})
	}
}

// errorOffset is the byte at which an error of the decoder lies: a file that breaks off
// is wrong at its end.
func errorOffset(data []byte, err error) int {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return max(int(syntax.Offset)-1, 0) // it counts the byte that is wrong
	}
	return len(data)
}

func placeAt(data []byte, offset int) place {
	before := data[:min(offset, len(data))]
	return place{line: bytes.Count(before, []byte("\n")) + 1, column: len(before) - bytes.LastIndexByte(before, '\n')}
}

// scan notes the places in one valid value.
type scan struct {
	data    []byte // the file
	base    int    // where in it the value begins
	decoder *json.Decoder
	at      map[string]place

	offset int // how far place has been counted
	place  place
}

// next is where the next token begins: behind spaces, and what separates it from the
// one before. Lines are counted on from the last token.
func (s *scan) next() place {
	end := s.base + int(s.decoder.InputOffset())
	for ; s.offset < end || s.offset < len(s.data) && bytes.IndexByte([]byte(" \t\r\n,:"), s.data[s.offset]) >= 0; s.offset++ {
		s.place.column++
		if s.data[s.offset] == '\n' {
			s.place = place{line: s.place.line + 1, column: 1}
		}
	}
	return s.place
}

// value goes over one value and notes the places of its parts. It also finds members
// that are given twice, of which the decoder behind it would see the last alone.
func (s *scan) value(path string, depth int) error {
	if depth > maxDepth {
		return errorAt(s.next(), "lists and objects nest deeper than %d", maxDepth)
	}
	token, err := s.decoder.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return nil
	}
	seen := map[string]bool{}
	for i := 0; s.decoder.More(); i++ {
		at, inner := s.next(), strict.Index(path, i)
		if open == '{' {
			key, err := s.decoder.Token()
			if err != nil {
				return err
			}
			name, _ := key.(string)
			inner = strict.Join(path, name)
			if seen[name] {
				return errorAt(at, "%s is given twice", inner)
			}
			seen[name] = true
		}
		s.at[inner] = at
		if err := s.value(inner, depth+1); err != nil {
			return err
		}
	}
	_, err = s.decoder.Token()
	return err
}
