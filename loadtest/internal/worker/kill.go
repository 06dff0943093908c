package worker

import (
	"errors"
	"fmt"
	"os"
)

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
