package recordname

import (
	"github.com/reveille-run/reveille/core/internal/thread"
)

// ThreadsList is the list of a user's threads, by their last activity.
func ThreadsList(user string) string { return "threads:" + user }

// RunsList is the list of the runs on a user's threads, by when they were submitted.
func RunsList(user string) string { return "runs:" + user }

// ChildrenList is the list of the threads whose last run a call of a thread has started.
func ChildrenList(of string) string { return "children:" + of }

// ListOf returns the list that a thread with an owner belongs to, whose last run has, or
// had, a parent.
func ListOf(owner string, parent *thread.Parent) string {
	if parent != nil {
		return ChildrenList(parent.Thread)
	}
	return ThreadsList(owner)
}

// FailedList is the list of the messages of a user's threads that were given up, by when that
// was.
func FailedList(user string) string { return "failed:" + user }

// ClearedList is the list of those that were sent again, or cleared.
func ClearedList(user string) string { return "cleared:" + user }
