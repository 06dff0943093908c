// Package worker runs parts of a scenario in processes of their own: the lab starts its own program again. There is one
// protocol for all of them, in lines of JSON over standard input and output:
//
//  1. The lab sends a job, by which the worker prepares itself. It is not on the command line: addresses may hold passwords.
//  2. The worker says that it is ready, with what the lab has to know of it.
//  3. The lab says what to do, and the worker answers with the result, as often as the lab likes.
//  4. The lab closes the input, and the worker ends.
//
// Workers ignore the interrupts of a terminal. The lab terminates them when its context ends, and reads what they have done until then.
package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/shirou/gopsutil/v4/process"
	"golang.org/x/sync/errgroup"
)

// Job is what a worker is started for.
type Job struct {
	Kind  string        // the name of its work
	Job   any           // that it reads first
	Limit time.Duration // it is interrupted when it has lived so long
	Logs  io.Writer     // also gets its standard error; nil: nobody does
}

// Process is a worker, as the lab sees it.
type Process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *json.Decoder
	errs    bytes.Buffer
	killed  atomic.Bool
	stop    context.CancelFunc
}

// argument makes a process of this program a worker.
const argument = "worker"

// grace is how long an interrupted process may take to report and to end.
const grace = 20 * time.Second

// Start starts a worker, and reads what it says when it is ready; nil: that is of no interest. The caller ends it.
func Start(ctx context.Context, j Job, ready any) (*Process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program, which workers run: %w", err)
	}
	p, err := start(ctx, []string{program, argument, j.Kind}, j)
	if err != nil {
		return nil, fmt.Errorf("start the %s: %w", j.Kind, err)
	}
	if err := p.Ask(j.Job, ready); err != nil {
		return nil, fmt.Errorf("start the %s: %w", j.Kind, errors.Join(err, p.End()))
	}
	return p, nil
}

// start starts a process that is interrupted when ctx ends or it has lived too long, and killed if it does not end then.
func start(ctx context.Context, command []string, j Job) (_ *Process, err error) {
	ctx, stop := context.WithTimeout(ctx, j.Limit)
	defer func() {
		if err != nil {
			stop()
		}
	}()
	p := &Process{command: exec.CommandContext(ctx, command[0], command[1:]...), stop: stop}
	p.command.Cancel = func() error {
		if err := p.command.Process.Signal(syscall.SIGTERM); err != nil { // some systems cannot
			return p.command.Process.Kill()
		}
		return nil
	}
	p.command.WaitDelay = grace
	if p.command.Stderr = &p.errs; j.Logs != nil {
		p.command.Stderr = io.MultiWriter(&p.errs, j.Logs)
	}
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(out)
	return p, p.command.Start()
}

// Team are workers that do the same at once.
type Team []*Process

// Assemble starts a worker for each job, and returns when all are ready. The caller ends the team.
func Assemble[J any](ctx context.Context, kind string, limit time.Duration, jobs []J) (Team, error) {
	t := make(Team, len(jobs))
	var starting errgroup.Group
	for i, j := range jobs {
		starting.Go(func() (err error) {
			t[i], err = Start(ctx, Job{Kind: kind, Job: j, Limit: limit}, nil)
			return err
		})
	}
	if err := starting.Wait(); err != nil {
		return nil, errors.Join(err, t.End())
	}
	return t, nil
}

// Play says something to all workers of a team at once, and returns their answers in that order. Workers that have not answered
// within a limit are killed.
func Play[R any](t Team, what any, limit time.Duration) (answers []R, err error) {
	defer time.AfterFunc(limit, func() {
		for _, p := range t {
			_ = p.kill() // one that has gone is what was wanted
		}
	}).Stop()
	answers = make([]R, len(t))
	var playing errgroup.Group
	for i, p := range t {
		playing.Go(func() error {
			err := p.Ask(what, &answers[i])
			if err != nil && p.killed.Load() {
				return fmt.Errorf("hung: no answer within %s", limit)
			}
			return err
		})
	}
	return answers, playing.Wait()
}

// End ends all workers of the team.
func (t Team) End() (err error) {
	for _, p := range t {
		if p != nil {
			err = errors.Join(err, p.End())
		}
	}
	return err
}

// Compete is one play of a team that is then ended.
func Compete[R, J any](ctx context.Context, kind string, limit time.Duration, jobs []J) (answers []R, err error) {
	t, err := Assemble(ctx, kind, limit+grace, jobs)
	if err != nil {
		return nil, err
	}
	answers, err = Play[R](t, "go", limit)
	return answers, errors.Join(err, t.End())
}

// Ask says something to the worker, and reads its answer.
func (p *Process) Ask(what, answer any) error {
	if err := p.say(what); err != nil {
		return err
	}
	return p.read(answer)
}

func (p *Process) say(what any) error {
	if err := json.NewEncoder(p.in).Encode(what); err != nil {
		return fmt.Errorf("talk to a worker: %w", err)
	}
	return nil
}

func (p *Process) read(answer any) error {
	var m message
	if err := p.out.Decode(&m); err != nil {
		return fmt.Errorf("read what a worker says: %w", err)
	}
	if m.Error != "" {
		return errors.New(m.Error)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(m.Said, answer)
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

// End closes the standard input of the process, and waits for its end.
func (p *Process) End() error {
	defer p.stop()
	_ = p.in.Close() // if the process is gone, Wait says why
	if err := p.read(nil); err != nil && !errors.Is(err, io.EOF) && !p.killed.Load() {
		return errors.Join(err, p.command.Wait())
	}
	err := p.command.Wait()
	if err == nil || p.killed.Load() || errors.Is(err, context.Canceled) { // an interrupted process ended as it should
		return nil
	}
	return fmt.Errorf("a process ended with %w: %s", err, strings.TrimSpace(p.errs.String()))
}

// Kill ends the process at once, as a crash would, also a stopped one, and waits for its end. It stands in for End.
func (p *Process) Kill() error {
	if err := p.kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill a process: %w", err)
	}
	return p.End()
}

func (p *Process) kill() error {
	p.killed.Store(true)
	return p.command.Process.Kill()
}

// Work is what a worker does: it reads its job, prepares itself, says that it is ready, and answers what the lab says.
type Work func(ctx context.Context, lab *Lab) error

// Lab is the lab, as a worker sees it.
type Lab struct {
	in  *json.Decoder
	out *json.Encoder
}

// message is what a worker says: an answer, or why it ends.
type message struct {
	Said  json.RawMessage `json:"said,omitempty"`
	Error string          `json:"error,omitempty"`
}

// Main does the work of this process and ends it, if the lab has started it as a worker. Otherwise it does nothing.
func Main(works map[string]Work) {
	if len(os.Args) != 3 || os.Args[1] != argument {
		return
	}
	logging.Disable()           // the errors of go-redis say what it logs
	signal.Ignore(os.Interrupt) // of a terminal: the lab says when to stop
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	work, known := works[os.Args[2]]
	if !known {
		work = func(context.Context, *Lab) error { return fmt.Errorf("there is no worker %q", os.Args[2]) }
	}
	lab := &Lab{json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)}
	if err := work(ctx, lab); err != nil {
		_ = lab.out.Encode(message{Error: err.Error()}) // a lab that does not read it has gone
	}
	stop()
	os.Exit(0)
}

// Read reads what the lab says next. An error is the end of the lab's interest, too.
func (l *Lab) Read(what any) error {
	if err := l.in.Decode(what); err != nil {
		return fmt.Errorf("read what the lab says: %w", err)
	}
	return nil
}

// Say says something to the lab: what it has to know when the worker is ready, or an answer.
func (l *Lab) Say(what any) error {
	text, err := json.Marshal(what)
	if err == nil {
		err = l.out.Encode(message{Said: text})
	}
	if err != nil {
		return fmt.Errorf("talk to the lab: %w", err)
	}
	return nil
}

// Go says that the worker is ready, and waits until all are.
func (l *Lab) Go() error {
	if err := l.Say("ready"); err != nil {
		return err
	}
	return l.Read(new(any))
}

// Serve says what the lab has to know, and waits until the lab needs this worker no more.
func (l *Lab) Serve(ready any) error {
	if err := l.Say(ready); err != nil {
		return err
	}
	_ = l.Read(new(any)) // until the input is closed
	return nil
}
