// Package worker runs parts of a scenario in processes of their own. The lab starts itself again, and sends each process its
// job as a line of JSON; lines follow in both directions. The job goes to standard input, not to the command line, because
// addresses may hold passwords. A process ends when its standard input is closed.
//
// Signals of a terminal do not reach the processes. The lab interrupts them when its context ends, and reads what they have
// done until then.
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

// grace is how long an interrupted process may take to report and to end.
const grace = 20 * time.Second

// Command is a program that is interrupted when ctx ends, and killed if it does not end then. Signals of a terminal do not
// reach it.
func Command(ctx context.Context, program string, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Cancel = func() error {
		if err := command.Process.Signal(os.Interrupt); err != nil { // some systems cannot
			return command.Process.Kill()
		}
		return nil
	}
	command.WaitDelay = grace
	setApart(command)
	return command
}

// Start starts a process by its command line, and sends it its job. After limit the process is interrupted, too.
func Start(ctx context.Context, command []string, job any, limit time.Duration) (*Process, error) {
	return StartLogging(ctx, command, job, limit, io.Discard)
}

// StartLogging is [Start], and copies the standard error of the process.
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

// Stop stops the process until Continue.
func (p *Process) Stop() error { return p.known().Suspend() }

// Continue continues a stopped process.
func (p *Process) Continue() error { return p.known().Resume() }

// known is the process by its number.
func (p *Process) known() *process.Process {
	return &process.Process{Pid: int32(p.PID())} //nolint:gosec // the system's own number
}

// ReadLine reads a line from the process.
func (p *Process) ReadLine() (string, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read a line from a process: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// WriteLine sends a line to the process.
func (p *Process) WriteLine(line string) error {
	if _, err := fmt.Fprintln(p.in, line); err != nil {
		return fmt.Errorf("write a line to a process: %w", err)
	}
	return nil
}

// End closes the standard input of the process, and waits for its end.
func (p *Process) End() error {
	defer p.stop()
	_ = p.in.Close()                                                              // if the process is gone, Wait says why
	if err := p.command.Wait(); err != nil && !errors.Is(err, context.Canceled) { // an interrupted process ended as it should
		return fmt.Errorf("a process ended with %w: %s", err, strings.TrimSpace(p.errs.String()))
	}
	return nil
}

// Kill ends the process at once, as a crash would, also a stopped one, and waits for its end. It stands in for End.
func (p *Process) Kill() error {
	defer p.stop()
	err := p.command.Process.Kill()
	_ = p.command.Wait() // it says that it was killed
	if err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill a process: %w", err)
	}
	return nil
}
