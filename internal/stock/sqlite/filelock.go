package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gofrs/flock"
)

// ErrFileInUse is returned by LockFile when another process owns the file.
var ErrFileInUse = errors.New("the SQLite file is in use by another process")

// FileLock is the ownership of a database file.
type FileLock struct{ lock *flock.Flock }

// LockFile makes this process the owner of a database file, by a kernel lock on FILE.lock that ends with the
// process however it ends.
func LockFile(file string) (*FileLock, error) {
	// Two names of one file are one file.
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	} else if folder, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil { // it does not exist yet
		file = filepath.Join(folder, filepath.Base(file))
	}
	lock := flock.New(file + ".lock")
	got, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock %s: %w", file, err)
	case !got:
		return nil, fmt.Errorf("%w: %s", ErrFileInUse, file)
	}
	return &FileLock{lock}, nil
}

// Unlock gives the file up. The .lock file stays: to remove it would let two processes lock two files of one name.
func (l *FileLock) Unlock() error { return l.lock.Unlock() }
