package house

import (
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestThePointersOfPackagesExist looks up each Go file that a package comment sends its
// reader to: a bare name is of the package or of one above it, a path is of the module.
func TestThePointersOfPackagesExist(t *testing.T) {
	file := regexp.MustCompile(`[\w./-]*\w+\.go\b`)
	count := 0
	sources(t, "./...", func(room, name string, _ *token.FileSet, f *ast.File, _ []byte) {
		if f.Doc == nil {
			return
		}
		for _, pointer := range file.FindAllString(f.Doc.Text(), -1) {
			count++
			if !pointsSomewhere(root(t), room, pointer) {
				t.Errorf("%s/%s sends its reader to %s, which does not exist", room, name, pointer)
			}
		}
	})
	if count < 100 {
		t.Errorf("package comments have %d pointers: they are not found where they are", count)
	}
}

// pointsSomewhere reports whether a pointer of a package's comment is a file.
func pointsSomewhere(root, room, pointer string) bool {
	bases := []string{""}
	for dir := room; dir != "."; dir = filepath.Dir(dir) {
		bases = append(bases, dir)
	}
	for _, base := range bases {
		if info, err := os.Stat(filepath.Join(root, base, strings.TrimPrefix(pointer, "./"))); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}
