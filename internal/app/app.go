// Package app turns a configuration into a running service, and back into nothing.
//
// Start opens, in this order: the traces if the environment asks for them, the database (and migrates it), Redis, the
// lock library, the stock service and the listeners. Close undoes them in the opposite order, so nothing is used after
// it is closed.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/sync/errgroup"

	"inventory/internal/access"
	"inventory/internal/api"
	"inventory/internal/events"
	"inventory/internal/locking"
	"inventory/internal/locking/lockmetrics"
	"inventory/internal/stock"
	"inventory/internal/stock/citus"
	"inventory/internal/stock/selling"
)

// App is a running service.
type App struct {
	config      Config
	service     *selling.Service
	events      *events.Hub
	store       stock.Store
	nodes       func() map[string]error // see [api.AdminConfig]
	guard       *access.Guard           // nil: the service asks for no key
	limiter     *access.Limiter         // nil: none
	strangers   *access.Limiter         // counts by address; nil: none
	proxies     *api.Proxies
	certificate *tlsFiles                // nil: the public listener does not encrypt
	traces      *sdktrace.TracerProvider // nil: off; then nothing is wrapped or hooked, and requests run no code for traces
	warnings    *warnings
	redisAt     []redisAddress
	outage      *outage
	public      *http.Server // its Addr, and that of the others, is where it really listens
	listener    *listener    // on which public serves
	admin       *http.Server
	probes      *http.Server // metrics and health only; nil: none
	stopping    atomic.Bool
	draining    atomic.Bool // an answer is the last on its connection
	serving     *errgroup.Group
	serves      context.Context // ends when a listener fails (the cause is its error), or when both have ended
	// closers undo what Start did, in the opposite order.
	closers []func(context.Context) error
	closing sync.Once
	closed  error // what Close returns
	metrics *api.Metrics
	cutOff  int // requests that Close has cut off
}

// Start starts a service. On an error everything that was started is closed.
func Start(ctx context.Context, config Config) (app *App, err error) {
	a := &App{config: config.withDefaults()}
	a.warnings = newWarnings(a.config.Logger)
	a.outage = &outage{warnings: a.warnings}
	log := newQuiet(a.config.Logger.Handler(), a.outage)
	a.config.Logger = slog.New(log)
	defer func() {
		if err != nil {
			a.config.ShutdownDelay = new(time.Duration) // no balancer has sent a request here yet
			err = errors.Join(err, a.Close(context.WithoutCancel(ctx)))
			app = nil
		}
	}()
	if err := errors.Join(a.config.check(), a.limitCallers()); err != nil {
		return nil, ConfigError{err}
	}
	if err := a.openAccess(); err != nil {
		return nil, err
	}
	if err := a.openTraces(ctx); err != nil {
		return nil, err
	}
	if err := a.openStore(ctx); err != nil {
		return nil, err
	}
	a.inBackground(ctx, log.watch)
	registry := prometheus.NewRegistry()
	registry.MustRegister(ThisBuild().metric(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	metrics := api.NewMetrics(registry)
	a.metrics = metrics
	lockMetrics, err := lockmetrics.New(registry)
	if err != nil {
		return nil, err
	}
	lockMetrics.Begin(locking.KindMutex, locking.KindFair)
	redis, err := a.openService(ctx, metrics.Note, lockMetrics)
	if err != nil {
		return nil, err
	}
	a.logFailures(ctx)
	api.Watch(registry, a.service.Waiting, a.store.Pool, a.events)
	public := api.Config{
		Service: a.service, Events: a.events, Metrics: metrics, Logger: a.config.Logger, Limiter: a.limiter, Strangers: a.strangers, Proxies: a.proxies,
	}
	if a.guard == nil {
		public.Hosts = a.config.hostsOf(a.config.Listen)
	} else {
		public.Guard = a.guard
	}
	if a.traces != nil {
		public.Traces = a.traces
	}
	admin := api.AdminConfig{Gatherer: registry, Database: a.store.Ready, Stopping: a.stopping.Load, Logger: a.config.Logger, ProfileLimit: profileLimit}
	admin.Nodes, admin.Warnings = a.nodes, a.warnings.list
	if len(redis) > 0 {
		admin.Redis = redis.ping
		admin.Locks = func(context.Context) error { return a.service.CheckLocks() }
	}
	probes := admin
	admin.Hosts, probes.Hosts = a.config.hostsOf(a.config.AdminListen), a.config.hostsOf(a.config.MetricsListen)
	return a, a.listen(ctx, api.New(public), api.NewAdmin(admin), api.NewProbes(probes))
}

// inBackground does work until Close.
func (a *App) inBackground(ctx context.Context, work func(context.Context)) {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	var working sync.WaitGroup
	working.Go(func() { work(ctx) })
	a.onClose(func(context.Context) error {
		end()
		working.Wait()
		return nil
	})
}

func (a *App) onClose(undo func(context.Context) error) { a.closers = append(a.closers, undo) }

func (a *App) openStore(ctx context.Context) error {
	d, err := parseDatabases(a.config.DatabaseURL, a.config.DirectURL)
	if err != nil {
		return err
	}
	a.logStart(d)
	if a.config.Store != nil {
		a.store = a.config.Store
		return nil
	}
	if a.traces != nil {
		d.configure = append(d.configure, a.tracePostgres)
	}
	store, closing, err := d.openOwned(ctx, a.config.Logger)
	if err != nil {
		return err
	}
	a.onClose(func(context.Context) error { return closing() })
	if cluster, is := store.(*citus.Store); is {
		a.nodes = cluster.Nodes
	}
	if a.traces != nil {
		store = traceStore(store, a.traces)
	}
	a.store = store
	if d.file == "" {
		a.outage.ready = store.Ready
	}
	return nil
}

// logStart logs what the service is about to use. URLs may hold secrets, so it names servers alone.
func (a *App) logStart(d database) {
	build := ThisBuild()
	a.config.Logger.Info("starting", "version", build.Version, "revision", build.Revision, "database", d.String(),
		"redis", fmt.Sprint(a.redisAt), "lock", a.config.Lock)
}

// openService starts the stock service, with Redis locks if the configuration wants them.
func (a *App) openService(ctx context.Context, observer selling.Observer, lockObserver locking.Observer) (redis redisServers, err error) {
	config := selling.Config{
		Store: a.store, MaxReserveFor: a.config.MaxReserveFor,
		AnswerWithin: a.config.AnswerWithin, Logger: a.config.Logger, BatchLimit: a.config.BatchLimit,
		LockAlways: a.config.Lock == LockFair,
		Observer:   a.warnOfNotices(context.WithoutCancel(ctx), observer),
	}
	if len(a.redisAt) > 0 {
		if redis, err = a.openRedis(ctx); err != nil {
			return nil, err
		}
	}
	if a.config.Lock != LockNone {
		locks, err := a.openLocks(ctx, redis, lockObserver)
		if err != nil {
			return nil, err
		}
		config.Lock = SegmentLock(a.config.Lock, locks)
	}
	a.openEvents(redis)
	config.Events = a.events
	if config.ForgetKey, err = readForgetKey(a.config.ForgetKey); err != nil {
		return nil, err
	}
	a.service = selling.NewService(config)
	a.onClose(a.service.Close)
	return redis, a.learnForgotten(ctx)
}

// closeLimit bounds the closing of each thing after the drain.
const closeLimit = 2 * time.Second

// beforeDrain goes on serving for the shutdown delay: by then a balancer that reads /readyz sends nothing new. It does not
// wait if a listener has failed.
func (a *App) beforeDrain(ctx context.Context) {
	a.stopping.Store(true)
	if a.serving == nil || *a.config.ShutdownDelay <= 0 {
		return
	}
	a.config.Logger.Info("not ready any more, and still serving", "for", *a.config.ShutdownDelay)
	select {
	case <-time.After(*a.config.ShutdownDelay):
	case <-a.serves.Done():
	case <-ctx.Done():
	}
}

// Close makes /readyz report that the service stops, waits for the shutdown delay, stops accepting, finishes the requests
// in flight within the drain time-out and ctx, releases the locks and closes everything. It abandons what takes longer,
// and the error says so. A further call waits for the first one, and returns the same.
func (a *App) Close(ctx context.Context) error {
	a.closing.Do(func() { a.closed = a.close(ctx) })
	return a.closed
}

func (a *App) close(ctx context.Context) error {
	a.beforeDrain(ctx)
	drain := ctx
	if a.config.DrainTimeout > 0 {
		var cancel context.CancelFunc
		drain, cancel = context.WithTimeout(ctx, a.config.DrainTimeout)
		defer cancel()
	}
	var errs []error
	if a.serving != nil {
		errs = append(errs, a.drain(drain))
	}
	for _, undo := range slices.Backward(a.closers) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeLimit)
		errs = append(errs, undo(ctx))
		cancel()
	}
	return errors.Join(errs...)
}

// CutOff returns how many requests Close has cut off, because they took longer than the drain.
func (a *App) CutOff() int { return a.cutOff }

// URL returns the URL of the public API, with its actual port.
func (a *App) URL() string {
	if a.certificate != nil {
		return "https://" + a.public.Addr
	}
	return "http://" + a.public.Addr
}

// AdminURL returns the URL of metrics and health.
func (a *App) AdminURL() string { return "http://" + a.admin.Addr }

// Service returns the stock service behind the API, for callers inside the process. Close closes it.
func (a *App) Service() *selling.Service { return a.service }

// Wait returns when a listener has failed, with that error, or after Close.
func (a *App) Wait() error {
	<-a.serves.Done()
	if cause := context.Cause(a.serves); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}
