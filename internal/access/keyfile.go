package access

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
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

// keyLine is a line of the file, as [NewKey] writes it.
var keyLine = regexp.MustCompile(`^([A-Za-z0-9._-]{1,64})\s+(buyer|admin)\s+([A-Za-z0-9]{1,64})\s+sha256:([0-9a-fA-F]{64})$`)

// parseKeys reads the text of a file of keys.
func parseKeys(file string, text []byte) (keys, error) {
	k := make(keys)
	number := 0
	for line := range bytes.Lines(text) {
		number++
		line = bytes.TrimSpace(line)
		if len(line) == 0 || line[0] == '#' {
			continue
		}
		fields := keyLine.FindStringSubmatch(string(line))
		if fields == nil {
			return nil, fmt.Errorf("API keys: %s, line %d: must be name, scope, id and hash, as inventory key new writes them", file, number)
		}
		name, scope, id := fields[1], Scope(fields[2]), fields[3]
		if _, twice := k[id]; twice {
			return nil, fmt.Errorf("API keys: %s, line %d: the id is there twice", file, number)
		}
		sum, _ := hex.DecodeString(fields[4]) // they are digits
		k[id] = key{hash: hash(sum), caller: Caller{ID: "key " + id + " " + name, Scope: scope, Rights: all}}
	}
	if len(k) == 0 {
		return nil, fmt.Errorf("API keys: %s has no key: make one with inventory key new", file)
	}
	return k, nil
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
	if n, err := f.WriteString(line); err != nil {
		if now, unknown := f.Stat(); unknown == nil && now.Size() == int64(len(text)+n) { // nobody else has added a line
			err = errors.Join(err, f.Truncate(int64(len(text))))
		}
		return fmt.Errorf("API keys: %w", err)
	}
	return f.Sync()
}
