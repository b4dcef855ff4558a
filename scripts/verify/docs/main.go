package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// generators return the text of each part, by its name. The argument is the root of the
// repository.
var generators = map[string]func(root string) (string, error){
	"errors":       errorTable,
	"events":       eventTables,
	"metrics":      metricTables,
	"outputs":      outputTable,
	"parameters":   parameterTable,
	"providers":    providerTable,
	"results":      resultTable,
	"samples":      sampleTable,
	"settings":     settingTables,
	"targets":      targetTables,
	"terminations": terminationTable,
}

// elsewhere names the parts that other packages write.
var elsewhere = []string{"routes"}

func main() {
	root, err := moduleRoot()
	if err == nil {
		err = writeAll(root)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "docs:", err)
		os.Exit(1)
	}
}

// moduleRoot returns the closest folder with a go.mod, from the working directory upward.
func moduleRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", errors.New("go.mod: not found in the working directory or above it")
		}
		folder = parent
	}
}

// writeAll writes the parts of all documents, and prints the documents that change.
func writeAll(root string) error {
	names, err := markdownFiles(root)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(root, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		filled, err := fill(root, string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if filled == string(text) {
			continue
		}
		if err := os.WriteFile(path, []byte(filled), 0o644); err != nil {
			return err
		}
		fmt.Println(name)
	}
	return nil
}

// markdownFiles returns the paths of the repository's Markdown files, relative to root.
func markdownFiles(root string) (names []string, err error) {
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (name == "node_modules" || name == "testdata" || strings.HasPrefix(name, ".") && name != ".github") {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(name, ".md") {
			relative, err := filepath.Rel(root, path)
			names = append(names, filepath.ToSlash(relative))
			return err
		}
		return nil
	})
	return names, err
}

const (
	partBegins = "<!-- generated: "
	partEnds   = "<!-- end generated -->"
)

// fill returns a document with its generated parts.
func fill(root, text string) (string, error) {
	var out strings.Builder
	inFence, inPart := false, ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		if inPart == "" && strings.HasPrefix(bare, "```") {
			inFence = !inFence
		}
		name, begins := strings.CutPrefix(bare, partBegins)
		switch {
		case inFence:
			out.WriteString(line)
		case begins && inPart != "":
			return "", fmt.Errorf("part %s has no line %q", inPart, partEnds)
		case begins:
			inPart = strings.TrimSuffix(name, " -->")
			part, err := generate(root, inPart)
			if err != nil {
				return "", err
			}
			out.WriteString(line + part)
		case bare == partEnds && inPart == "":
			return "", fmt.Errorf("%q ends no part", partEnds)
		case bare == partEnds:
			inPart = ""
			out.WriteString(line)
		case inPart == "" || slices.Contains(elsewhere, inPart):
			out.WriteString(line)
		}
	}
	if inPart != "" {
		return "", fmt.Errorf("part %s has no line %q", inPart, partEnds)
	}
	return out.String(), nil
}

// generate returns the text of a part. It is empty for a part that another package writes.
func generate(root, name string) (string, error) {
	if slices.Contains(elsewhere, name) {
		return "", nil
	}
	part := generators[name]
	if part == nil {
		return "", fmt.Errorf("no part is named %q; the names are errors, events, metrics, outputs, parameters, providers, results, routes, samples, settings, targets, terminations", name)
	}
	text, err := part(root)
	if err != nil {
		return "", fmt.Errorf("part %s: %w", name, err)
	}
	return text, nil
}
