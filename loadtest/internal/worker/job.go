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
	ready   = "ready" // from a process to the lab
	goAhead = "go"    // from the lab, when all processes are ready
)

// Read reads the job of this process from the first line. The other lines of the lab follow.
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

// WaitForGo reports that this process is ready, and waits until all are.
func WaitForGo(lines *bufio.Scanner, out io.Writer) error {
	if _, err := fmt.Fprintln(out, ready); err != nil {
		return fmt.Errorf("talk to the lab: %w", err)
	}
	if !lines.Scan() || lines.Text() != goAhead {
		return errors.New("the lab did not say go")
	}
	return nil
}

// Compete runs each job in a process of its own, all at once, and returns their results in that order. A process that has not
// ended after limit is interrupted.
func Compete[R, J any](ctx context.Context, command []string, limit time.Duration, jobs []J) (results []R, err error) {
	var all []*Process
	defer func() {
		for _, p := range all {
			err = errors.Join(err, p.End())
		}
	}()
	for _, j := range jobs {
		p, err := Start(ctx, command, j, limit)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	for _, p := range all {
		if said, err := p.ReadLine(); err != nil || said != ready {
			return nil, errors.Join(err, fmt.Errorf("a process is not ready, it says %q", said))
		}
	}
	for _, p := range all {
		if err := p.WriteLine(goAhead); err != nil {
			return nil, fmt.Errorf("start the clock: %w", err)
		}
	}
	results = make([]R, len(all))
	for i, p := range all {
		said, err := p.ReadLine()
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(said), &results[i]); err != nil {
			return nil, fmt.Errorf("understand a process: %w", err)
		}
	}
	return results, nil
}
