package app

import (
	"context"
	"net/http"
)

// listenForProbes opens the listener of metrics and health if the configuration has one in addition to the admin
// listener, which has profiles as well.
func (a *App) listenForProbes(ctx context.Context, handler http.Handler) error {
	if a.config.MetricsListen == "" {
		return nil
	}
	listener, err := listenOn(ctx, a.config.MetricsListen)
	if err != nil {
		return err
	}
	a.probesAt, a.probes = listener.Addr().String(), a.newServer(handler, answerTimeout)
	a.serving.Go(func() error { return serve(a.probes, listener) })
	a.config.Logger.Info("listening for probes", "metrics", a.MetricsURL())
	return nil
}

// MetricsURL returns the URL of metrics and health without profiles; "" is none.
func (a *App) MetricsURL() string {
	if a.probes == nil {
		return ""
	}
	return "http://" + a.probesAt
}
