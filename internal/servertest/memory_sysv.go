//go:build linux || darwin

package servertest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// releaseMemory frees what a killed server could not: the System V segment by
// which PostgreSQL recognises another server on the same data. The kernel keeps
// such segments for ever, and has few of them. The id is the second number on
// the seventh line of postmaster.pid, a file that only a killed server leaves.
// Do not call it for a server that is restarted, because that server finds the
// segment and cleans up itself.
func (p *Postgres) releaseMemory() error {
	path := filepath.Join(p.dataFolder(), "postmaster.pid")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cleaning up after PostgreSQL: %w", err)
	}
	lines := strings.Split(string(text), "\n")
	var key, id int
	if n, _ := fmt.Sscan(lines[min(6, len(lines)-1)], &key, &id); n < 2 {
		return nil // it was killed before it had a segment
	}
	if _, err := unix.SysvShmCtl(id, unix.IPC_RMID, nil); err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EIDRM) {
		return fmt.Errorf("removing shared memory segment %d: %w", id, err)
	}
	return nil
}
