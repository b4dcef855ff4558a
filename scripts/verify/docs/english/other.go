package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// others are the texts outside of Markdown and Go that people read: the OpenAPI document,
// the page, the template, the Makefile.
func others(root string) (all []text, err error) {
	for path, read := range map[string]func(path string, source []byte) []text{
		"adapters/protocols/httpapi/openapi.json": openAPI,
		"template.yaml": template,
		"Makefile":      makefile,
	} {
		source, failed := os.ReadFile(filepath.Join(root, path))
		err = errors.Join(err, failed)
		texts := read(path, source)
		if failed == nil && (len(texts) == 0 || filepath.Ext(path) == ".json" && !json.Valid(source)) {
			err = errors.Join(err, fmt.Errorf("%s: no texts found, or not JSON", path))
		}
		all = append(all, texts...)
	}
	return all, errors.Join(err, folder(filepath.Join(root, "adapters/protocols/page/src"), func(path string) error {
		if !strings.HasSuffix(path, ".ts") && !strings.HasSuffix(path, ".tsx") {
			return nil
		}
		source, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		all = append(all, page(name, source)...)
		return err
	}))
}

// openAPI returns the summaries, descriptions and titles of an OpenAPI document.
func openAPI(path string, source []byte) (all []text) {
	decoder := json.NewDecoder(bytes.NewReader(source))
	previous := ""
	for {
		token, err := decoder.Token()
		if err != nil {
			return all
		}
		word, ok := token.(string)
		if ok && (previous == "summary" || previous == "description" || previous == "title") {
			line := 1 + bytes.Count(source[:decoder.InputOffset()], []byte("\n"))
			all = append(all, text{file: path, line: line, words: quoted.ReplaceAllString(word, "CODE"), long: true})
			word = ""
		}
		previous = word
	}
}

var (
	described = regexp.MustCompile(`(?m)^\s*(?:Description|ConstraintDescription|AlarmDescription): *(?:>-?\s*)?(.*)$|^\s*# (.*)$`)
	target    = regexp.MustCompile(`(?m)^[a-z-]+:.*?## (.*)$`)
	inPage    = regexp.MustCompile("'((?:[^'\\\\\n]|\\\\.)* (?:[^'\\\\\n]|\\\\.)*)'|\"([^\"\n]* [^\"\n]*)\"|`([^`]* [^`]*)`|>([^<>{}=;()]* [^<>{}=;()]*)<")
	remark    = regexp.MustCompile(`(?m)(?:^|[ \t])//.*$|(?s:/\*.*?\*/)`)
)

// template returns the descriptions and comments of a CloudFormation template.
func template(path string, source []byte) []text { return matches(path, source, described) }

// makefile returns what `make help` prints of each target.
func makefile(path string, source []byte) []text { return matches(path, source, target) }

// page returns the texts in a source file of the page.
func page(path string, source []byte) []text {
	blank := func(comment []byte) []byte { return bytes.Repeat([]byte("\n"), bytes.Count(comment, []byte("\n"))) }
	return matches(path, remark.ReplaceAllFunc(source, blank), inPage)
}

// matches returns what the groups of a pattern match.
func matches(path string, source []byte, pattern *regexp.Regexp) (all []text) {
	for _, m := range pattern.FindAllSubmatchIndex(source, -1) {
		for i := 2; i < len(m); i += 2 {
			if m[i] >= 0 && m[i] < m[i+1] {
				words := quoted.ReplaceAllString(string(source[m[i]:m[i+1]]), "CODE")
				all = append(all, text{file: path, line: 1 + bytes.Count(source[:m[i]], []byte("\n")), words: words, long: true})
			}
		}
	}
	return all
}
