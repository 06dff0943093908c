//go:build unix

package worker

import "syscall"

// Stop makes the process stand still until Continue.
func (p *Process) Stop() error { return p.command.Process.Signal(syscall.SIGSTOP) }

// Continue lets a process go on that stands still.
func (p *Process) Continue() error { return p.command.Process.Signal(syscall.SIGCONT) }
