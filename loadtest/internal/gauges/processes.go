package gauges

import "context"

// processes are some of this machine, by their ids.
type processes struct {
	title   string
	kind    Process
	pids    []int
	seconds func(pids []int) (float64, error)
}

func (p processes) name() string { return p.title }

func (p processes) read(_ context.Context, into *Reading) (err error) {
	seconds, err := p.seconds(p.pids)
	if err == nil {
		into.CPU[p.kind] = seconds
	}
	return err
}

func (processes) close(context.Context) error { return nil }
