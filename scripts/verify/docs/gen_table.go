package main

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// table returns a Markdown table.
func table(header []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(header)
	b.WriteString(strings.Repeat("|---", len(header)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}

// code returns a value as code, and other where the value is empty.
func code(value, other string) string {
	if value == "" {
		return other
	}
	return "`" + value + "`"
}

// sentence returns a text with a capital letter and a full stop.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(text)
	if word, _, _ := strings.Cut(text, " "); !strings.ContainsAny(word, "_`0123456789") {
		text = string(unicode.ToUpper(first)) + text[size:]
	}
	if !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// names are words of the wire in a comment, and JSON.
var names = regexp.MustCompile("`[^`]*`|\\{\"\\S*\\}|\\b[a-z]+(_[a-z]+)+\\b")

// quote writes words of the wire as code.
func quote(text string) string {
	return names.ReplaceAllStringFunc(text, func(word string) string {
		if strings.HasPrefix(word, "`") {
			return word
		}
		return "`" + word + "`"
	})
}
