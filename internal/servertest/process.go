//go:build unix

package servertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// goneTimeout bounds the wait for a killed process. The kernel needs
// milliseconds; a process in the middle of a slow disk write needs longer.
const goneTimeout = 20 * time.Second

// process is a started program.
type process struct {
	command *exec.Cmd
	done    chan struct{} // closed when the program has ended and was reaped
}

// launch starts the command in its own process group. deathSignal reaches it
// when this process dies, if the kernel can do that.
//
// The kernel sends that signal at the end of the thread that started the
// program, not of the process. One goroutine therefore keeps its thread until
// the program has ended.
func launch(command *exec.Cmd, deathSignal syscall.Signal) (*process, error) {
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid = true
	setDeathSignal(command.SysProcAttr, deathSignal)

	p := &process{command: command, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err != nil {
			return
		}
		_ = command.Wait() // ProcessState says more than its error
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Path, err)
	}
	return p, nil
}

// pid returns the process id, which is also the id of its process group.
func (p *process) pid() int { return p.command.Process.Pid }

// running reports whether the program has not ended yet.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends a signal; to a program that has ended it sends nothing, so it
// never hits another program that got the same process id later.
func (p *process) signal(sig syscall.Signal) error {
	err := p.command.Process.Signal(sig)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// kill ends the program and its children with SIGKILL, and returns when all of
// them are gone. Children of PostgreSQL are in sessions of their own, so a
// signal to the process group would miss them.
func (p *process) kill() error {
	if !p.running() {
		return nil
	}
	children, err := p.frozenChildren()
	if err != nil {
		return err
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing process %d: %w", p.pid(), err)
	}
	for _, child := range children {
		if err := syscall.Kill(child.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("killing process %d, a child of %d: %w", child.pid, p.pid(), err)
		}
	}
	select {
	case <-p.done:
	case <-time.After(goneTimeout):
		return fmt.Errorf("process %d is still there %v after SIGKILL", p.pid(), goneTimeout)
	}
	return waitGone(children)
}

// frozenChildren stops the program, so that it starts no more children, and lists its children.
func (p *process) frozenChildren() ([]processEntry, error) {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("stopping process %d: %w", p.pid(), err)
	}
	deadline := time.Now().Add(goneTimeout)
	for {
		table, err := processTable()
		if err != nil {
			return nil, err
		}
		var children []processEntry
		frozen := true
		for _, entry := range table {
			if entry.pid == p.pid() {
				frozen = entry.state == 'T' || entry.ended()
			}
			if entry.parent == p.pid() {
				children = append(children, entry)
			}
		}
		if frozen {
			return children, nil
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("process %d did not stop within %v", p.pid(), goneTimeout)
		}
		time.Sleep(time.Millisecond)
	}
}

// waitGone waits until none of the processes exists any more. A zombie counts
// as gone: it holds nothing, and the process that adopted it may never reap it.
func waitGone(processes []processEntry) error {
	deadline := time.Now().Add(goneTimeout)
	for len(processes) > 0 { // Redis has none, and reading the table is slow
		table, err := processTable()
		if err != nil {
			return err
		}
		left := 0
		for _, entry := range table {
			for _, killed := range processes {
				if entry.pid == killed.pid && entry.started == killed.started && !entry.ended() {
					left++
				}
			}
		}
		if left == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d child processes are still there %v after SIGKILL", left, goneTimeout)
		}
		time.Sleep(2 * time.Millisecond)
	}
	return nil
}

// processEntry is one line of the system's list of processes.
type processEntry struct {
	pid     int
	parent  int
	state   byte   // as in ps: 'T' stopped, 'Z' zombie
	started string // distinguishes a process from a later one with the same id
}

// ended reports whether the process has ended and only waits to be reaped.
func (e processEntry) ended() bool { return e.state == 'Z' || e.state == 'X' }
