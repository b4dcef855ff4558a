package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// third writes what two packages that the catalog is not made from have of its models.
func third(root, path string) error {
	python, err := exec.Command(filepath.Join(root, "scripts/verify/python.sh"), "models").Output()
	if err != nil {
		return fmt.Errorf("python.sh models: %w", err)
	}
	script := filepath.Join(root, "scripts/verify/modelcatalog/third.py")
	compare := exec.Command(strings.TrimSpace(string(python)), script, filepath.Join(root, "core/model/catalog/catalog.json"), day)
	var text bytes.Buffer
	compare.Stdout, compare.Stderr = &text, os.Stderr
	if err := compare.Run(); err != nil {
		return fmt.Errorf("third.py: %w", err)
	}
	return os.WriteFile(path, text.Bytes(), 0o644)
}
