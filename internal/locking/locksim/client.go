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
)

// A Client is a process: a Redis client of its own and the Locks on it.
type Client struct {
	Locks *locking.Locks
	Redis *redis.Client

	world *World
	id    int
	ctx   context.Context // ends some time after the process was killed
	stop  context.CancelFunc
	lease time.Duration

	mu   sync.Mutex
	sent map[string]int // how many requests of each verb
	sure time.Time      // until then an attempt may be uncertain, and its copy may hold a lock for a moment

	// Used on the agenda only.
	severed   bool      // it is dead: nothing comes or goes
	heldUntil time.Time // it stands still, or its network does
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

// Client adds a process.
func (w *World) Client(h Habit) *Client {
	c := &Client{world: w, id: len(w.clients), sent: make(map[string]int), lease: h.Lease}
	if c.lease == 0 {
		c.lease = 30 * time.Second
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.Redis = redis.NewClient(&redis.Options{
		Addr:                     "server:6379",
		Protocol:                 h.Protocol,
		Dialer:                   c.dial,
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
	c.Redis.AddHook(linger{c})
	var err error
	if c.Locks, err = locking.New(c.Redis, locking.WatchdogLease(c.lease)); err != nil {
		w.T.Fatalf("%s: %v", w.Name, err)
	}
	w.clients = append(w.clients, c)
	return c
}

// dial connects through the simulated network.
func (c *Client) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w := c.world
	random := w.draw(c.id, [][]byte{[]byte("dial")})
	type outcome struct {
		conn net.Conn
		err  error
	}
	home := make(chan outcome, 1)
	var knock func()
	knock = func() {
		switch {
		case c.severed:
		case time.Now().Before(c.heldUntil):
			w.agenda.at(c.heldUntil.Add(w.jitter(c.id, nil)), 0, knock)
		case w.server.down:
			home <- outcome{err: syscall.ECONNREFUSED}
		default:
			l, err := w.connect(c)
			if err != nil {
				home <- outcome{err: err}
				return
			}
			l.wire = newWire(l)
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
	c.sure = c.world.book.sure()
}

func (c *Client) close() {
	c.stop()
	if err := c.Locks.Close(); err != nil {
		c.world.T.Errorf("%s: close: %v", c.world.Name, err)
	}
	if err := c.Redis.Close(); err != nil {
		c.world.T.Errorf("%s: close: %v", c.world.Name, err)
	}
}
