package locksim

import (
	"context"
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/locking"
	"inventory/internal/locking/locksim/wire"
)

// A Client is a process: for each server, a Redis client of its own and the Locks on it.
type Client struct {
	Locks *locking.Locks   // on the first server
	Nodes []*locking.Locks // on all

	redis []*redis.Client
	world *World
	id    int
	ctx   context.Context // ends some time after the process was killed
	stop  context.CancelFunc
	lease time.Duration

	mu   sync.Mutex
	sent map[string]int // how many requests of each verb
	sure time.Time      // until then an attempt may be uncertain, and its copy may hold a lock for a moment

	budgets map[*server]*budget // under checker.mu
	waits   int                 // how many calls are under way; under checker.mu

	// Used on the agenda only.
	severed   bool                  // it is dead: nothing comes or goes
	heldUntil time.Time             // it stands still, or its network does
	parted    map[*server]time.Time // until then the way to a server does
	deafUntil time.Time             // no message reaches it, though it is subscribed
	mayListen time.Time             // before that it may not subscribe
	told      []string              // what wake-ups have said
}

// String names it.
func (c *Client) String() string { return fmt.Sprintf("p%d", c.id) }

// A Habit is how a client has been configured.
type Habit struct {
	Lease     time.Duration // of the watchdog; 0: the default
	Retries   int           // as go-redis counts them: -1 for none, 0 for 3
	Timeout   time.Duration // for reading; 0: 3 s
	Deadlines bool          // contexts interrupt reads
	Protocol  int           // 0: 3
}

// dialTimeout bounds one of the five tries of the client library to connect.
const dialTimeout = 300 * time.Millisecond

// processName names a process as one of the servers knows it, by the two numbers.
const processName = "p%ds%d"

// Client adds a process.
func (w *World) Client(h Habit) *Client {
	c := &Client{world: w, id: len(w.clients), sent: make(map[string]int), parted: make(map[*server]time.Time), lease: h.Lease, budgets: make(map[*server]*budget)}
	if c.lease == 0 {
		c.lease = 30 * time.Second
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	for _, s := range w.servers {
		rdb := c.connect(h, s)
		locks, err := locking.New(rdb, locking.WatchdogLease(c.lease), locking.Name(fmt.Sprintf(processName, c.id, s.id)))
		if err != nil {
			w.T.Fatalf("%s: %v", w.Name, err)
		}
		c.redis, c.Nodes = append(c.redis, rdb), append(c.Nodes, locks)
	}
	c.Locks = c.Nodes[0]
	w.clients = append(w.clients, c)
	return c
}

// connect makes the Redis client for a server.
func (c *Client) connect(h Habit, s *server) *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:     s.String() + ":6379",
		Protocol: h.Protocol,
		Dialer: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return c.dial(ctx, s)
		},
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		MaxRetries:               h.Retries,
		MinRetryBackoff:          -1, // it would be drawn from a source that has no seed
		MaxRetryBackoff:          -1,
		ReadTimeout:              h.Timeout,
		ContextTimeoutEnabled:    h.Deadlines,
		PoolSize:                 32,
		DialTimeout:              dialTimeout,
	})
}

// away is until when nothing passes between the process and a server.
func (c *Client) away(s *server) time.Time { return later(c.heldUntil, c.parted[s]) }

// dial connects through the simulated network.
func (c *Client) dial(ctx context.Context, s *server) (net.Conn, error) {
	w := c.world
	random := w.draw(c.path(s), [][]byte{[]byte("dial")})
	type outcome struct {
		conn net.Conn
		err  error
	}
	home := make(chan outcome, 1)
	var knock func()
	knock = func() {
		switch {
		case c.severed:
		case time.Now().Before(c.away(s)):
			w.agenda.at(c.away(s).Add(w.jitter(c.path(s), nil)), 0, knock)
		case s.down:
			home <- outcome{err: syscall.ECONNREFUSED}
		default:
			l, err := w.connect(c, s)
			if err != nil {
				home <- outcome{err: err}
				return
			}
			l.wire = wire.New(l.sent, l.finish)
			home <- outcome{conn: l.wire}
		}
	}
	w.agenda.at(time.Now().Add(w.weather.delay(random)), random.Uint64(), knock)
	select {
	case came := <-home:
		return came.conn, came.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-w.ending: // the client library may leave it behind
		return nil, net.ErrClosed
	}
}

// Sent tells how many requests of a verb the client has sent.
func (c *Client) Sent(verb string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sent[verb]
}

// calm tells whether no attempt of the process can be uncertain.
func (c *Client) calm() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !time.Now().Before(c.sure)
}

// unsure notes that something may have happened to a request.
func (c *Client) unsure() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sure = c.world.checker.sure()
}

func (c *Client) close() {
	c.stop()
	c.closeLocks()
	for _, rdb := range c.redis {
		if err := rdb.Close(); err != nil {
			c.world.T.Errorf("%s: close: %v", c.world.Name, err)
		}
	}
}

// closeLocks ends what goes on at all servers.
func (c *Client) closeLocks() {
	for _, locks := range c.Nodes {
		if err := locks.Close(); err != nil {
			c.world.T.Errorf("%s: close: %v", c.world.Name, err)
		}
	}
}
