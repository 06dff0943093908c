//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"

	gopsutil "github.com/shirou/gopsutil/v4/process"
)

// process is a started program.
type process struct {
	command *exec.Cmd
	life    context.Context // ends when the program has ended and was reaped; the cause says how
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

	life, end := context.WithCancelCause(context.Background())
	p := &process{command: command, life: life}
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
		end(fmt.Errorf("it ended with %v", command.ProcessState))
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", command.Path, err)
	}
	return p, nil
}

// pid returns the process id, which is also the id of its process group.
func (p *process) pid() int { return p.command.Process.Pid }

// running reports whether the program has not ended yet.
func (p *process) running() bool { return p.life.Err() == nil }

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
	children, err := p.freeze()
	if err != nil {
		return err
	}
	if err := p.signal(syscall.SIGKILL); err != nil {
		return fmt.Errorf("killing process %d: %w", p.pid(), err)
	}
	for _, child := range children {
		if err := child.Kill(); err != nil && alive(child) {
			return fmt.Errorf("killing process %d, a child of %d: %w", child.Pid, p.pid(), err)
		}
	}
	return await(context.Background(), "a killed process and its children to go", func(context.Context) error {
		if p.running() || slices.ContainsFunc(children, alive) {
			return fmt.Errorf("process %d, or a child of it, is there", p.pid())
		}
		return nil
	})
}

// freeze stops the program, so that it starts no more children, and lists its children.
func (p *process) freeze() (children []*gopsutil.Process, err error) {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return nil, fmt.Errorf("stopping process %d: %w", p.pid(), err)
	}
	parent := &gopsutil.Process{Pid: int32(p.pid())} //nolint:gosec // the system's own number
	err = await(context.Background(), "a process to stop", func(context.Context) error {
		status, err := parent.Status()
		if err == nil && p.running() && !slices.Contains(status, gopsutil.Stop) && !slices.Contains(status, gopsutil.Zombie) {
			return fmt.Errorf("process %d is %v", parent.Pid, status)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	children, err = parent.Children()
	if err != nil && !errors.Is(err, gopsutil.ErrorNoChildren) && p.running() {
		return nil, fmt.Errorf("listing the children of process %d: %w", p.pid(), err)
	}
	return children, nil
}

// alive reports whether a process is there, and no later one with its id. A zombie counts as gone: it holds nothing, and the process
// that adopted it may never reap it.
func alive(p *gopsutil.Process) bool {
	running, err := p.IsRunning()
	if err != nil || !running {
		return false
	}
	status, err := p.Status()
	return err == nil && !slices.Contains(status, gopsutil.Zombie)
}
