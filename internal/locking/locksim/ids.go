package locksim

import (
	"fmt"
	"regexp"
	"sync"
)

// ids gives the owners short names in the order in which they are first heard of. Their own are drawn from a
// source that no seed decides.
type ids struct {
	mu    sync.Mutex
	names map[string]string
}

var (
	ownerText  = regexp.MustCompile(`\b([A-Z2-7]{16,26}):([0-9a-z]{4,14})\b`)
	lengthText = regexp.MustCompile(`\$\d+\r\n`)
)

// plain returns what is said without what chance has put into it.
func (n *ids) plain(said []byte) []byte {
	return ownerText.ReplaceAllFunc(lengthText.ReplaceAll(said, nil), func(owner []byte) []byte {
		process := owner[:4] // enough to tell those of a history apart
		return fmt.Appendf(nil, "%s:%s", process, n.nameOf(string(owner)))
	})
}

// nameOf returns the short name of an owner.
func (n *ids) nameOf(owner string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	name := n.names[owner]
	if name == "" {
		name = fmt.Sprintf("w%d", len(n.names)+1)
		n.names[owner] = name
	}
	return name
}
