package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

// Timeouts of the listeners.
const (
	headerTimeout = 5 * time.Second
	bodyTimeout   = 5 * time.Second // less than a drain, which waits for bodies too
	answerTimeout = 30 * time.Second
	idleTimeout   = 2 * time.Minute
	lastRequests  = 250 * time.Millisecond // for requests on connections that were accepted before a drain
	profileLimit  = 5 * time.Minute        // the answer to a profile comes at its end
	maxHeader     = 16 << 10
	maxStreams    = 100       // requests at a time on one connection of HTTP/2
	maxUnread     = 128 << 10 // bytes of bodies that one connection of HTTP/2 may send before they are read
)

// listen opens the listeners, and serves them until Close. The one for probes, which has no profiles, is open only if the
// configuration has it.
func (a *App) listen(ctx context.Context, public, admin, probes http.Handler) error {
	publicAt, err := listenOn(ctx, a.config.Listen)
	if err != nil {
		return err
	}
	a.public = a.newServer(publicAt, noteWork(a.lastAnswers(public)), answerTimeout)
	a.public.ConnContext = connContext
	least := leastWait
	if a.certificate != nil {
		a.public.TLSConfig = a.certificate.server()
		least = leastWaitTLS
	}
	a.listener = newListener(publicAt, a.config.MaxConnections, least)
	a.serving, a.serves = errgroup.WithContext(context.WithoutCancel(ctx))
	if a.admin, err = a.serveAt(ctx, a.config.AdminListen, admin, profileLimit); err != nil {
		return err
	}
	if a.config.MetricsListen != "" {
		if a.probes, err = a.serveAt(ctx, a.config.MetricsListen, probes, answerTimeout); err != nil {
			return err
		}
		a.config.Logger.Info("listening for probes", "metrics", a.MetricsURL())
	}
	a.serving.Go(func() error { return a.serve(a.public, a.listener) })
	a.logOpenListeners()
	a.config.Logger.Info("listening", "url", a.URL(), "admin", a.AdminURL())
	return nil
}

// serveAt serves a handler at an address, for callers who need not queue.
func (a *App) serveAt(ctx context.Context, address string, handler http.Handler, answer time.Duration) (*http.Server, error) {
	listener, err := listenOn(ctx, address)
	if err != nil {
		return nil, err
	}
	server := a.newServer(listener, handler, answer)
	a.serving.Go(func() error { return a.serve(server, listener) })
	return server, nil
}

func listenOn(ctx context.Context, address string) (net.Listener, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return listener, nil
}

func (a *App) newServer(listener net.Listener, handler http.Handler, answer time.Duration) *http.Server {
	return &http.Server{
		Addr:              listener.Addr().String(),
		ErrorLog:          slog.NewLogLogger(a.config.Logger.Handler(), slog.LevelDebug), // nearly all can be caused by any stranger
		Handler:           handler,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout,
		WriteTimeout:      answer,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		// The handler answers OPTIONS * like any unknown route.
		DisableGeneralOptionsHandler: true,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams:          maxStreams,
			MaxReceiveBufferPerStream:     maxUnread,
			MaxReceiveBufferPerConnection: maxUnread,
			WriteByteTimeout:              bodyTimeout,
		},
	}
}

// serve serves a listener, with TLS if the server has a certificate. A drain closes the public listener before its server.
func (a *App) serve(server *http.Server, listener net.Listener) (err error) {
	if server.TLSConfig == nil {
		err = server.Serve(listener)
	} else {
		err = server.ServeTLS(listener, "", "")
	}
	if errors.Is(err, http.ErrServerClosed) || a.draining.Load() && errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("serve %s: %w", listener.Addr(), err)
}

// drain stops accepting, answers the requests in flight while ctx lasts, and ends the streams of events. The admin
// listener stays until then, and does not wait: at most it has a profile in flight.
func (a *App) drain(ctx context.Context) error {
	a.events.Dismiss()
	a.draining.Store(true)
	err := a.stopAccepting(ctx)
	if late := a.public.Shutdown(ctx); late != nil {
		a.cutOff = a.metrics.Answering()
		err = errors.Join(err, fmt.Errorf("requests still in flight: %w", late), a.public.Close())
	}
	for _, server := range []*http.Server{a.admin, a.probes} {
		if server != nil {
			err = errors.Join(err, server.Close())
		}
	}
	return errors.Join(err, a.serving.Wait())
}

// stopAccepting stops accepting connections, and lets those that are there send a request, which they may have just begun.
// net/http would close them without an answer.
func (a *App) stopAccepting(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, lastRequests)
	defer cancel()
	err := a.listener.Close()
	a.listener.drain(ctx)
	return err
}

// lastAnswers makes answers say that the connection ends, once the service drains.
func (a *App) lastAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.draining.Load() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// MetricsURL returns the URL of metrics and health without profiles; "" is none.
func (a *App) MetricsURL() string {
	if a.probes == nil {
		return ""
	}
	return "http://" + a.probes.Addr
}
