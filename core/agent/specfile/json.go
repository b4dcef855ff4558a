package specfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"

	"github.com/reveille-run/reveille/core/strict"
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
		if deep, ok := errors.AsType[*strict.Error](strict.Options{MaxDepth: maxDepth}.CheckDepth(value)); ok {
			return nil, errorAt(placeAt(data, begin+deep.Offset), "lists and objects nest deeper than %d", maxDepth)
		}
		// A field that is given twice, also in what a plugin decodes.
		err := strict.Options{Raw: true}.Decode(value, new(json.RawMessage))
		if twice := (*strict.Error)(nil); errors.As(err, &twice) {
			return nil, errorAt(placeAt(data, begin+twice.Offset), "%w", err)
		}
		documents = append(documents, document{json: value, find: func(path strict.Path) place {
			at, _ := path.Find(value)
			return placeAt(data, begin+at)
		}})
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
	line, column := (&strict.Error{Offset: offset}).Line(data)
	return place{line: line, column: column}
}
