package main

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The versions of the sources, and the day on which these were their newest.
const (
	catwalkVersion = "0.52.86"
	litellmVersion = "1.110.2"
	day            = "2026-11-30"
)

const (
	ofCatwalk = "catwalk"
	ofLitellm = "litellm"
)

// source names what a row was made from, and its day.
func source(names ...string) string { return strings.Join(names, ", ") + " " + day }

// catwalkFiles calls use with each of the module's files of providers, by its name without
// folder.
func catwalkFiles(use func(name string, content []byte) error) error {
	// The module asks for a later Go than ours, which is an error after the download.
	out, err := exec.Command("go", "mod", "download", "-json", "charm.land/catwalk@v"+catwalkVersion).Output()
	var module struct{ Zip, Error string }
	if wrong := json.Unmarshal(out, &module); wrong != nil || module.Zip == "" {
		return fmt.Errorf("downloading charm.land/catwalk: %v %s", err, module.Error)
	}
	return files(module.Zip, "/internal/providers/configs/", use)
}

// litellmPrices is the content of the package's table of models.
func litellmPrices(root string) (content []byte, err error) {
	folder := filepath.Join(root, ".reveille", "litellm-"+litellmVersion)
	if found, _ := filepath.Glob(filepath.Join(folder, "*.whl")); len(found) == 0 {
		pip := exec.Command("python3", "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "litellm=="+litellmVersion)
		pip.Stderr = os.Stderr
		if err := pip.Run(); err != nil {
			return nil, fmt.Errorf("pip download litellm==%s: %w", litellmVersion, err)
		}
	}
	found, err := filepath.Glob(filepath.Join(folder, "*.whl"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("%s has %d wheels, want 1", folder, len(found))
	}
	const table = "model_prices_and_context_window_backup.json"
	err = files(found[0], "litellm/", func(name string, data []byte) error {
		if name == table {
			content = data
		}
		return nil
	})
	if err == nil && content == nil {
		err = fmt.Errorf("%s has no %s", found[0], table)
	}
	return content, err
}

// files calls use with each JSON file of a zip that lies right in a folder.
func files(path, folder string, use func(name string, content []byte) error) error {
	archive, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, f := range archive.File {
		_, name, ok := strings.Cut("/"+f.Name, folder)
		if !ok || strings.Contains(name, "/") || !strings.HasSuffix(name, ".json") {
			continue
		}
		if err := one(f, name, use); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func one(f *zip.File, name string, use func(name string, content []byte) error) error {
	r, err := f.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	return use(name, content)
}
