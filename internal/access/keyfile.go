package access

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
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

// AddKey adds the line of a new key to a file of keys, and makes the file if there is none. If the line would make the
// file invalid, the file stays as it was. Concurrent calls lose no line: each appends its own in one write. A service
// that reads the file during that write finds a mistake in it, and keeps the keys that it has.
func AddKey(file, line string) (err error) {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, newFileMode)
	if err != nil {
		return fmt.Errorf("API keys: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	text, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("API keys: %w", err)
	}
	line += "\n"
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		line = "\n" + line
	}
	if _, err := parseKeys(file, append(slices.Clip(text), line...)); err != nil {
		return fmt.Errorf("%w; the file stays as it was", err)
	}
	if _, err := f.WriteString(line); err != nil {
		return errors.Join(fmt.Errorf("API keys: %w", err), f.Truncate(int64(len(text))))
	}
	return f.Sync()
}
