//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package bolt

import (
	"os"
	"syscall"
)

// statBlock is the unit of Stat_t.Blocks, in bytes.
const statBlock = 512

// written returns the length of a file all of whose pages are on the disk, 0 if it has
// holes: bbolt makes a file longer without writing it.
func written(info os.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Blocks*statBlock >= info.Size() {
		return info.Size()
	}
	return 0
}
