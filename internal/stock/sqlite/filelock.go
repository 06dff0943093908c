package sqlite

import (
	"errors"
	"fmt"
	"os"
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
	file, err := realName(file)
	if err != nil {
		return nil, err
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

// realName returns the name of a database file without links: two names of one file are one file. A file that does not exist
// is made, empty as SQLite makes it, since a link to nothing cannot be followed.
func realName(file string) (string, error) {
	if err := CheckFile(file); err != nil {
		return "", err
	}
	made, err := os.OpenFile(file, os.O_RDONLY|os.O_CREATE, 0o644) //nolint:gosec // the operator names it; SQLite's own mode
	if err != nil {
		return "", fmt.Errorf("open the SQLite file: %w", err)
	}
	real, err := filepath.EvalSymlinks(file)
	if err = errors.Join(err, made.Close()); err != nil {
		return "", fmt.Errorf("find the SQLite file: %w", err)
	}
	return real, nil
}

// CheckFile refuses the path of a folder or a device, which SQLite would wait for or tell nothing clear of. There need not
// be a file yet.
func CheckFile(file string) error {
	if info, err := os.Stat(file); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("the SQLite file %s is not a file", file)
	}
	return nil
}

// Unlock gives the file up. The .lock file stays: to remove it would let two processes lock two files of one name.
func (l *FileLock) Unlock() error { return l.lock.Unlock() }
