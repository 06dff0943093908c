package locksim

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"inventory/internal/locking"
)

// A Request is what a client has sent at once: a command, or a pipeline of them.
type Request struct {
	Client *Client
	Node   int    // which server it is for
	Verb   string // of the script that it runs, or the name of the command
	Nth    int    // of this verb from this client, from 0
	Words  [][]string

	frames [][]byte
	fate   Fate
}

// String tells it in a line.
func (q *Request) String() string { return fmt.Sprintf("%s %d", q.Verb, q.Nth) }

// A Fate is what the network does to a request.
type Fate struct {
	Delay    time.Duration   // until the server has it
	Reply    time.Duration   // until the answer is back
	Lost     bool            // it does not arrive, nor does anything after it on its connection
	Mute     bool            // the answer does not, nor does anything after it
	CutAfter time.Duration   // when the client hears that the connection is gone; 0: never
	Copies   []time.Duration // the same request arrives again, that much later
}

// verbs knows the names of scripts by their hash.
type verbs struct {
	mu    sync.Mutex
	names map[string]string
}

// verbLine finds the name of a script, with which it begins.
var verbLine = regexp.MustCompile(`^-- ([a-z_]+) `)

// of returns the verb of a command.
func (v *verbs) of(words []string) string {
	verb := strings.ToLower(words[0])
	v.mu.Lock()
	defer v.mu.Unlock()
	switch verb {
	case "eval", "script":
		source := words[len(words)-1]
		if verb == "eval" {
			source = words[1]
		}
		if found := verbLine.FindStringSubmatch(source); found != nil {
			v.names[digest(source)] = found[1]
		}
		if verb == "eval" {
			return v.named(digest(source))
		}
	case "evalsha":
		return v.named(words[1])
	}
	return verb
}

func (v *verbs) named(hash string) string {
	if name := v.names[hash]; name != "" {
		return name
	}
	return hash[:min(8, len(hash))]
}

// request describes what a client has written.
func (w *World) request(l *link, whole [][]byte) *Request {
	q := &Request{Client: l.client, Node: l.server.id, frames: whole}
	for _, frame := range whole {
		q.Words = append(q.Words, words(frame))
		if verb := w.verbs.of(q.Words[len(q.Words)-1]); q.Verb == "" || verb < q.Verb {
			q.Verb = verb // of a pipeline one, whatever its order
		}
	}
	if q.Verb == "subscribe" {
		l.listens = true
	}
	w.introduce(l.server, q)
	l.client.mu.Lock()
	q.Nth = l.client.sent[q.Verb]
	l.client.sent[q.Verb]++
	l.client.mu.Unlock()
	return q
}

var processText = regexp.MustCompile(`\b([A-Z2-7]{16,26}):`)

// introduce notes by which name a server knows the process that talks to it.
func (w *World) introduce(s *server, q *Request) {
	if !q.runsScript() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, list := range q.Words {
		for _, word := range list {
			if found := processText.FindStringSubmatch(word); found != nil {
				w.homes[found[1]] = s
			}
		}
	}
}

// home returns the server of a hold.
func (w *World) home(h *locking.Hold) *server {
	process, _, _ := strings.Cut(h.Owner(), ":")
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.homes[process]
}

// runsScript tells whether a request does something to locks.
func (q *Request) runsScript() bool {
	return slices.ContainsFunc(q.Words, func(words []string) bool {
		return strings.HasPrefix(strings.ToLower(words[0]), "eval")
	})
}
