// Package worker runs parts of a comparison in processes of their own: the lab starts itself again, tells each process
// its job in one line of JSON, and the two talk in lines. The job goes to standard input, and not to the command line,
// because addresses may hold passwords. A process ends when nobody talks to it any more.
//
// Who presses ctrl-C means the lab, so the signals of a terminal do not reach the processes. The lab interrupts them when
// its context ends, and hears what they have done until then.
package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/process"
)

// Process is a process that the lab has started.
type Process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errs    bytes.Buffer
	stop    context.CancelFunc
}

// grace is how long a process that was interrupted may take to tell what it has done, and to end.
const grace = 20 * time.Second

// Command is a program that is interrupted when ctx ends, and killed if it has not ended then after a while. Signals of a
// terminal do not reach it.
func Command(ctx context.Context, program string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Cancel = func() error {
		if err := command.Process.Signal(os.Interrupt); err != nil { // where there is no way to ask it
			return command.Process.Kill()
		}
		return nil
	}
	command.WaitDelay = grace
	setApart(command)
	return command
}

// Start starts a process by its command line, and tells it its job. One that has not ended after limit is interrupted, too.
func Start(ctx context.Context, command []string, job any, limit time.Duration) (*Process, error) {
	return StartLogging(ctx, command, job, limit, io.Discard)
}

// StartLogging is [Start] for a process whose standard error somebody reads.
func StartLogging(ctx context.Context, command []string, job any, limit time.Duration, logs io.Writer) (*Process, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	p := &Process{command: Command(ctx, command[0], command[1:]...), stop: stop}
	p.command.Stderr = io.MultiWriter(&p.errs, logs)
	if err := p.start(); err != nil {
		stop()
		return nil, fmt.Errorf("start a process: %w", err)
	}
	if err := json.NewEncoder(p.in).Encode(job); err != nil {
		return nil, errors.Join(fmt.Errorf("tell a process its job: %w", err), p.End())
	}
	return p, nil
}

func (p *Process) start() (err error) {
	if p.in, err = p.command.StdinPipe(); err != nil {
		return err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return err
	}
	p.out = bufio.NewReader(out)
	return p.command.Start()
}

// PID is the number of the process.
func (p *Process) PID() int { return p.command.Process.Pid }

// Stop makes the process stand still until Continue.
func (p *Process) Stop() error { return p.known().Suspend() }

// Continue lets a process go on that stands still.
func (p *Process) Continue() error { return p.known().Resume() }

// known is the process as the system knows it.
func (p *Process) known() *process.Process {
	return &process.Process{Pid: int32(p.PID())} //nolint:gosec // the system's own number
}

// Hear reads a line that the process says.
func (p *Process) Hear() (string, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("hear a process: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// Say tells the process a line.
func (p *Process) Say(line string) error {
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		return fmt.Errorf("talk to a process: %w", err)
	}
	return nil
}

// End waits for the end of a process, to which nobody talks any more.
func (p *Process) End() error {
	defer p.stop()
	_ = p.in.Close()                                                              // that is what tells it; if it is gone, Wait says why
	if err := p.command.Wait(); err != nil && !errors.Is(err, context.Canceled) { // interrupted, it ended as it should
		return fmt.Errorf("a process ended with %w: %s", err, strings.TrimSpace(p.errs.String()))
	}
	return nil
}

// Kill ends the process at once, as a crash would, also one that stands still, and returns when it is gone. Nothing is left
// for End then.
func (p *Process) Kill() error {
	defer p.stop()
	err := p.command.Process.Kill()
	_ = p.command.Wait() // which says that it was killed
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill a process: %w", err)
	}
	return nil
}
