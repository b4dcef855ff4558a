package bolt

import (
	"errors"
	"syscall"
)

// Sync leaves out what the journal does not need, such as the file's time of
// change: that would be a write elsewhere on the disk.
func (f dataFile) Sync() error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
