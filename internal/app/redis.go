package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
	"google.golang.org/grpc/test/bufconn"

	"inventory/internal/events"
	"inventory/internal/keyexpiry"
	"inventory/internal/locking"
)

// redisServer is a Redis with locks: a client, and for an embedded one the server too.
type redisServer struct {
	address  redisAddress
	client   redis.UniversalClient
	embedded *EmbeddedRedis // nil: it runs elsewhere
}

// redisServers are one server, or those of a RedLock, of which most must answer.
type redisServers []*redisServer

const (
	redisTimeout = 3 * time.Second        // for the check that it answers at all
	redisDial    = time.Second            // for a connection, with its handshake of TLS
	redisAnswer  = 250 * time.Millisecond // for one answer
	redisRest    = time.Second            // a connection that was idle for longer is not used again: it may be dead
)

// openRedis connects to the Redis servers of the configuration, or starts them inside the process.
func (a *App) openRedis(ctx context.Context) (redisServers, error) {
	var servers redisServers
	for i, address := range a.redisAt {
		inside := fmt.Sprintf("%s-%d", Embedded, i) // a RedLock distinguishes servers by their addresses
		if address == (redisAddress{}) && a.config.RedisDial != nil {
			address.options = &redis.UniversalOptions{Addrs: []string{inside}, Dialer: a.config.RedisDial}
		}
		server, err := connectRedis(address, inside)
		if err != nil {
			return nil, err
		}
		a.onClose(func(context.Context) error { return server.close() })
		if a.traces != nil {
			if err := a.traceRedis(server.client); err != nil {
				return nil, err
			}
		}
		servers = append(servers, server)
	}
	return servers, servers.ping(ctx)
}

// connectRedis makes the client of an address; inside is the name of a server inside the process. The client sends a lock
// script once: the lock library itself decides what a missing answer means. A Redis that does not answer must not hold up
// a worker, which goes on without it.
func connectRedis(address redisAddress, inside string) (*redisServer, error) {
	r, o := &redisServer{address: address}, address.options
	if o == nil {
		var err error
		if r.embedded, err = StartEmbeddedRedis(); err != nil {
			return nil, err
		}
		o = &redis.UniversalOptions{Addrs: []string{inside}, Dialer: r.embedded.Dial}
	}
	o.MaxRetries, o.DialerRetries, o.ContextTimeoutEnabled = -1, 1, true
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout = redisDial, redisAnswer, redisAnswer
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled} // no server but Redis Enterprise has them
	o.ConnMaxIdleTime = cmp.Or(o.ConnMaxIdleTime, redisRest)
	r.client = redis.NewUniversalClient(o)
	return r, nil
}

// ping returns an error unless most of the servers answer, as locks need.
func (s redisServers) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, redisTimeout)
	defer cancel()
	errs := make([]error, len(s))
	var asking sync.WaitGroup
	for i, server := range s {
		asking.Go(func() { errs[i] = server.answers(ctx) })
	}
	asking.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) <= (len(s)-1)/2 {
		return nil
	}
	return fmt.Errorf("reach Redis: %d of %d do not answer: %w", len(errs), len(s), errs[0])
}

// answers asks until there is an answer, or ctx ends. One try may be over after redisAnswer on a machine that is busy.
func (r *redisServer) answers(ctx context.Context) error {
	for {
		err := r.client.Ping(ctx).Err()
		if slow, is := errors.AsType[net.Error](err); !is || !slow.Timeout() || ctx.Err() != nil {
			return err
		}
	}
}

func (r *redisServer) close() error {
	err := r.client.Close()
	if r.embedded != nil {
		r.embedded.Close()
	}
	return err
}

// EmbeddedRedis is a Redis inside the process, whose keys expire by the clock. A service starts its own; services that
// share one get it by [Config].RedisDial.
type EmbeddedRedis struct {
	server   *miniredis.Miniredis
	listener *bufconn.Listener
	expiry   func() // ends the expiry of keys
	running  sync.WaitGroup
}

const connBuffer = 64 << 10 // bytes, each way

// StartEmbeddedRedis starts a Redis that only this process can reach. It has no port, through which other users of the
// machine could take and free locks.
//
// Its connections are buffered, unlike those of miniredis: otherwise a client that sends many commands at once would
// wait for the server to read more, and the server for the client to take the first answer.
func StartEmbeddedRedis() (*EmbeddedRedis, error) {
	if strconv.IntSize < 64 { // miniredis keeps times in an int
		return nil, errors.New("the embedded Redis needs a 64-bit system: give --redis-url, or --lock none")
	}
	r := &EmbeddedRedis{server: miniredis.NewMiniRedis(), listener: bufconn.Listen(connBuffer)}
	first, err := r.server.Dial() // this starts it
	if err != nil {
		return nil, fmt.Errorf("start the embedded Redis: %w", err)
	}
	r.expiry = keyexpiry.Start(r.server)
	r.running.Go(r.accept)
	return r, first.Close()
}

// Dial connects to it, and ignores the address.
func (r *EmbeddedRedis) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	return r.listener.DialContext(ctx)
}

// accept serves clients until Close.
func (r *EmbeddedRedis) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.server.Server().ServeConn(conn)
	}
}

// Empty forgets everything, locks too.
func (r *EmbeddedRedis) Empty() { r.server.FlushAll() }

// Close ends it and its connections.
func (r *EmbeddedRedis) Close() {
	r.expiry()
	_ = r.listener.Close() // cannot fail
	r.running.Wait()
	r.server.Close()
}

// lockLease is how long a segment stays locked after its holder has died.
const lockLease = 5 * time.Second

// openLocks opens the lock library on each server.
func (a *App) openLocks(ctx context.Context, servers redisServers, observer locking.Observer) ([]*locking.Locks, error) {
	var all []*locking.Locks
	for _, server := range servers {
		locks, err := locking.New(server.client, locking.Name(a.config.Name), locking.WatchdogLease(lockLease), locking.Observe(wakeups{observer, a.warnings}))
		if err != nil {
			return nil, fmt.Errorf("open locks: %w", err)
		}
		a.onClose(func(context.Context) error { return locks.Close() })
		err = locks.CheckServer(ctx)
		if errors.Is(err, locking.ErrEviction) {
			a.warnings.begin("redis_evicts_locks", "a Redis server throws locks away when its memory is full: set maxmemory-policy noeviction", "error", err)
		}
		if errors.Is(err, locking.ErrRights) {
			a.warnings.begin("redis_refuses_locks", "a Redis server refuses commands that locks need: give its user the rights of OPERATIONS.md", "error", err)
		}
		all = append(all, locks)
	}
	return all, nil
}

// wakeups is an observer of the locks on one server that also warns while no wake-ups come from it.
type wakeups struct {
	locking.Observer
	warnings *warnings
}

// Polling implements [locking.PollingObserver].
func (w wakeups) Polling(why error) {
	if o, ok := w.Observer.(locking.PollingObserver); ok {
		o.Polling(why)
	}
	if why == nil {
		w.warnings.end("redis_wakes_nobody")
	} else {
		w.warnings.begin("redis_wakes_nobody", "waiters for locks poll: let the Redis user SUBSCRIBE and PUBLISH (+subscribe +publish &lk:wake:*), through whatever is in between", "error", why)
	}
}

// SegmentLock returns the function that makes the lock of a segment, of the given kind. If one server has the locks of
// all segments of a SKU, they are a group: a merge takes them in one round trip.
func SegmentLock(kind string, locks []*locking.Locks) func(sku string, segment int) locking.Locker {
	name := func(sku string, segment int) string { return sku + "/" + strconv.Itoa(segment) }
	switch kind {
	case LockFair:
		return func(sku string, segment int) locking.Locker {
			return locks[0].FairMutex(name(sku, segment), locking.Group(sku))
		}
	case LockRed:
		return func(sku string, segment int) locking.Locker { return locking.RedLock(name(sku, segment), locks...) }
	default:
		return func(sku string, segment int) locking.Locker {
			return locks[0].Mutex(name(sku, segment), locking.Group(sku))
		}
	}
}

// eventsChannel is the Redis channel for events between processes, followed by the number of the Redis database, because
// a channel spans all databases of a server. So processes that share locks share events.
const eventsChannel = "inventory:events:"

// mostListeners bounds the listeners of a process, in addition to half of its connections: the others are for buyers.
const mostListeners = 256

// openEvents starts the hub of live events. Without a Redis that other processes use too, listeners get the events of
// this process only. Of several servers the first one carries events.
func (a *App) openEvents(servers redisServers) {
	config := events.Config{Logger: a.config.Logger, Listeners: min(mostListeners, max(1, a.config.MaxConnections/2))}
	if len(servers) > 0 && servers[0].embedded == nil {
		config.Redis, config.Channel = servers[0].client, eventsChannel+strconv.Itoa(servers[0].address.options.DB)
	}
	a.events = events.NewHub(config)
	a.onClose(a.events.Close)
}

// Events returns the hub of live events, for publishers and listeners inside the process. Close closes it.
func (a *App) Events() *events.Hub { return a.events }
