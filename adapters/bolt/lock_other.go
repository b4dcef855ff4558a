//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package bolt

import (
	"os"
	"time"
)

// locksFirst says that lock keeps no other process out.
const locksFirst = false

// lock does nothing where a lock that is taken twice blocks itself; bbolt takes
// it.
func lock(*os.File, time.Duration) error { return nil }

// unlock does nothing where closing a file gives up its lock.
func unlock(*os.File) {}
