package access

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// newFileMode lets the service read a file that an operator made. The file holds hashes, and no secret.
const newFileMode = 0o644

// AddKey adds the line of a new key to a file of keys, and makes the file if there is none. A concurrent reader finds
// the whole file, with or without the line. Concurrent calls lose no line. If the line would make the file invalid, the
// file stays as it was. It keeps its mode and its owner.
//
// The result is a new file of the same name: a container that has mounted the file itself instead of its folder keeps
// the old one.
func AddKey(file, line string) (err error) {
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	lock := flock.New(file+".lock", flock.SetPermissions(newFileMode))
	if err := lock.Lock(); err != nil {
		return fmt.Errorf("API keys: %w", err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	text, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("API keys: %w", err)
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	text = append(text, line+"\n"...)
	if _, err := parseKeys(file, text); err != nil {
		return fmt.Errorf("%w; the file stays as it was", err)
	}
	return replaceKeys(file, text)
}

// replaceKeys replaces a file of keys by one with the given text, once the new file is on the disk.
func replaceKeys(file string, text []byte) (err error) {
	next, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*.new")
	if err != nil {
		return fmt.Errorf("API keys: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("API keys: %s stays as it was: %w", file, err), os.Remove(next.Name()))
		}
	}()
	_, err = next.Write(text)
	if err == nil {
		err = likeBefore(next, file)
	}
	if err == nil {
		err = next.Sync()
	}
	if err = errors.Join(err, next.Close()); err != nil {
		return err
	}
	if err := os.Rename(next.Name(), file); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(file))
}

// likeBefore gives a file the mode and the owner of the one that it replaces.
func likeBefore(next *os.File, file string) error {
	before, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return next.Chmod(newFileMode)
	case err != nil:
		return err
	}
	if err := keepOwner(next, before); err != nil {
		return err
	}
	return next.Chmod(before.Mode().Perm())
}
