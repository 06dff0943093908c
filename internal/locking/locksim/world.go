package locksim

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
)

// A World is a server or several, their clients and the network between them, in the virtual time of one bubble.
type World struct {
	T    testing.TB
	Name string // how to run it again, for whoever reads of a failure

	// Peaceful says that nothing goes wrong, so that nobody may have to wait for a time to run out.
	Peaceful bool

	// Miscounts makes PUBLISH in scripts count nobody, though messages arrive, as some proxies do it. Set it at the beginning.
	Miscounts bool

	seed uint64

	agenda  *agenda
	servers []*server
	weather *climate
	ending  chan struct{}
	trace   trace
	checker *checker

	mu      sync.Mutex
	rules   []func(*Request, *Fate)
	all     []*link
	clients []*Client
	actors  int
	links   sync.WaitGroup // the goroutines that read from the server

	// Used while one thing happens and all else rests.
	running   *Request
	runningOn *link
}

// New returns a world. It must be called inside a bubble of testing/synctest; everything
// of it ends with the test. There is a server for each drift; one of 0.01 makes its clock gain a hundredth.
func New(t *testing.T, seed uint64, weather Weather, drifts ...float64) *World {
	cryptotest.SetGlobalRandom(t, seed)
	now := time.Now()
	w := &World{
		T:       t,
		Name:    fmt.Sprintf("seed %d", seed),
		seed:    seed,
		ending:  make(chan struct{}),
		weather: &climate{Weather: weather, clears: now.Add(weather.Clears)},
		trace:   trace{begin: now},
	}
	for i, drift := range drifts {
		w.servers = append(w.servers, newServer(i, drift))
	}
	w.checker = newChecker(w)
	w.agenda = newAgenda(w.rested)
	go w.agenda.run()
	return w
}

// draw returns a source of chance that depends on the seed, on who asks, when, and for what; not on the
// order in which things of one moment are asked for.
func (w *World) draw(who int, about [][]byte) *rand.Rand {
	about = slices.Clone(about)
	slices.SortFunc(about, slices.Compare)
	hash := fnv.New64a()
	var number [8]byte
	for _, n := range []uint64{w.seed, uint64(who), uint64(time.Since(w.trace.begin))} {
		binary.LittleEndian.PutUint64(number[:], n)
		_, _ = hash.Write(number[:]) // a hash never refuses
	}
	for _, text := range about {
		_, _ = hash.Write(text)
	}
	return rand.New(rand.NewPCG(w.seed, hash.Sum64()))
}

// jitter keeps what was held back from arriving all at one moment.
func (w *World) jitter(who int, about [][]byte) time.Duration {
	return time.Microsecond + time.Duration(w.draw(who, about).Int64N(int64(time.Millisecond)))
}

// On lets a test decide about requests; the last word counts. It is called where the request is sent.
func (w *World) On(rule func(q *Request, f *Fate)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules = append(w.rules, rule)
}

func (w *World) rule(q *Request, f *Fate) {
	w.mu.Lock()
	rules := slices.Clone(w.rules)
	w.mu.Unlock()
	for _, rule := range rules {
		rule(q, f)
	}
}

// rested runs after each event, when all is at rest: answers and messages go on their way.
func (w *World) rested() {
	w.mu.Lock()
	all := slices.Clone(w.all)
	w.mu.Unlock()
	for _, l := range all {
		l.settle()
	}
	w.running, w.runningOn = nil, nil
}

// connect makes a connection to a server. It runs on the agenda.
func (w *World) connect(c *Client, s *server) (*link, error) {
	conn, err := s.redis.Dial()
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	l := &link{world: w, client: c, server: s, id: len(w.all), conn: conn}
	w.all = append(w.all, l)
	w.mu.Unlock()
	w.links.Go(l.receive)
	return l, nil
}

// ghost lets a copy of a request arrive, on a connection of its own.
func (w *World) ghost(c *Client, s *server, q *Request) {
	if s.down {
		return
	}
	l, err := w.connect(c, s)
	if err != nil {
		w.T.Errorf("%s: a copy's connection: %v", w.Name, err)
		return
	}
	w.note("%s a copy of %s arrives", l, q)
	l.way = append(l.way, &Request{Client: c, Node: s.id, Verb: q.Verb, Nth: q.Nth, Words: q.Words, frames: q.frames})
	l.arrive()
	w.agenda.at(time.Now().Add(time.Minute), 0, func() { _ = l.conn.Close() })
}

// close ends the network and the servers, and reports. The clients are closed.
func (w *World) close() {
	w.checker.finish()
	close(w.ending)
	time.Sleep(time.Second) // the client library tries to connect five times, a tenth of a second apart
	w.agenda.end()
	for _, l := range w.all {
		_ = l.conn.Close()
		if l.wire != nil {
			_ = l.wire.Close() // one that the client library has left behind
		}
	}
	w.links.Wait()
	for _, s := range w.servers {
		s.redis.Close()
	}
}

// An agenda makes things happen one at a time, each at its moment. After each it lets everybody else come
// to rest before the next: this is what makes a history the same each time it is run.
type agenda struct {
	mu     sync.Mutex
	events []event // the next one first
	count  uint64
	news   chan struct{}
	stop   chan struct{}
	done   chan struct{}
	rested func() // called when all is at rest after an event
}

type event struct {
	at   time.Time
	rank uint64 // decides between two of one moment, not depending on who asked first
	nth  uint64
	does func()
}

// compare orders events by the moment at which they happen.
func (e event) compare(o event) int {
	return cmp.Or(e.at.Compare(o.at), cmp.Compare(e.rank, o.rank), cmp.Compare(e.nth, o.nth))
}

func newAgenda(rested func()) *agenda {
	return &agenda{
		news:   make(chan struct{}, 1),
		stop:   make(chan struct{}),
		done:   make(chan struct{}),
		rested: rested,
	}
}

// at adds something that happens at a moment.
func (a *agenda) at(when time.Time, rank uint64, does func()) {
	a.mu.Lock()
	a.count++
	e := event{at: when, rank: rank, nth: a.count, does: does}
	i, _ := slices.BinarySearchFunc(a.events, e, event.compare)
	a.events = slices.Insert(a.events, i, e)
	a.mu.Unlock()
	select {
	case a.news <- struct{}{}:
	default:
	}
}

// run works until end is called.
func (a *agenda) run() {
	defer close(a.done)
	for {
		next, wait := a.next()
		if next != nil {
			next()
			synctest.Wait()
			a.rested()
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
			synctest.Wait() // the clients' own timers of this moment come first
		case <-a.news:
		case <-a.stop:
			timer.Stop()
			return
		}
		timer.Stop()
	}
}

// next returns what is due, or how long there is nothing to do.
func (a *agenda) next() (does func(), wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.events) == 0 {
		return nil, time.Hour
	}
	if wait := time.Until(a.events[0].at); wait > 0 {
		return nil, wait
	}
	does = a.events[0].does
	a.events = slices.Delete(a.events, 0, 1)
	return does, 0
}

// end stops the agenda; what has not happened does not happen.
func (a *agenda) end() {
	close(a.stop)
	<-a.done
}

// server is Redis with a clock of its own, which may run a little fast or slow, and may jump.
type server struct {
	id    int
	redis *miniredis.Miniredis
	begin time.Time
	drift float64       // its clock gains that much
	jump  time.Duration // how far it has been set forward or back
	ahead time.Duration // how far forward

	down        bool
	pausedUntil time.Time
	forgot      time.Time // when it last lost locks; under checker.mu
}

func newServer(id int, drift float64) *server {
	s := &server{id: id, redis: miniredis.NewMiniRedis(), begin: time.Now(), drift: drift}
	s.redis.SetTime(s.now())
	s.redis.ClockTTL(true)
	return s
}

// String names it.
func (s *server) String() string { return fmt.Sprintf("s%d", s.id) }

// now is what its clock shows.
func (s *server) now() time.Time {
	passed := time.Since(s.begin)
	return s.begin.Add(passed + time.Duration(s.drift*float64(passed)) + s.jump)
}

// setClock lets the time go on: scripts and expiries see the moment of the last call.
func (s *server) setClock() { s.redis.SetTime(s.now()) }

// step sets the clock. Keys that had to expire until now do; a step back prolongs no lease here, while it does
// on a real Redis, which notes moments.
func (s *server) step(d time.Duration) {
	s.setClock()
	s.redis.Keys()
	s.jump += d
	s.setClock()
}
