package thread_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"google.golang.org/protobuf/encoding/protowire"
)

// Entries are spelled as their fields, with spaces between them: 3:7 is a varint, 15:i7 four
// bytes, 10:`a` text, 2:x0a other bytes, and 5:{...} a level. The parser of Protocol Buffers
// reads and writes them, and not the one that is tested. Their last field, end, is not spelled.

// levels are the fields that are levels, by their path.
var levels = []string{
	"5", "5.4", "5.5", "5.6", "5.6.8", "5.9", "6", "6.1", "6.10", "6.10.1", "6.10.1.3", "7", "11", "21", "22",
}

// spelled returns an encoded entry in that form, and other payloads as they are.
func spelled(b []byte) string {
	if len(b) == 0 || b[0] != 8 {
		return string(b)
	}
	text, err := spell(b, "")
	text, whole := strings.CutSuffix(text, " 2047:1")
	if err != nil {
		return fmt.Sprintf("%x: %v", b, err)
	}
	if !whole {
		text += " without an end"
	}
	return text
}

func spell(b []byte, path string) (string, error) {
	var fields []string
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return "", protowire.ParseError(n)
		}
		b = b[n:]
		inner := strings.TrimPrefix(path+"."+strconv.Itoa(int(number)), ".")
		var value string
		switch kind {
		case protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(b)
			value = strconv.FormatUint(v, 10)
		case protowire.Fixed32Type:
			var v uint32
			v, n = protowire.ConsumeFixed32(b)
			value = "i" + strconv.FormatUint(uint64(v), 10)
		case protowire.BytesType:
			var v []byte
			v, n = protowire.ConsumeBytes(b)
			var err error
			if value, err = spellBytes(v, inner); err != nil {
				return "", err
			}
		default:
			return "", fmt.Errorf("wire type %d", kind)
		}
		if n < 0 {
			return "", protowire.ParseError(n)
		}
		b = b[n:]
		fields = append(fields, fmt.Sprintf("%d:%s", number, value))
	}
	return strings.Join(fields, " "), nil
}

func spellBytes(b []byte, path string) (string, error) {
	if slices.Contains(levels, path) {
		inner, err := spell(b, path)
		return "{" + inner + "}", err
	}
	if strings.ContainsFunc(string(b), func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
		return "x" + hex.EncodeToString(b), nil
	}
	return "`" + string(b) + "`", nil
}

// written returns what is spelled so, and other payloads as they are.
func written(t testing.TB, text string) []byte {
	t.Helper()
	if !strings.HasPrefix(text, "1:") {
		return []byte(text)
	}
	b, rest := writtenFields(t, text+" 2047:1")
	if rest != "" {
		t.Fatalf("%q is left of %q", rest, text)
	}
	return b
}

func writtenFields(t testing.TB, text string) (b []byte, rest string) {
	t.Helper()
	for text != "" && text[0] != '}' {
		digits, value, _ := strings.Cut(text, ":")
		number, err := strconv.Atoi(digits)
		if err != nil || value == "" {
			t.Fatalf("no field: %q", text)
		}
		n := protowire.Number(number)
		end := strings.IndexAny(value+" ", " }")
		switch value[0] {
		case '{':
			var inner []byte
			inner, text = writtenFields(t, value[1:])
			b, text = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), inner), strings.TrimPrefix(text, "}")
		case '`':
			inner, after, _ := strings.Cut(value[1:], "`")
			b, text = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), []byte(inner)), after
		case 'x':
			inner, err := hex.DecodeString(value[1:end])
			if err != nil {
				t.Fatal(err)
			}
			b, text = protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), inner), value[end:]
		case 'i':
			v, err := strconv.ParseUint(value[1:end], 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			b, text = protowire.AppendFixed32(protowire.AppendTag(b, n, protowire.Fixed32Type), uint32(v)), value[end:]
		default:
			v, err := strconv.ParseUint(value[:end], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			b, text = protowire.AppendVarint(protowire.AppendTag(b, n, protowire.VarintType), v), value[end:]
		}
		text = strings.TrimPrefix(text, " ")
	}
	return b, text
}
