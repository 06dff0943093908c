package locksim

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"

	"inventory/internal/locking"
	"inventory/internal/locking/internal/scripts"
	"inventory/internal/locking/locksim/wire"
)

// A link is one connection between a client and a server. Bytes arrive in order, in both directions;
// when, and whether at all, is the weather's choice.
type link struct {
	world  *World
	client *Client
	id     int
	server *server
	wire   *wire.Wire // nil for the copy of a request, whose answer nobody hears
	conn   net.Conn   // of the server

	mu      sync.Mutex
	partial []byte     // of a request that the client has not written to its end
	way     []*Request // to the server, in order
	got     []byte     // from the server, not passed on yet
	up      time.Time  // when the last request arrives
	down    time.Time  // when the last answer arrives
	deaf    bool       // nothing reaches the client any more
	mute    bool       // nothing reaches the server any more
	listens bool       // it has subscribed
}

// String names it.
func (l *link) String() string { return fmt.Sprintf("%s-%s", l.client, l.server) }

// path is the source of chance for the way between a client and a server: what is sent to several servers at one moment
// has several fates.
func (c *Client) path(s *server) int { return c.id<<8 | s.id }

// sent takes what a client writes. It runs in the client's goroutine.
func (l *link) sent(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	whole, rest := frames(append(l.partial, p...))
	l.partial = append([]byte(nil), rest...)
	if len(whole) == 0 {
		return
	}
	q := l.world.request(l, whole)
	now := time.Now()
	random := l.world.draw(l.client.path(l.server), whole)
	q.fate = l.world.weather.fate(random, q, now)
	l.world.rule(q, &q.fate)
	if f := q.fate; f.Lost || f.Mute || f.CutAfter > 0 || len(f.Copies) > 0 || f.Delay > l.world.weather.Latency {
		l.client.unsure()
	}
	rank := random.Uint64()
	if q.fate.CutAfter > 0 {
		l.world.agenda.at(now.Add(q.fate.CutAfter), rank, l.hangUp)
	}
	for _, after := range q.fate.Copies {
		l.world.agenda.at(now.Add(after), rank, func() { l.world.ghost(l.client, l.server, q) })
	}
	if q.fate.Lost {
		l.mute = true
		l.world.note("%s %s is lost", l, q)
	}
	if l.mute {
		return
	}
	l.way = append(l.way, q)
	l.up = later(l.up.Add(1), now.Add(q.fate.Delay))
	l.world.agenda.at(l.up, rank, l.arrive)
}

// arrive brings the next request to the server.
func (l *link) arrive() {
	w := l.world
	now := time.Now()
	if until := later(l.server.pausedUntil, l.client.away(l.server)); now.Before(until) {
		l.mu.Lock()
		first := l.way[0].frames
		l.mu.Unlock()
		w.agenda.at(until.Add(w.jitter(l.client.path(l.server), first)), 0, l.arrive)
		return
	}
	l.mu.Lock()
	q := l.way[0]
	l.way = l.way[1:]
	l.mu.Unlock()
	if l.server.down {
		w.note("%s %s does not arrive", l, q)
		return
	}
	l.server.setClock()
	w.running, w.runningOn = q, l
	if q.Verb == "subscribe" && now.Before(l.client.mayListen) {
		w.note("%s may not subscribe", l)
		l.mu.Lock()
		l.got = append(l.got, "-NOPERM this user may not subscribe\r\n"...)
		l.mu.Unlock()
		return
	}
	sent := bytes.Join(q.frames, nil)
	if w.Miscounts {
		sent = miscounting(sent)
	}
	_, _ = l.conn.Write(sent) // a closed connection takes nothing, as it should be
}

// miscounting changes the text of a script: the count is another one than what is asked for. Then the server knows no script
// by the hash that the client has of it, so every call brings its text.
func miscounting(sent []byte) []byte {
	return bytes.ReplaceAll(sent, []byte(", state) ~= 0 or"), []byte(", state) == 9 or"))
}

// settle passes on what the server has answered or published. The world is at rest.
func (l *link) settle() {
	w := l.world
	l.mu.Lock()
	defer l.mu.Unlock()
	if w.runningOn == l {
		w.executed(l, w.running, l.got)
	}
	if len(l.got) == 0 {
		return
	}
	whole, rest := frames(l.got)
	l.got = append([]byte(nil), rest...)
	for _, frame := range whole {
		l.send(frame)
	}
}

// send puts one message on the way to the client. l.mu is held.
func (l *link) send(frame []byte) {
	w := l.world
	random := w.draw(l.client.path(l.server), [][]byte{frame})
	now := time.Now()
	delay := w.weather.delay(random)
	if w.runningOn == l {
		delay = w.running.fate.Reply
		if w.running.fate.Mute && !l.deaf {
			l.deaf = true
			w.note("%s the answer to %s is lost", l, w.running)
		}
	}
	if l.deaf || l.wire == nil {
		return
	}
	if isMessage(frame) {
		l.announce(frame, delay, random)
		return
	}
	l.down = later(l.down.Add(1), now.Add(delay))
	w.agenda.at(l.down, random.Uint64(), func() { l.pass(frame) })
}

// pass gives a message to the client.
func (l *link) pass(frame []byte) {
	if until := l.client.away(l.server); time.Now().Before(until) {
		l.world.agenda.at(until.Add(l.world.jitter(l.client.path(l.server), [][]byte{frame})), 0, func() { l.pass(frame) })
		return
	}
	l.mu.Lock()
	deaf := l.deaf
	l.mu.Unlock()
	if deaf {
		return
	}
	if isMessage(frame) {
		l.world.checker.earns(l.client, l.server)
	}
	l.wire.Deliver(frame)
}

// seal stops all that is not on its way yet.
func (l *link) seal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mute, l.deaf = true, true
}

// reset breaks the connection on both sides; what is under way is gone.
func (l *link) reset() {
	l.seal()
	_ = l.conn.Close()
	if l.wire != nil {
		l.hangUp()
	}
}

// hangUp cuts the connection on the client's side. Bytes on their way to the server still arrive.
func (l *link) hangUp() {
	if l.wire != nil && !l.client.severed {
		l.world.note("%s connection is cut", l)
		l.wire.HangUp()
	}
}

// finish follows the client, which has closed its end.
func (l *link) finish() {
	l.mu.Lock()
	defer l.mu.Unlock()
	when := later(l.up, time.Now()).Add(time.Millisecond)
	l.world.agenda.at(when, 0, func() {
		if !l.client.severed { // nobody tells the server that a machine has died
			_ = l.conn.Close()
		}
	})
}

// receive collects what the server writes, until it closes the connection.
func (l *link) receive() {
	buffer := make([]byte, 4096)
	for {
		n, err := l.conn.Read(buffer)
		l.mu.Lock()
		l.got = append(l.got, buffer[:n]...)
		l.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

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

// verbOf returns the name of the script that a command runs, or that of the command.
func verbOf(words []string) string {
	verb, hash := strings.ToLower(words[0]), ""
	switch verb {
	case "evalsha":
		hash = words[1]
	case "eval":
		hash = redis.NewScript(words[1]).Hash()
	}
	return cmp.Or(scripts.NameOf(hash), verb)
}

// request describes what a client has written.
func (w *World) request(l *link, whole [][]byte) *Request {
	q := &Request{Client: l.client, Node: l.server.id, frames: whole}
	for _, frame := range whole {
		q.Words = append(q.Words, words(frame))
		if verb := verbOf(q.Words[len(q.Words)-1]); q.Verb == "" || verb < q.Verb {
			q.Verb = verb // of a pipeline one, whatever its order
		}
	}
	if q.Verb == "subscribe" {
		l.listens = true
	}
	l.world.checker.spends(l.client, l.server, q)
	l.client.mu.Lock()
	q.Nth = l.client.sent[q.Verb]
	l.client.sent[q.Verb]++
	l.client.mu.Unlock()
	return q
}

// home returns the server of a hold, which its process is named by.
func (w *World) home(h *locking.Hold) *server {
	var client, server int
	if _, err := fmt.Sscanf(h.Owner(), processName, &client, &server); err != nil {
		w.T.Errorf("%s: the owner %s: %v", w.Name, h.Owner(), err)
	}
	return w.servers[server]
}

// runsScript tells whether a request does something to locks.
func (q *Request) runsScript() bool {
	return slices.ContainsFunc(q.Words, func(words []string) bool {
		return strings.HasPrefix(strings.ToLower(words[0]), "eval")
	})
}

// frames cuts what has come over a connection into whole messages of the Redis protocol, and returns what is left of one that has not
// come to its end.
func frames(data []byte) (whole [][]byte, rest []byte) {
	reader := bufio.NewReader(bytes.NewReader(data))
	for {
		frame, err := proto.Read(reader)
		if err != nil {
			return whole, data
		}
		whole = append(whole, data[:len(frame)])
		data = data[len(frame):]
	}
}

// words returns the strings and numbers of a message in the order in which they come.
func words(frame []byte) []string {
	var list []string
	for len(frame) > 0 {
		end := bytes.Index(frame, []byte("\r\n"))
		line := string(frame[1:end])
		kind := frame[0]
		frame = frame[end+2:]
		switch kind {
		case '$', '=', '!':
			size, _ := strconv.Atoi(line)
			if size < 0 {
				list = append(list, "nil")
				continue
			}
			list = append(list, string(frame[:size]))
			frame = frame[size+2:]
		case '%', '|', '*', '~', '>':
		default:
			list = append(list, line)
		}
	}
	return list
}

// isMessage tells whether a frame is what a channel's listener receives.
func isMessage(frame []byte) bool {
	return (frame[0] == '*' || frame[0] == '>') && bytes.Contains(frame[:min(len(frame), 24)], []byte("\r\nmessage\r\n"))
}
