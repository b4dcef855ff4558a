package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// readEntries reads a list of mutants, each with a reason. An entry has four
// lines: the file, the function and the operator (with #2 for the second that
// looks the same); the lines before and after, as a diff has them; the reason
// after a #. Entries are parted by an empty line. A file that does not exist has
// none.
func readEntries(path string) (map[identity]string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	reasons := map[identity]string{}
	for entry := range strings.SplitSeq(string(text), "\n\n") {
		entry = strings.TrimSpace(entry)
		if entry == "" || strings.HasPrefix(entry, "#") {
			continue // the file's own comment
		}
		id, reason, err := parseEntry(entry)
		if err != nil {
			return nil, fmt.Errorf("%s: %w:\n%s", path, err, entry)
		}
		if _, twice := reasons[id]; twice {
			return nil, fmt.Errorf("%s: listed twice:\n%s", path, id)
		}
		reasons[id] = reason
	}
	return reasons, nil
}

var errEntry = errors.New("an entry is `file function operator`, `- before`, `+ after`, `# reason`")

func parseEntry(entry string) (id identity, reason string, err error) {
	lines := strings.Split(entry, "\n")
	if len(lines) != 4 {
		return id, "", errEntry
	}
	words := strings.Fields(lines[0])
	if len(words) != 3 && len(words) != 4 {
		return id, "", errEntry
	}
	id = identity{file: words[0], where: words[1], operator: words[2], nth: 1}
	if len(words) == 4 {
		if id.nth, err = strconv.Atoi(strings.TrimPrefix(words[3], "#")); err != nil {
			return id, "", errEntry
		}
	}
	before, ok1 := strings.CutPrefix(lines[1], "-")
	after, ok2 := strings.CutPrefix(lines[2], "+")
	reason, ok3 := strings.CutPrefix(lines[3], "#")
	id.before, id.after, reason = fold(before), fold(after), strings.TrimSpace(reason)
	if !ok1 || !ok2 || !ok3 || reason == "" {
		return id, "", errEntry
	}
	return id, reason, nil
}
