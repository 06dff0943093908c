//go:build unix

package worker

import (
	"os"
	"os/exec"
	"syscall"
)

// Stop makes the process stand still until Continue.
func (p *Process) Stop() error { return p.command.Process.Signal(syscall.SIGSTOP) }

// Continue lets a process go on that stands still.
func (p *Process) Continue() error { return p.command.Process.Signal(syscall.SIGCONT) }

// interrupt asks a process to end.
func interrupt(p *os.Process) error { return p.Signal(os.Interrupt) }

// setApart gives a process a group of its own.
func setApart(command *exec.Cmd) { command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
