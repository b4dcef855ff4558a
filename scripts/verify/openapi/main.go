package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/reveille-run/reveille/adapters/protocols/httpapi"
)

// What is written, below the module's root.
const (
	documentFile = "adapters/protocols/httpapi/openapi.json"
	readmeFile   = "README.md"
)

func main() {
	if err := generate(); err != nil {
		fmt.Fprintln(os.Stderr, "openapi:", err)
		os.Exit(1)
	}
}

func generate() error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	document, err := Document(root, httpapi.Routes())
	if err != nil {
		return err
	}
	old, err := os.ReadFile(filepath.Join(root, readmeFile))
	if err != nil {
		return err
	}
	readme, err := withTable(old, Table(httpapi.Routes()))
	if err != nil {
		return err
	}
	return errors.Join(write(filepath.Join(root, documentFile), document), write(filepath.Join(root, readmeFile), readme))
}

// write leaves a file alone that is as it should be.
func write(path string, text []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return os.WriteFile(path, text, 0o644)
}

// moduleRoot is the folder of the go.mod above the working folder.
func moduleRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
		above := filepath.Dir(folder)
		if above == folder {
			return "", errors.New("there is no go.mod above the working folder")
		}
		folder = above
	}
}
