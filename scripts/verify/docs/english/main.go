// Command english checks the English of documents and of Go source: the words that this
// project does not use, sentences that start with a relative clause, and sentences that
// are too long. Without arguments it checks the folder that it is called in.
//
//	go run ./scripts/verify/docs/english [-texts] [FILE or FOLDER ...]
//
// In Markdown it reads prose, in Go the comments of packages and of exported names. With
// -texts it reads string literals, too: errors, logs and help. It prints a line for each
// violation and ends with status 1 if there is one. Tests allow none in documentation, and
// of literals as many as testdata/recorded.txt has for each package.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

// isDocument reports whether a file is Markdown, or a template of it.
func isDocument(path string) bool {
	return strings.HasSuffix(path, ".md") || strings.HasSuffix(path, ".md.tmpl")
}

func main() {
	literals := flag.Bool("texts", false, "check the string literals of Go source, too")
	flag.Parse()
	paths := flag.Args()
	if len(paths) == 0 {
		paths = []string{"."}
	}
	var texts []text
	for _, path := range paths {
		err := folder(path, func(path string) error {
			switch {
			case isDocument(path):
				found, err := document(path)
				texts = append(texts, found...)
				return err
			case strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go"):
				found, err := goFile(path)
				texts = append(texts, found.docs...)
				if *literals {
					texts = append(texts, found.literals...)
				}
				return err
			}
			return nil
		})
		if err != nil {
			fmt.Fprintln(os.Stderr, "english:", err)
			os.Exit(2)
		}
	}
	hits := check(texts)
	for _, h := range hits {
		fmt.Printf("%s:%d: %q: write %s\n", h.file, h.line, h.found, h.instead)
	}
	fmt.Printf("%d violations\n", len(hits))
	if len(hits) > 0 {
		os.Exit(1)
	}
}
