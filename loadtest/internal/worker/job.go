package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	ready   = "ready" // says a process when it is
	goAhead = "go"    // says the lab when all are
)

// Read reads the job of this process, which is the first line of what the lab says. The others follow.
func Read[J any](in io.Reader) (j J, lines *bufio.Scanner, err error) {
	lines = bufio.NewScanner(in)
	if !lines.Scan() {
		return j, nil, errors.New("there is no job")
	}
	if err := json.Unmarshal(lines.Bytes(), &j); err != nil {
		return j, nil, fmt.Errorf("read the job: %w", err)
	}
	return j, lines, nil
}

// WaitForGo says that this process is ready, and waits until all are.
func WaitForGo(lines *bufio.Scanner, out io.Writer) error {
	if _, err := fmt.Fprintln(out, ready); err != nil {
		return fmt.Errorf("talk to the lab: %w", err)
	}
	if !lines.Scan() || lines.Text() != goAhead {
		return errors.New("nobody said go")
	}
	return nil
}

// All are processes that begin at once. Whoever has them ends them.
type All []*Process

// StartAll starts a process for each job, which is interrupted after limit, and waits until all are ready.
func StartAll[J any](ctx context.Context, command []string, limit time.Duration, jobs []J) (all All, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, all.End())
			all = nil
		}
	}()
	for _, j := range jobs {
		p, err := Start(ctx, command, j, limit)
		if err != nil {
			return all, err
		}
		all = append(all, p)
	}
	for _, p := range all {
		if said, err := p.Hear(); err != nil || said != ready {
			return all, errors.Join(err, fmt.Errorf("a process is not ready, it says %q", said))
		}
	}
	return all, nil
}

// Go lets all of them begin.
func (all All) Go() error {
	for _, p := range all {
		if err := p.Say(goAhead); err != nil {
			return fmt.Errorf("start the clock: %w", err)
		}
	}
	return nil
}

// Compete runs each job in a process of its own, all at once, and returns what they have to tell, in that order. One that has not
// ended after limit is interrupted.
func Compete[R, J any](ctx context.Context, command []string, limit time.Duration, jobs []J) (results []R, err error) {
	all, err := StartAll(ctx, command, limit, jobs)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, all.End()) }()
	if err := all.Go(); err != nil {
		return nil, err
	}
	return Results[R](all)
}

// End waits for the end of all.
func (all All) End() error {
	var errs []error
	for _, p := range all {
		errs = append(errs, p.End())
	}
	return errors.Join(errs...)
}

// Results waits for what each has to tell, in the order of the jobs.
func Results[R any](all All) (results []R, err error) {
	for _, p := range all {
		said, err := p.Hear()
		if err != nil {
			return nil, err
		}
		var r R
		if err := json.Unmarshal([]byte(said), &r); err != nil {
			return nil, fmt.Errorf("understand a process: %w", err)
		}
		results = append(results, r)
	}
	return results, nil
}
