// Command lostlines lists the lines that merges have lost. For each merge of the history, these
// are the lines that one parent added and that neither the merge nor HEAD has.
//
//	go run ./scripts/verify/lostlines              # all merges that HEAD contains, oldest first
//	go run ./scripts/verify/lostlines -from v1.2.0 # those since a commit
//
// A merge by hand can drop lines of one side silently: the code that they connected is no
// longer called, and no unit test fails. Most listed lines are harmless, because both sides
// have written them in other words. Check each one: does a promise no longer hold? The command
// needs git and a clone with the whole history.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

func main() {
	from := flag.String("from", "", "`commit` after which merges are checked (default: all merges)")
	least := flag.Int("least", 12, "minimum number of characters of a listed line")
	flag.Parse()
	h := history{folder: ".", least: *least, out: os.Stdout}
	if err := h.look(*from); err != nil {
		fmt.Fprintln(os.Stderr, "lostlines:", err)
		os.Exit(1)
	}
}

// history is a repository whose merges are looked through.
type history struct {
	folder string
	least  int
	out    io.Writer
}

// look lists what the merges between from and HEAD have lost.
func (h history) look(from string) error {
	now, err := h.lines("HEAD")
	if err != nil {
		return err
	}
	which := "HEAD"
	if from != "" {
		which = from + "..HEAD"
	}
	list, err := h.git("rev-list", "--merges", "--reverse", "--parents", which)
	if err != nil {
		return err
	}
	merges, lost := 0, 0
	for line := range strings.Lines(string(list)) {
		merges++
		commits := strings.Fields(line)
		n, err := h.merge(commits[0], commits[1:], now)
		if err != nil {
			return err
		}
		lost += n
	}
	fmt.Fprintf(h.out, "merges=%d lines=%d\n", merges, lost)
	return nil
}

// merge lists what one merge has lost of its parents, and returns how many lines.
func (h history) merge(commit string, parents []string, now map[string]bool) (lost int, err error) {
	var then map[string]bool // the lines of the merge, read when they are needed
	for _, parent := range parents {
		for _, other := range parents {
			if other == parent {
				continue
			}
			base, err := h.git("merge-base", parent, other)
			if err != nil {
				continue // two histories without a common commit
			}
			added, err := h.added(strings.TrimSpace(string(base)), parent)
			if err != nil {
				return lost, err
			}
			for _, a := range added {
				if now[a.text] {
					continue
				}
				if then == nil {
					if then, err = h.lines(commit); err != nil {
						return lost, err
					}
				}
				if then[a.text] {
					continue
				}
				if lost++; lost == 1 {
					subject, _ := h.git("log", "-1", "--format=%h %s", commit) // for people
					fmt.Fprint(h.out, string(subject))
				}
				fmt.Fprintf(h.out, "  %.8s %s: %s\n", parent, a.file, a.text)
			}
		}
	}
	return lost, nil
}

// addition is a line that a commit has and its base has not, as plain makes it.
type addition struct{ file, text string }

// added are the lines that a commit has added to its base, each once.
func (h history) added(base, commit string) (all []addition, err error) {
	diff, err := h.git("diff", "--unified=0", "--no-color", "--no-ext-diff", base, commit)
	if err != nil {
		return nil, err
	}
	seen, file, inside := map[addition]bool{}, "", false // inside: of a hunk, and not between two files
	for line := range bytes.Lines(diff) {
		text := strings.TrimRight(string(line), "\n")
		switch name, named := strings.CutPrefix(text, "+++ b/"); {
		case strings.HasPrefix(text, "diff --git "):
			inside = false
		case strings.HasPrefix(text, "@@ "):
			inside = true
		case named && !inside:
			file = name
		}
		text, ok := strings.CutPrefix(text, "+")
		if text = plain(text); !ok || !inside || len(text) < h.least || made(file) {
			continue
		}
		if a := (addition{file, text}); !seen[a] {
			seen[a] = true
			all = append(all, a)
		}
	}
	return all, nil
}

// made reports whether a file is written by a program, and is made again after a merge.
func made(file string) bool {
	for _, end := range []string{"go.sum", "package-lock.json", "openapi.json", ".golden", ".svg"} {
		if strings.HasSuffix(file, end) {
			return true
		}
	}
	return strings.Contains(file, "/testdata/") || strings.Contains(file, "/dist/")
}

// lines returns all lines of all files of a commit, in the form of plain. A line may be in
// another file, since files are split and renamed.
func (h history) lines(commit string) (map[string]bool, error) {
	content, err := h.git("grep", "-h", "-I", "-e", "", commit)
	if err != nil {
		return nil, err
	}
	all := map[string]bool{}
	reader := bufio.NewScanner(bytes.NewReader(content))
	reader.Buffer(nil, 64<<20)
	for reader.Scan() {
		all[plain(reader.Text())] = true
	}
	return all, reader.Err()
}

// plain is a line whose blanks say nothing: those that indent it, and those that align it.
func plain(line string) string { return strings.Join(strings.Fields(line), " ") }

func (h history) git(arguments ...string) ([]byte, error) {
	command := exec.Command("git", arguments...)
	command.Dir = h.folder
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s: %w: %s", arguments[0], err, strings.TrimSpace(complaint.String()))
	}
	return out, nil
}
