package protocol

import (
	"strings"

	"github.com/reveille-run/reveille/core"
)

// ChildID is what clients call a tool call, or a suspension, of a child run: the child run's id,
// a colon and the id in that run. Two runs may have calls with the same id.
func ChildID(run core.ID, id string) string { return run.String() + ":" + id }

// ParseChildID reads an id that [ChildID] has made. ok is false for any other id.
func ParseChildID(id string) (run core.ID, rest string, ok bool) {
	text, rest, ok := strings.Cut(id, ":")
	if !ok || rest == "" {
		return run, "", false
	}
	run, err := core.ParseID(text)
	return run, rest, err == nil
}
