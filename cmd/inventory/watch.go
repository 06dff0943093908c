package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"runtime"
	"time"

	"inventory/internal/app"
	"inventory/internal/classroom"
)

// watchFlags are the flags of the demo in a browser.
type watchFlags struct {
	Watch       bool   `group:"watch" help:"Show sales in a browser, until Ctrl-C: the console, and a classroom in which you sell and break things."`
	WatchListen string `group:"watch" help:"Address for the browser, HOST:PORT, on loopback." default:"127.0.0.1:8090"`
	Open        bool   `group:"watch" help:"Also open the browser."`
}

func (f watchFlags) check() error {
	if f.Open && !f.Watch {
		return errors.New("--open needs --watch")
	}
	return nil
}

// watch opens the classroom until ctx ends.
func (c *demoCommand) watch(ctx context.Context, out, logTo io.Writer) (err error) {
	removeFiles, err := c.openDatabase()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, removeFiles()) }()
	log := slog.New(slog.NewTextHandler(logTo, &slog.HandlerOptions{Level: slog.LevelError}))
	app.SpendMemory(log)
	app.QuietRedis() // people are going to stop it
	listener, err := app.ListenOnLoopback(ctx, c.WatchListen)
	if err != nil {
		return fmt.Errorf("--watch-listen: %w", err)
	}
	school, err := classroom.Open(ctx, classroom.Config{DatabaseURL: c.DatabaseURL, Lock: c.Lock, Logger: log})
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	defer func() { err = errors.Join(err, school.Close(context.WithoutCancel(ctx))) }()
	address := "http://" + listener.Addr().String()
	_, err = fmt.Fprintf(out, "Classroom  %s/classroom\nConsole    %s/console\n\nCtrl-C ends both.\n", address, address)
	if err == nil && c.Open {
		err = openBrowser(ctx, address+"/classroom")
	}
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	return serveUntil(ctx, listener, school.Handler())
}

// serveUntil serves until ctx ends. Streams of events do not end by themselves, so it cuts connections.
func serveUntil(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Serve(listener) }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
		err := server.Close()
		if served := <-stopped; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}
}

// openBrowser opens an address in the desktop's default browser.
func openBrowser(ctx context.Context, address string) error {
	command, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		command = "open"
	case "windows":
		command, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	if err := exec.CommandContext(ctx, command, args...).Run(); err != nil { //nolint:gosec // the address is our own
		return fmt.Errorf("open the browser with %s: %w", command, err)
	}
	return nil
}
