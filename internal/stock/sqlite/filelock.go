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
	if err := CheckFile(file); err != nil {
		return nil, err
	}
	file = realName(file)
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

// realName returns the name of a database file without links: all names of one file get one lock, also before it exists.
func realName(file string) string {
	for range mostLinks {
		if real, err := filepath.EvalSymlinks(file); err == nil {
			return real
		}
		to, err := os.Readlink(file)
		if err != nil { // it does not exist yet
			break
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(file), to)
		}
		file = to
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		return filepath.Join(folder, filepath.Base(file))
	}
	return file
}

const mostLinks = 40 // in a chain, as in Linux

// CheckFile refuses the path of a folder or a device, for which SQLite would wait or return an unclear error. It refuses a
// file with hard links: SQLite keeps a log next to each name, so two processes that use two names lose each other's writes.
// The file need not exist yet.
func CheckFile(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil //nolint:nilerr // opening the file reports the error
	case !info.Mode().IsRegular():
		return fmt.Errorf("the SQLite file %s is not a file", file)
	case hasOtherNames(info):
		return fmt.Errorf("the SQLite file %s has hard links: remove all names but one", file)
	default:
		return nil
	}
}

// Unlock gives up the file. The .lock file stays: if it were removed, two processes could lock two files of one name.
func (l *FileLock) Unlock() error { return l.lock.Unlock() }
