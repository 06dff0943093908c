package access

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
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
	if !isName(name) {
		return errName
	}
	scope, err := ParseScope(fields[1])
	if err != nil {
		return err
	}
	if !isID(id) {
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
