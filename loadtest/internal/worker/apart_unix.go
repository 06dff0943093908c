//go:build unix

package worker

import (
	"os/exec"
	"syscall"
)

// setApart gives a process a group of its own.
func setApart(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
