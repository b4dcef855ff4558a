package host

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// ownGroup puts a sandbox into a process group of its own: the terminal's
// interrupt does not reach it, and if the host is killed, the kernel ends its
// frozen sandboxes (an orphaned group with a stopped member is sent SIGHUP).
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

// freeze returns when the process has stopped, or is gone.
func freeze(pid int) {
	if unix.Kill(pid, unix.SIGSTOP) != nil {
		return
	}
	for {
		// WNOWAIT leaves the state for whoever waits for the process's end.
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}

func thaw(pid int) { _ = unix.Kill(pid, unix.SIGCONT) }
