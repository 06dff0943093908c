package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	dto "github.com/prometheus/client_model/go"

	"inventory/internal/events"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// Metrics holds the service's Prometheus metrics. It is the [selling.Observer] of a service, and it counts the
// requests of the public handler.
type Metrics struct {
	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	orderOutcomes  *prometheus.HistogramVec
	inFlight       prometheus.Gauge

	batchOrders     prometheus.Histogram
	batchSeconds    *prometheus.HistogramVec
	mergeSeconds    *prometheus.HistogramVec
	mergedOrders    prometheus.Counter
	lockSeconds     *prometheus.HistogramVec
	locksFail       prometheus.Gauge
	queueSeconds    prometheus.Histogram
	fencedOut       prometheus.Counter
	guardFired      prometheus.Counter
	soldOut         prometheus.Counter
	rememberSeconds prometheus.Histogram
	noticesFail     prometheus.Gauge

	settledOrders    prometheus.Histogram
	settleSeconds    prometheus.Histogram
	expired          prometheus.Counter
	orderSeconds     *prometheus.HistogramVec
	resegmentSeconds prometheus.Histogram
}

var _ selling.Observer = (*Metrics)(nil)

// maker makes metrics of the service that are registered.
type maker struct{ promauto.Factory }

func (m maker) counter(name, help string) prometheus.Counter {
	return m.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func (m maker) gauge(name, help string) prometheus.Gauge {
	return m.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
}

// counts makes a histogram of numbers of orders.
func (m maker) counts(name, help string) prometheus.Histogram {
	return m.NewHistogram(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: prometheus.ExponentialBuckets(1, 2, 9)})
}

// seconds makes a histogram of times.
func (m maker) seconds(name, help string) prometheus.Histogram {
	return m.NewHistogram(secondsOpts(name, help))
}

// secondsBy makes a histogram of times by a label.
func (m maker) secondsBy(label, name, help string) *prometheus.HistogramVec {
	return m.NewHistogramVec(secondsOpts(name, help), []string{label})
}

func secondsOpts(name, help string) prometheus.HistogramOpts {
	buckets := prometheus.ExponentialBuckets(0.0001, 2, 16) // 0.1 ms to 3.3 s
	return prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}
}

// read makes a gauge that is read at each scrape.
func (m maker) read(name, help string, value func() float64) {
	m.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, value)
}

// readTotal makes a counter that is read at each scrape.
func (m maker) readTotal(name, help string, value func() float64) {
	m.NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, value)
}

const namespace = "inventory"

// NewMetrics returns metrics that are registered with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	of := maker{promauto.With(r)}
	m := &Metrics{
		requests: of.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Name: "http_requests_total", Help: "Requests by route and status; code is that of a problem, or client_gone with 499 if the caller hung up. On /v1/deductions each order counts.",
		}, []string{"route", "status", "code"}),
		requestSeconds: of.secondsBy("route", "http_request_seconds", "Time to answer a request."),
		orderOutcomes:  of.secondsBy("outcome", "http_order_seconds", "Time to answer a deduction or an order of several SKUs, by its outcome: accepted, known, refused, invalid, failed or client_gone."),
		inFlight:       of.gauge("http_requests_in_flight", "Requests that are being answered now; a stream of events is one."),

		batchOrders:     of.counts("batch_orders", "Orders written in one batch."),
		batchSeconds:    of.secondsBy("locked", "batch_seconds", "Time to write a batch, with its segment's lock or under the guard alone."),
		mergeSeconds:    of.secondsBy("locked", "merge_seconds", "Time of a merge with the wait for its locks."),
		mergedOrders:    of.counter("merged_orders_total", "Orders that took from several segments."),
		lockSeconds:     of.secondsBy("got", "lock_wait_seconds", "Time a worker waited for a lock, and whether it got it."),
		locksFail:       of.gauge("locks_fail", "1 while workers do without locks because locks fail: the breaker is open."),
		queueSeconds:    of.seconds("queue_seconds", "Time of an order in its SKU's queue."),
		fencedOut:       of.counter("fenced_out_total", "Writes refused because of an old fencing token."),
		guardFired:      of.counter("guard_fired_total", "Database constraints that fired; above 0 means a bug, or a write by another program."),
		soldOut:         of.counter("sold_out_from_memory_total", "Orders refused from memory, without a query for stock."),
		rememberSeconds: of.seconds("sold_out_remember_seconds", "Time to read the accepted order ids of a SKU that sold out."),
		noticesFail:     of.gauge("notices_failing", "1 while this process misses notifications of restocks by others."),

		settledOrders:    of.counts("settled_orders", "Commits and cancels written together."),
		settleSeconds:    of.seconds("settle_seconds", "Time to write commits and cancels."),
		expired:          of.counter("expired_reservations_total", "Reservations that expired and whose units are back."),
		orderSeconds:     of.secondsBy("locked", "order_seconds", "Time to write an order of several SKUs, with its locks or under the guard alone."),
		resegmentSeconds: of.seconds("resegment_seconds", "Time for which a change of a SKU's segments kept workers out."),
	}
	m.begin()
	return m
}

// begin makes the series that rules and boards query. A rate needs an earlier value, and the first failure would have
// none.
func (m *Metrics) begin() {
	for _, route := range []string{deductRoute, orderRoute} {
		m.requestSeconds.WithLabelValues(route)
		for status, codes := range map[int][]stock.Code{
			http.StatusCreated: {""}, http.StatusOK: {""}, http.StatusConflict: {stock.CodeSoldOut, stock.CodeInsufficientStock},
			http.StatusServiceUnavailable: {stock.CodeOverloaded, stock.CodeUnavailable}, statusHungUp: {codeHungUp},
		} {
			for _, code := range codes {
				m.requests.WithLabelValues(route, strconv.Itoa(status), string(code))
			}
		}
	}
	for _, yes := range []string{"true", "false"} {
		for _, vec := range []*prometheus.HistogramVec{m.batchSeconds, m.mergeSeconds, m.lockSeconds, m.orderSeconds} {
			vec.WithLabelValues(yes)
		}
	}
	for _, o := range []string{"accepted", "known", "refused", "invalid", "failed", string(codeHungUp)} {
		m.orderOutcomes.WithLabelValues(o)
	}
}

// The routes of orders.
const (
	deductRoute = "/v1/skus/:sku/deductions"
	orderRoute  = "/v1/orders"
	manyRoute   = "/v1/deductions"
)

// ofOrder returns the order's outcome as a label; "" if the request is not an order.
func (o outcome) ofOrder() string {
	switch {
	case !o.post || o.route != deductRoute && o.route != orderRoute && o.route != manyRoute:
		return ""
	case o.status == http.StatusCreated:
		return "accepted"
	case o.status == http.StatusOK:
		return "known"
	case o.status == http.StatusConflict, o.status == http.StatusGone:
		return "refused"
	case o.status == statusHungUp:
		return string(codeHungUp)
	case o.status >= http.StatusInternalServerError:
		return "failed"
	default:
		return "invalid"
	}
}

// Watch registers figures that are read at each scrape: of queues, of the connections to the database, and of live events.
func Watch(r prometheus.Registerer, waiting func() int, pool func() stock.Pool, hub *events.Hub) {
	of := maker{promauto.With(r)}
	of.read("queue_orders", "Orders that wait in the queues of all SKUs now.", func() float64 { return float64(waiting()) })
	of.read("database_pool_open", "Connections to the database.", func() float64 { return float64(pool().Open) })
	of.read("database_pool_busy", "Connections to the database in use now.", func() float64 { return float64(pool().Busy) })
	of.readTotal("database_pool_waits_total", "Times that no connection to the database was free.", func() float64 { return float64(pool().Waits) })
	of.readTotal("database_pool_wait_seconds_total", "Time waited for a connection to the database.", func() float64 { return pool().Waited.Seconds() })
	of.read("event_listeners", "Listeners to live events now.", func() float64 { return float64(hub.Listeners()) })
	of.read("events_failing", "1 while listeners get the events of this process only, because Redis fails.", func() float64 { return number(hub.Failing()) })
	of.readTotal("events_lost_total", "Live events that listeners have missed and that were reported to them as lost, of all listeners together.",
		func() float64 { return float64(hub.Lost()) })
}

// number is 1 for what holds, and 0 for what does not.
func number(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// outcome is the key by which requests are counted. There are few of them.
type outcome struct {
	post   bool   // not the method itself, of which callers may invent many
	route  string // the pattern, of which there are few; "" for a path without a route
	status int
	code   stock.Code // that the answer has if it is a problem
}

// observe counts and times requests.
func (m *Metrics) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		m.inFlight.Inc()
		defer m.inFlight.Dec()
		start, caller := time.Now(), c.Request().Context()
		err := hungUpOr(caller, next(c))
		if err != nil {
			c.Error(err) // answer now, so that the status is known; Echo answers only once
		}
		o := outcome{post: c.Request().Method == http.MethodPost, route: c.Path(), status: c.Response().Status}
		if err != nil {
			o.code = asStockError(err).Code
		}
		if isHungUp(err) {
			o.status, o.code = statusHungUp, codeHungUp
		}
		took := time.Since(start).Seconds()
		m.requestSeconds.WithLabelValues(o.route).Observe(took)
		orders, many := c.Get(ordersKey).(map[outcome]int)
		if !many {
			m.answered(o, 1, took)
		}
		for o, n := range orders {
			m.answered(o, n, took)
		}
		return nil
	}
}

// ordersKey is the context key under which a handler leaves the outcomes of a request's orders. Each counts as a request.
const ordersKey = "orders"

// answered counts answers that were sent after so many seconds.
func (m *Metrics) answered(o outcome, n int, seconds float64) {
	m.requests.WithLabelValues(o.route, strconv.Itoa(o.status), string(o.code)).Add(float64(n))
	if order := o.ofOrder(); order != "" {
		for range n {
			m.orderOutcomes.WithLabelValues(order).Observe(seconds)
		}
	}
}

// BatchWritten implements [selling.Observer].
func (m *Metrics) BatchWritten(orders int, took time.Duration, locked bool) {
	m.batchOrders.Observe(float64(orders))
	m.batchSeconds.WithLabelValues(strconv.FormatBool(locked)).Observe(took.Seconds())
}

// MergeWritten implements [selling.Observer].
func (m *Metrics) MergeWritten(_, merged int, took time.Duration, locked bool) {
	m.mergedOrders.Add(float64(merged))
	m.mergeSeconds.WithLabelValues(strconv.FormatBool(locked)).Observe(took.Seconds())
}

// LockWaited implements [selling.Observer].
func (m *Metrics) LockWaited(took time.Duration, got bool) {
	m.lockSeconds.WithLabelValues(strconv.FormatBool(got)).Observe(took.Seconds())
}

// LocksFail implements [selling.Observer].
func (m *Metrics) LocksFail(fail bool) { m.locksFail.Set(number(fail)) }

// Queued implements [selling.Observer].
func (m *Metrics) Queued(took time.Duration) { m.queueSeconds.Observe(took.Seconds()) }

// FencedOut implements [selling.Observer].
func (m *Metrics) FencedOut() { m.fencedOut.Inc() }

// GuardFired implements [selling.Observer].
func (m *Metrics) GuardFired() { m.guardFired.Inc() }

// SoldOutFromCache implements [selling.Observer].
func (m *Metrics) SoldOutFromCache(orders int) { m.soldOut.Add(float64(orders)) }

// SoldOutCached implements [selling.Observer].
func (m *Metrics) SoldOutCached(_ int, took time.Duration) { m.rememberSeconds.Observe(took.Seconds()) }

// NotificationsFail implements [selling.Observer].
func (m *Metrics) NotificationsFail(err error) { m.noticesFail.Set(number(err != nil)) }

// SettlementWritten implements [selling.Observer].
func (m *Metrics) SettlementWritten(requests int, took time.Duration) {
	m.settledOrders.Observe(float64(requests))
	m.settleSeconds.Observe(took.Seconds())
}

// ReservationsExpired implements [selling.Observer].
func (m *Metrics) ReservationsExpired(reservations int) { m.expired.Add(float64(reservations)) }

// OrderWritten implements [selling.Observer].
func (m *Metrics) OrderWritten(_ int, took time.Duration, locked bool) {
	m.orderSeconds.WithLabelValues(strconv.FormatBool(locked)).Observe(took.Seconds())
}

// Resegmented implements [selling.Observer].
func (m *Metrics) Resegmented(pause time.Duration) { m.resegmentSeconds.Observe(pause.Seconds()) }

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
	answer := s.Metrics.activity()
	answer.Process, answer.At = s.Events.Process(), time.Now().UTC()
	answer.Locks, answer.Waiting = s.Service.LockUse(), s.Service.Waiting()
	return c.JSON(http.StatusOK, answer)
}

func (m *Metrics) activity() activityAnswer {
	both := func(vec *prometheus.HistogramVec) tally {
		return tallyOf(vec.WithLabelValues("true")).plus(tallyOf(vec.WithLabelValues("false")))
	}
	orders := func(outcome string) uint64 { return tallyOf(m.orderOutcomes.WithLabelValues(outcome)).Count }
	return activityAnswer{
		Accepted: orders("accepted"), Known: orders("known"), Refused: orders("refused"),
		Failed:  orders("invalid") + orders("failed") + orders(string(codeHungUp)),
		Batches: tallyOf(m.batchOrders), BatchTime: both(m.batchSeconds), Merges: both(m.mergeSeconds),
		LockWaits: tallyOf(m.lockSeconds.WithLabelValues("true")), LocksMissed: tallyOf(m.lockSeconds.WithLabelValues("false")),
		Queued: tallyOf(m.queueSeconds), FencedOut: uint64(read(m.fencedOut).GetCounter().GetValue()),
	}
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
	locks, use, err := s.Service.SegmentLocks(c.Request().Context(), param(c, "sku"), from, limit)
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
