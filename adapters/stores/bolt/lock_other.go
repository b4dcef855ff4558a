//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package bolt

import (
	"os"
	"time"
)

// lock does nothing where a lock that is taken twice blocks itself; bbolt takes
// it.
func lock(*os.File, time.Duration) error { return nil }
