// Package worker runs parts of a comparison in processes of their own: the lab starts itself again, tells each process
// its job in one line of JSON, and the two talk in lines. The job goes to standard input, and not to the command line,
// because addresses may hold passwords. A process ends when nobody talks to it any more.
package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// Process is a process that the lab has started.
type Process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errs    bytes.Buffer
	stop    context.CancelFunc
}

// Start starts a process by its command line, and tells it its job. One that has not ended after limit is killed.
func Start(ctx context.Context, command []string, job any, limit time.Duration) (*Process, error) {
	return StartLogging(ctx, command, job, limit, io.Discard)
}

// StartLogging is Start for a process whose standard error somebody reads.
func StartLogging(ctx context.Context, command []string, job any, limit time.Duration, logs io.Writer) (*Process, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	p := &Process{command: exec.CommandContext(ctx, command[0], command[1:]...), stop: stop}
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
	_ = p.in.Close() // that is what tells it; if it is gone, Wait says why
	if err := p.command.Wait(); err != nil {
		return fmt.Errorf("a process ended with %w: %s", err, strings.TrimSpace(p.errs.String()))
	}
	return nil
}
