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
	makefile := read(t, "Makefile")
	for name := range documents(t) {
		for _, wrong := range unknownNames(read(t, name), makefile) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

// unknownNames returns a text for each file, setting and make target of a document that does
// not exist.
func unknownNames(text, makefile string) (wrong []string) {
	named := regexp.MustCompile("`((?:functions|core|adapters|scripts|events|infra)/[a-z0-9_/.-]+)`")
	target := regexp.MustCompile("`make ([a-z][a-z-]*)(?: [^`]*)?`")
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
			wrong = append(wrong, "there is no "+m[1])
		}
	}
	for _, v := range regexp.MustCompile(`\bREVEILLE_[A-Z_]*[A-Z]\b`).FindAllString(text, -1) {
		if !isSetting(v) {
			wrong = append(wrong, "there is no setting "+v)
		}
	}
	for _, m := range target.FindAllStringSubmatch(text, -1) {
		if !strings.Contains("\n"+makefile, "\n"+m[1]+":") {
			wrong = append(wrong, "there is no make "+m[1])
		}
	}
	return wrong
}
