//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package bolt

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// locksFirst says that lock keeps other processes out.
const locksFirst = true

// lockPoll is how often lock tries again.
const lockPoll = 20 * time.Millisecond

// lock takes the lock that bbolt takes, before anything is read. bbolt's own
// attempt on the same open file then finds it taken by itself.
func lock(file *os.File, timeout time.Duration) error {
	for deadline := time.Now().Add(timeout); ; time.Sleep(lockPoll) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil || !errors.Is(err, syscall.EWOULDBLOCK) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w (waited %s for its lock)", ErrLocked, timeout)
		}
	}
}

// unlock gives up the lock of a file that bbolt cannot close any more. Closing
// it would not: the lock goes with the file's last use, and the map is one.
func unlock(file *os.File) {
	_ = syscall.Flock(int(file.Fd()), syscall.LOCK_UN) // fails if the file is closed, and so unlocked
}
