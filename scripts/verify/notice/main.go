// Command notice writes adapters/protocols/page/NOTICE: the licenses of third-party code in the
// page and in the binaries. Run it after a change of dependencies:
//
//	go run ./scripts/verify/notice > adapters/protocols/page/NOTICE
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// programs are those that ship.
var programs = []string{"./functions/api", "./functions/stream", "./functions/step", "./functions/sweep", "./functions/trigger", "./scripts/user/dev", "./scripts/user/acp"}

func main() {
	text, err := notice(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
	_, _ = os.Stdout.Write(text)
}

// part is code of others, and the texts that must ship with it.
type part struct {
	name  string
	texts []string
}

// notice makes the file from the root of the repository. Parts with the same text share
// it: most have one of few licences.
func notice(root string) ([]byte, error) {
	modules, err := linked(root)
	if err != nil {
		return nil, err
	}
	packages, err := bundled(filepath.Join(root, "adapters/protocols/page/packages"))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	out.WriteString("Reveille contains code of others: in its binaries these modules of Go, in its page these packages of npm. Their licences follow.\n")
	names := map[string][]string{}
	var texts []string
	for _, p := range append(modules, packages...) {
		for _, text := range p.texts {
			if names[text] == nil {
				texts = append(texts, text)
			}
			names[text] = append(names[text], p.name)
		}
	}
	for _, text := range texts {
		fmt.Fprintf(&out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(names[text], "\n"), text)
	}
	return out.Bytes(), nil
}

// linked are the modules of the programs as they are deployed, and Go's own library.
func linked(root string) (all []part, err error) {
	list := exec.Command("go", append([]string{"list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}{{end}}{{end}}"}, programs...)...)
	list.Dir = root
	list.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64", "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w", err)
	}
	lines := slices.DeleteFunc(strings.Split(string(out), "\n"), func(line string) bool { return line == "" })
	slices.Sort(lines)
	for _, line := range slices.Compact(lines) {
		name, folder, _ := strings.Cut(line, "\t")
		texts, err := licences(folder)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, part{name, texts})
	}
	where, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find the Go distribution: %w", err)
	}
	texts, err := licences(strings.TrimSpace(string(where)))
	return append(all, part{"The Go standard library", texts}), err
}

// bundled are the packages that the page is made of.
func bundled(folder string) (all []part, err error) {
	err = filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.Name() != "package.json" {
			return err
		}
		name, _ := filepath.Rel(folder, filepath.Dir(path))
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), "LICENSE")); err != nil {
			return nil // a part of the package around it
		}
		texts, err := licences(filepath.Dir(path))
		all = append(all, part{"npm: " + filepath.ToSlash(name), texts})
		return err
	})
	slices.SortFunc(all, func(a, b part) int { return cmp.Compare(a.name, b.name) })
	return all, err
}

// licences are a folder's files of licences and notices.
func licences(folder string) (all []string, err error) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name := strings.ToUpper(f.Name())
		stem, _, _ := strings.Cut(name, ".")
		if f.IsDir() || !slices.Contains([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "PATENTS"}, stem) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			return nil, err
		}
		all = append(all, strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no licence in its folder")
	}
	return all, nil
}
