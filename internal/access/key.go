package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// A key is inv_ID_SECRET. By the prefix, secret scanners find keys that were published by mistake. The id finds the
// key's line, and is not secret. The secret has 130 random bits.
const (
	keyPrefix  = "inv_"
	idChars    = 10
	mostSecret = 64 // bytes; a longer text is refused before it is hashed
)

// hash is the hash of a secret, which the file holds. SHA-256 is right for it. Slow hashes such as bcrypt make up for the
// few bits of passwords that people choose; 2^130 secrets are too many to try, however fast. A service that checks a key
// with every request needs a fast hash.
type hash [sha256.Size]byte

func hashOf(secret string) hash { return sha256.Sum256([]byte(secret)) }

// key is a line of the file.
type key struct {
	hash   hash
	caller Caller
}

// keys are the keys by their ids.
type keys map[string]key

// caller finds the caller that has a key, given without its prefix. The lookup of the id may take a varying time. The
// check of the secret may not: its hash is compared in constant time, for an unknown id with the hash of no key.
func (k keys) caller(text string) (Caller, error) {
	id, secret, _ := strings.Cut(text, "_")
	if len(secret) > mostSecret {
		return Caller{}, errUnknownKey
	}
	found := k[id]
	given := hashOf(secret)
	if subtle.ConstantTimeCompare(given[:], found.hash[:]) != 1 || found.caller.Scope == "" {
		return Caller{}, errUnknownKey
	}
	return found.caller, nil
}

// NewKey makes an API key. line is its line in the file of keys, and holds no secret.
func NewKey(name string, scope Scope) (apiKey, line string, err error) {
	id, secret := rand.Text()[:idChars], rand.Text()
	sum := hashOf(secret)
	line = fmt.Sprintf("%s %s %s sha256:%s", name, scope, id, hex.EncodeToString(sum[:]))
	if !keyLine.MatchString(line) {
		return "", "", errors.New("the name must be 1 to 64 of A-Z a-z 0-9 . _ -")
	}
	return keyPrefix + id + "_" + secret, line, nil
}

// IsKey reports whether a text looks like an API key, which must not be in any file, log or flag.
func IsKey(text string) bool { return strings.HasPrefix(text, keyPrefix) }
