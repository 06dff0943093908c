package api

import (
	"net/http"
	"sync"

	"github.com/arl/statsviz"

	"inventory/internal/stock/selling"
)

// livePath is the path of the live page on the admin listener.
const livePath = "/debug/statsviz/"

// Live shows the process live in a browser: the Go runtime, and next to it the sale. From the first request for the page
// on, it reads the figures once a second.
type Live struct {
	metrics *Metrics
	service *selling.Service

	mu     sync.Mutex
	server *statsviz.Server // nil: no request yet
	closed bool
}

// NewLive returns the live page of a service, given its metrics.
func NewLive(metrics *Metrics, service *selling.Service) *Live {
	return &Live{metrics: metrics, service: service}
}

// ServeHTTP implements [http.Handler].
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	server, err := l.open()
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	if r.URL.Path == livePath+"ws" {
		server.Ws()(w, r)
		return
	}
	server.Index()(w, r)
}

func (l *Live) open() (*statsviz.Server, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, http.ErrServerClosed
	}
	if l.server != nil {
		return l.server, nil
	}
	options, err := l.plots()
	if err == nil {
		l.server, err = statsviz.NewServer(options...)
	}
	return l.server, err
}

// Close ends the reading.
func (l *Live) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed = true; l.server == nil {
		return nil
	}
	return l.server.Close()
}

// plots returns our own plots, in addition to those of the runtime.
func (l *Live) plots() (options []statsviz.Option, err error) {
	m := l.metrics
	waits := func() tally { a := m.activity(); return a.LockWaits.plus(a.LocksMissed) }
	for _, p := range []struct {
		name, title, suffix, info string
		value                     func() float64
	}{
		{"inventory-queues", "Orders waiting", "", "Orders in the queues of all SKUs.", func() float64 { return float64(l.service.Waiting()) }},
		{"inventory-batches", "Orders in a batch", "", "Mean of the last second.", meanOf(func() tally { return m.activity().Batches })},
		{"inventory-lock-waits", "Wait for a lock", "s", "Mean of the last second, also of locks that were not got.", meanOf(waits)},
		{"inventory-merges", "Merges a second", "", "Writes over all segments of a SKU.", countOf(func() tally { return m.activity().Merges })},
	} {
		plot, err := statsviz.TimeSeriesPlotConfig{
			Name: p.name, Title: p.title, InfoText: p.info, YAxisTickSuffix: p.suffix,
			Series: []statsviz.TimeSeries{{Name: p.title, GetValue: p.value}},
		}.Build()
		if err != nil {
			return nil, err
		}
		options = append(options, statsviz.TimeseriesPlot(plot))
	}
	return options, nil
}

// meanOf returns a function that returns the mean of the values since its last call.
func meanOf(read func() tally) func() float64 {
	before := read()
	return func() float64 {
		now := read()
		since := tally{now.Count - before.Count, now.Sum - before.Sum}
		if before = now; since.Count == 0 {
			return 0
		}
		return since.Sum / float64(since.Count)
	}
}

// countOf returns a function that returns the number of values since its last call, a second ago.
func countOf(read func() tally) func() float64 {
	before := read()
	return func() float64 {
		now := read()
		since := now.Count - before.Count
		before = now
		return float64(since)
	}
}
