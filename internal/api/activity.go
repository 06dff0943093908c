package api

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/arl/statsviz"
	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// activityAnswer is the activity of a process, for people who watch. Numbers grow from the start of the process: two
// answers of one process make a rate. They are read from the metrics, so they cost the sale nothing.
type activityAnswer struct {
	Process     string          `json:"process"` // an id of the process that answers, for its lifetime
	At          time.Time       `json:"at"`
	Locks       selling.LockUse `json:"locks"`
	Waiting     int             `json:"waiting"`
	Accepted    uint64          `json:"accepted"`
	Known       uint64          `json:"known"`
	Refused     uint64          `json:"refused"`
	Failed      uint64          `json:"failed"`
	Batches     tally           `json:"batches"`
	BatchTime   tally           `json:"batch_seconds"`
	Merges      tally           `json:"merge_seconds"`
	LockWaits   tally           `json:"lock_wait_seconds"`
	LocksMissed tally           `json:"lock_missed_seconds"`
	Queued      tally           `json:"queue_seconds"`
	FencedOut   uint64          `json:"fenced_out"`
}

// tally is the number of values, and their sum.
type tally struct {
	Count uint64  `json:"count"`
	Sum   float64 `json:"sum"`
}

func (t tally) plus(other tally) tally { return tally{t.Count + other.Count, t.Sum + other.Sum} }

// readActivity answers with the activity of this process.
func (s *server) readActivity(c echo.Context) error {
	answer := s.metrics.activity()
	answer.Process, answer.At = s.events.Process(), time.Now().UTC()
	answer.Locks, answer.Waiting = s.service.LockUse(), s.service.Waiting()
	return c.JSON(http.StatusOK, answer)
}

func (m *Metrics) activity() activityAnswer {
	both := func(vec *prometheus.HistogramVec) tally {
		return tallyOf(vec.WithLabelValues("true")).plus(tallyOf(vec.WithLabelValues("false")))
	}
	a := activityAnswer{
		Batches: tallyOf(m.batchOrders), BatchTime: both(m.batchSeconds), Merges: both(m.mergeSeconds),
		LockWaits: tallyOf(m.lockSeconds.WithLabelValues("true")), LocksMissed: tallyOf(m.lockSeconds.WithLabelValues("false")),
		Queued: tallyOf(m.queueSeconds), FencedOut: uint64(read(m.fencedOut).GetCounter().GetValue()),
	}
	m.known.RLock()
	defer m.known.RUnlock()
	for o, series := range m.known.series {
		if !slices.Contains([]string{deductRoute, orderRoute, manyRoute}, o.route) {
			continue
		}
		orders := uint64(read(series.requests).GetCounter().GetValue())
		switch {
		case o.status == http.StatusCreated:
			a.Accepted += orders
		case o.status == http.StatusOK:
			a.Known += orders
		case o.status == http.StatusConflict, o.status == http.StatusGone:
			a.Refused += orders
		default:
			a.Failed += orders
		}
	}
	return a
}

func tallyOf(histogram any) tally {
	h := read(histogram.(prometheus.Metric)).GetHistogram()
	return tally{h.GetSampleCount(), h.GetSampleSum()}
}

// read returns the values of a metric. It cannot fail for our metrics.
func read(metric prometheus.Metric) *dto.Metric {
	values := new(dto.Metric)
	_ = metric.Write(values)
	return values
}

type locksAnswer struct {
	Use   selling.LockUse `json:"use"`
	Locks []lockAnswer    `json:"locks"`
}

// lockAnswer is the lock of a segment that a process holds or waits for.
type lockAnswer struct {
	Segment     int    `json:"segment"`
	Holder      string `json:"holder,omitempty"`
	RemainingMS int64  `json:"remaining_ms"`
	Waiting     int    `json:"waiting"`
}

// readLocks answers with the present holders of a SKU's segments.
func (s *server) readLocks(c echo.Context) error {
	query, from := c.QueryParams(), 0
	limit, err := pageSize(query, selling.MaxLockPage)
	if err == nil && query.Has("from") {
		if from, err = strconv.Atoi(query.Get("from")); err != nil || query.Get("from") != strconv.Itoa(from) {
			err = invalid("from", "must be 0 to "+strconv.Itoa(stock.MaxSegments-1))
		}
	}
	if err != nil {
		return err
	}
	locks, use, err := s.service.SegmentLocks(c.Request().Context(), param(c, "sku"), from, limit)
	if err != nil {
		return err
	}
	answer := locksAnswer{Use: use, Locks: make([]lockAnswer, len(locks))}
	for i, lock := range locks {
		answer.Locks[i] = lockAnswer{Segment: lock.Segment, RemainingMS: lock.Remaining.Milliseconds(), Waiting: lock.Waiting}
		if lock.Held() {
			answer.Locks[i].Holder = lock.Holders[0].Owner
		}
	}
	return c.JSON(http.StatusOK, answer)
}

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
