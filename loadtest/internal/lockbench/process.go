package lockbench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"inventory/internal/latency"
)

// process is a process that competes.
type process struct {
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	errs    bytes.Buffer
	stop    context.CancelFunc
}

// startProcess starts a process and tells it its job.
func startProcess(ctx context.Context, worker []string, j job) (*process, error) {
	ctx, stop := context.WithTimeout(ctx, 3*slack+j.Window) // one that hangs is killed
	p := &process{command: exec.CommandContext(ctx, worker[0], worker[1:]...), stop: stop}
	p.command.Stderr = &p.errs
	var err error
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start a process: %w", err)
	}
	p.out = bufio.NewReader(out)
	if err := p.command.Start(); err != nil {
		stop()
		return nil, fmt.Errorf("start a process: %w", err)
	}
	if err := json.NewEncoder(p.in).Encode(j); err != nil {
		return nil, errors.Join(fmt.Errorf("tell a process its job: %w", err), p.end())
	}
	return p, nil
}

// line reads a line that the process says.
func (p *process) line() (string, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("hear a process: %w", err)
	}
	return strings.TrimSpace(line), nil
}

// end waits for the end of a process, to which nobody talks any more.
func (p *process) end() error {
	defer p.stop()
	_ = p.in.Close() // that is what tells it; if it is gone, Wait says why
	if err := p.command.Wait(); err != nil {
		return fmt.Errorf("a process ended with %w: %s", err, strings.TrimSpace(p.errs.String()))
	}
	return nil
}

// compete runs each job in a process of its own, all at once, and returns what they did, in that order.
func (b *bench) compete(ctx context.Context, jobs []job) (reports []report, err error) {
	var processes []*process
	defer func() {
		for _, p := range processes {
			err = errors.Join(err, p.end())
		}
	}()
	for _, j := range jobs {
		p, err := startProcess(ctx, b.worker, j)
		if err != nil {
			return nil, err
		}
		processes = append(processes, p)
	}
	for _, p := range processes {
		if said, err := p.line(); err != nil || said != ready {
			return nil, errors.Join(err, fmt.Errorf("a process is not ready, it says %q", said))
		}
	}
	for _, p := range processes {
		if _, err := fmt.Fprintln(p.in, goAhead); err != nil {
			return nil, fmt.Errorf("start the clock of a process: %w", err)
		}
	}
	for _, p := range processes {
		said, err := p.line()
		if err != nil {
			return nil, err
		}
		r := report{Waits: latency.New()}
		if err := json.Unmarshal([]byte(said), &r); err != nil {
			return nil, fmt.Errorf("understand a process: %w", err)
		}
		reports = append(reports, r)
	}
	return reports, nil
}

// together returns the figures of some processes as one; fairness is that between processes.
func together(reports []report, window time.Duration) (Figures, string) {
	t := &tally{waits: latency.New(), elapsed: window}
	var commands int64
	for _, r := range reports {
		t.counts = append(t.counts, r.sum())
		t.all += r.All
		t.violations += r.Violations
		t.waits.Add(r.Waits)
		commands += r.Commands
		if r.Note != "" {
			t.note = r.Note
		}
	}
	return t.figures(commands), t.note
}

// sum is how many acquisitions fell into the window.
func (r report) sum() (all int64) {
	for _, n := range r.Counts {
		all += n
	}
	return all
}

// contest makes entrants that compete in processes: what jobs of a kind do, and what their reports come to.
func (b *bench) contest(name string, kinds []kind, jobs []job, figures func(reports []report) (Figures, string),
) (entrants []entrant) {
	for _, k := range kinds {
		entrants = append(entrants, entrant{k.name, k.ours, func(ctx context.Context, round int) (Figures, string) {
			mine := slices.Clone(jobs)
			for i := range mine {
				mine[i].Servers, mine[i].Kind = b.servers, k.name
				mine[i].Lock = fmt.Sprintf("%s%s-%d", b.run, name, round)
			}
			reports, err := b.compete(ctx, mine)
			if err != nil {
				return Figures{}, err.Error()
			}
			return figures(reports)
		}})
	}
	return entrants
}
