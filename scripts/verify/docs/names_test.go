package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTextsNameWhatExists looks up each file and make target that the text of a document
// names, and each setting.
func TestTextsNameWhatExists(t *testing.T) {
	makefile := "\n" + read(t, "Makefile")
	named := regexp.MustCompile("`((?:functions|core|adapters|scripts|events|infra)/[a-z0-9_/.-]+)`")
	target := regexp.MustCompile("`make ([a-z][a-z-]*)(?: [^`]*)?`")
	for name := range documents(t) {
		text := read(t, name)
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s: there is no %s", name, m[1])
			}
		}
		for _, v := range regexp.MustCompile(`\bREVEILLE_[A-Z_]*[A-Z]\b`).FindAllString(text, -1) {
			if !isSetting(v) {
				t.Errorf("%s: there is no setting %s", name, v)
			}
		}
		for _, m := range target.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s: there is no make %s", name, m[1])
			}
		}
	}
}
