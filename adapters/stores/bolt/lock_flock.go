//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package bolt

import (
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

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
