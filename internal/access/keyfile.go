package access

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// readKeys reads a file of keys. Each line has a name, a scope, an id and a hash, separated by white space. It skips
// empty lines, and lines that begin with #.
//
// An error names the line, and quotes nothing of it: a key pasted in place of its hash must not get into a log.
func readKeys(file string) (keys, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("API keys: %w", err)
	}
	return parseKeys(file, text)
}

// parseKeys reads the text of a file of keys.
func parseKeys(file string, text []byte) (keys, error) {
	k := make(keys)
	number := 0
	for line := range bytes.Lines(text) {
		number++
		fields := strings.Fields(string(line))
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if err := k.add(fields); err != nil {
			return nil, fmt.Errorf("API keys: %s, line %d: %w", file, number, err)
		}
	}
	if len(k) == 0 {
		return nil, fmt.Errorf("API keys: %s has no key: make one with inventory key new", file)
	}
	return k, nil
}

// add adds the key of a line.
func (k keys) add(fields []string) error {
	const words = 4
	if len(fields) != words {
		return fmt.Errorf("needs name, scope, id and hash, and has %d words", len(fields))
	}
	name, id := fields[0], fields[2]
	if !nameFormat.MatchString(name) {
		return errName
	}
	scope, err := ParseScope(fields[1])
	if err != nil {
		return err
	}
	if !idFormat.MatchString(id) {
		return errors.New("the id must be 1 to 64 of A-Z a-z 0-9")
	}
	if _, twice := k[id]; twice {
		return errors.New("the id is there twice")
	}
	digits, ok := strings.CutPrefix(fields[3], hashPrefix)
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != len(hash{}) {
		return errors.New("the hash must be sha256: and 64 hexadecimal digits; a key itself does not belong here")
	}
	k[id] = key{hash: hash(sum), caller: Caller{ID: "key " + id + " " + name, Scope: scope, Rights: all}}
	return nil
}

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
