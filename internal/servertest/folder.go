//go:build unix

package servertest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/shirou/gopsutil/v4/disk"
)

const (
	folderPrefix = "inventory-server-"
	lockName     = "owner.lock"
	logName      = "server.log"
	memoryFolder = "/dev/shm" // on Linux: its files are in memory
	// memoryRoom is how many bytes it must have free for a server's files. Containers often have 64 MB in all.
	memoryRoom = 4 << 30
)

// quickFolder is the folder for a server's files that need not survive the machine: in memory, if there is room.
func quickFolder() string {
	if there, err := disk.Usage(memoryFolder); err == nil && there.Free >= memoryRoom {
		return memoryFolder
	}
	return os.TempDir()
}

// folder is the temporary folder of one server. It belongs to the process that
// holds the lock on its lock file.
type folder struct {
	path string
	lock *os.File
}

// newFolder makes a folder under parent, after removing those whose owners have died.
func newFolder(parent string) (*folder, error) {
	sweepFolders(os.TempDir())
	sweepFolders(memoryFolder)
	path, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("making a folder for a server: %w", err)
	}
	lock, err := lockFolder(path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &folder{path: path, lock: lock}, nil
}

// lockFolder makes the lock file and locks it. The file gets its name only once
// it is locked, so that a sweep never finds it unlocked while its owner lives.
func lockFolder(path string) (*os.File, error) {
	file, err := os.CreateTemp(path, "new-*.lock")
	if err != nil {
		return nil, fmt.Errorf("making a lock file: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(path, lockName))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	return file, nil
}

// remove deletes the folder, then gives up its lock.
func (f *folder) remove() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

// sweepFolders removes folders under parent whose owners have died. It only
// saves disk space, so it skips a folder that it cannot open or remove.
func sweepFolders(parent string) {
	locks, err := filepath.Glob(filepath.Join(parent, folderPrefix+"*", lockName))
	if err != nil {
		return
	}
	for _, path := range locks {
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = file.Close()
	}
}
