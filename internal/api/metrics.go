package api

import (
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	dto "github.com/prometheus/client_model/go"

	"inventory/internal/events"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// Metrics holds the service's Prometheus metrics. Note is the [selling.Observer] of a service; the
// requests of the public handler are counted too. Tags have each metric's name, its help and its labels; histograms are of seconds, or of
// numbers of orders.
type Metrics struct {
	Requests       *prometheus.CounterVec   `name:"http_requests_total" by:"route,status,code" help:"Requests by route and status; code is that of a problem, or client_gone with 499 if the caller hung up. On /v1/deductions each order counts."`
	RequestSeconds *prometheus.HistogramVec `name:"http_request_seconds" by:"route" help:"Time to answer a request."`
	OrderOutcomes  *prometheus.HistogramVec `name:"http_order_seconds" by:"outcome" help:"Time to answer a deduction or an order of several SKUs, by its outcome: accepted, known, refused, invalid, failed or client_gone."`
	InFlight       prometheus.Gauge         `name:"http_requests_in_flight" help:"Requests that are being answered now; a stream of events is one."`

	BatchOrders     prometheus.Histogram     `name:"batch_orders" help:"Orders written in one batch."`
	BatchSeconds    *prometheus.HistogramVec `name:"batch_seconds" by:"locked" help:"Time to write a batch, with its segment's lock or under the guard alone."`
	MergeSeconds    *prometheus.HistogramVec `name:"merge_seconds" by:"locked" help:"Time of a merge with the wait for its locks."`
	MergedOrders    prometheus.Counter       `name:"merged_orders_total" help:"Orders that took from several segments."`
	LockSeconds     *prometheus.HistogramVec `name:"lock_wait_seconds" by:"got" help:"Time a worker waited for a lock, and whether it got it."`
	LocksFailing    prometheus.Gauge         `name:"locks_failing" help:"1 while workers do without locks because locks fail: the breaker is open."`
	QueueSeconds    prometheus.Histogram     `name:"queue_seconds" help:"Time of an order in its SKU's queue."`
	FencedWrites    prometheus.Counter       `name:"fenced_out_total" help:"Writes refused because of an old fencing token."`
	FiredGuards     prometheus.Counter       `name:"guard_fired_total" help:"Database constraints that fired; above 0 means a bug, or a write by another program."`
	SoldOut         prometheus.Counter       `name:"sold_out_from_memory_total" help:"Orders refused from memory, without a query for stock."`
	RememberSeconds prometheus.Histogram     `name:"sold_out_remember_seconds" help:"Time to read the accepted order ids of a SKU that sold out."`
	NoticesFailing  prometheus.Gauge         `name:"notices_failing" help:"1 while this process misses notifications of restocks by others."`

	SettledOrders    prometheus.Histogram `name:"settled_orders" help:"Commits and cancels written together."`
	SettleSeconds    prometheus.Histogram `name:"settle_seconds" help:"Time to write commits and cancels."`
	Expired          prometheus.Counter   `name:"expired_reservations_total" help:"Reservations that expired and whose units are back."`
	OrderSeconds     prometheus.Histogram `name:"order_seconds" help:"Time to write an order of several SKUs, or a change of one."`
	ResegmentSeconds prometheus.Histogram `name:"resegment_seconds" help:"Time that a change of a SKU's segments took."`
}

// Answering returns how many requests are being answered now.
func (m *Metrics) Answering() int { return int(read(m.InFlight).GetGauge().GetValue()) }

const namespace = "inventory"

// NewMetrics returns metrics that are registered with r.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m, of := new(Metrics), promauto.With(r)
	for field, value := range reflect.ValueOf(m).Elem().Fields() {
		name, labels := field.Tag.Get("name"), strings.Split(field.Tag.Get("by"), ",")
		one := prometheus.Opts{Namespace: namespace, Name: name, Help: field.Tag.Get("help")}
		many := prometheus.HistogramOpts{
			Namespace: namespace, Name: name, Help: one.Help, Buckets: prometheus.ExponentialBuckets(0.0001, 2, 16), // 0.1 ms to 3.3 s
		}
		if !strings.HasSuffix(name, "_seconds") {
			many.Buckets = prometheus.ExponentialBuckets(1, 2, 9)
		}
		switch metric := value.Addr().Interface().(type) {
		case *prometheus.Counter:
			*metric = of.NewCounter(prometheus.CounterOpts(one))
		case *prometheus.Gauge:
			*metric = of.NewGauge(prometheus.GaugeOpts(one))
		case *prometheus.Histogram:
			*metric = of.NewHistogram(many)
		case **prometheus.CounterVec:
			*metric = of.NewCounterVec(prometheus.CounterOpts(one), labels)
		case **prometheus.HistogramVec:
			*metric = of.NewHistogramVec(many, labels)
		}
	}
	m.begin()
	return m
}

// begin makes the series that rules and boards query. A rate needs an earlier value, and the first failure would have
// none.
func (m *Metrics) begin() {
	for _, route := range []string{deductRoute, orderRoute} {
		m.RequestSeconds.WithLabelValues(route)
		for status, codes := range map[int][]stock.Code{
			http.StatusCreated: {""}, http.StatusOK: {""}, http.StatusConflict: {stock.CodeSoldOut, stock.CodeInsufficientStock},
			http.StatusServiceUnavailable: {stock.CodeOverloaded, stock.CodeUnavailable}, statusHungUp: {codeHungUp},
		} {
			for _, code := range codes {
				m.Requests.WithLabelValues(route, strconv.Itoa(status), string(code))
			}
		}
	}
	for _, yes := range []string{"true", "false"} {
		for _, vec := range []*prometheus.HistogramVec{m.BatchSeconds, m.MergeSeconds, m.LockSeconds} {
			vec.WithLabelValues(yes)
		}
	}
	for _, o := range []string{"accepted", "known", "refused", "invalid", "failed", string(codeHungUp)} {
		m.OrderOutcomes.WithLabelValues(o)
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
	now := func(name, help string, value func() float64) {
		promauto.With(r).NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help}, value)
	}
	total := func(name, help string, value func() float64) {
		promauto.With(r).NewCounterFunc(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, value)
	}
	now("queue_orders", "Orders that wait in the queues of all SKUs now.", func() float64 { return float64(waiting()) })
	now("database_pool_open", "Connections to the database.", func() float64 { return float64(pool().Open) })
	now("database_pool_busy", "Connections to the database in use now.", func() float64 { return float64(pool().Busy) })
	total("database_pool_waits_total", "Times that no connection to the database was free.", func() float64 { return float64(pool().Waits) })
	total("database_pool_wait_seconds_total", "Time waited for a connection to the database.", func() float64 { return pool().Waited.Seconds() })
	now("event_listeners", "Listeners to live events now.", func() float64 { return float64(hub.Listeners()) })
	now("events_failing", "1 while listeners get the events of this process only, because Redis fails.", func() float64 { return number(hub.Failing()) })
	total("events_lost_total", "Live events that listeners have missed and that were reported to them as lost, of all listeners together.",
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
		m.InFlight.Inc()
		defer m.InFlight.Dec()
		start, caller := time.Now(), c.Request().Context()
		err := hungUpOr(caller, next(c))
		if err != nil {
			c.Error(err) // answer now, so that the status is known; Echo answers only once
		}
		o := outcome{post: c.Request().Method == http.MethodPost, route: c.Path(), status: c.Response().Status}
		if err != nil {
			o.code = asStockError(err).Code
		}
		if errors.Is(err, errHungUp) {
			o.status, o.code = statusHungUp, codeHungUp
		}
		took := time.Since(start).Seconds()
		m.RequestSeconds.WithLabelValues(o.route).Observe(took)
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
	m.Requests.WithLabelValues(o.route, strconv.Itoa(o.status), string(o.code)).Add(float64(n))
	if order := o.ofOrder(); order != "" {
		outcomes := m.OrderOutcomes.WithLabelValues(order)
		for range n {
			outcomes.Observe(seconds)
		}
	}
}

// Note is the [selling.Observer] of a service.
func (m *Metrics) Note(a selling.Activity) {
	count, seconds, locked := float64(a.Count), a.Took.Seconds(), strconv.FormatBool(a.Locked)
	switch a.Kind {
	case selling.BatchWritten:
		m.BatchOrders.Observe(count)
		m.BatchSeconds.WithLabelValues(locked).Observe(seconds)
	case selling.MergeWritten:
		m.MergedOrders.Add(float64(a.Merged))
		m.MergeSeconds.WithLabelValues(locked).Observe(seconds)
	case selling.OrderWritten:
		m.OrderSeconds.Observe(seconds)
	case selling.SettlementWritten:
		m.SettledOrders.Observe(count)
		m.SettleSeconds.Observe(seconds)
	case selling.Queued:
		m.QueueSeconds.Observe(seconds)
	case selling.LockWaited:
		m.LockSeconds.WithLabelValues(locked).Observe(seconds)
	case selling.LocksFailed:
		m.LocksFailing.Set(number(a.Err != nil))
	case selling.FencedOut:
		m.FencedWrites.Inc()
	case selling.GuardFired:
		m.FiredGuards.Inc()
	case selling.SoldOutFromCache:
		m.SoldOut.Add(count)
	case selling.SoldOutCached:
		m.RememberSeconds.Observe(seconds)
	case selling.ReservationsExpired:
		m.Expired.Add(count)
	case selling.Resegmented:
		m.ResegmentSeconds.Observe(seconds)
	case selling.NotificationsFailed:
		m.NoticesFailing.Set(number(a.Err != nil))
	}
}

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
func (s *server) readActivity(echo.Context) (any, error) {
	answer := s.Metrics.activity()
	answer.Process, answer.At = s.Events.Process(), time.Now().UTC()
	answer.Locks, answer.Waiting = s.Service.LockUse(), s.Service.Waiting()
	return answer, nil
}

func (m *Metrics) activity() activityAnswer {
	both := func(vec *prometheus.HistogramVec) tally {
		return tallyOf(vec.WithLabelValues("true")).plus(tallyOf(vec.WithLabelValues("false")))
	}
	orders := func(outcome string) uint64 { return tallyOf(m.OrderOutcomes.WithLabelValues(outcome)).Count }
	return activityAnswer{
		Accepted: orders("accepted"), Known: orders("known"), Refused: orders("refused"),
		Failed:  orders("invalid") + orders("failed") + orders(string(codeHungUp)),
		Batches: tallyOf(m.BatchOrders), BatchTime: both(m.BatchSeconds), Merges: both(m.MergeSeconds),
		LockWaits: tallyOf(m.LockSeconds.WithLabelValues("true")), LocksMissed: tallyOf(m.LockSeconds.WithLabelValues("false")),
		Queued: tallyOf(m.QueueSeconds), FencedOut: uint64(read(m.FencedWrites).GetCounter().GetValue()),
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
func (s *server) readLocks(c echo.Context) (any, error) {
	query, from := c.QueryParams(), 0
	limit, err := pageSize(query, selling.MaxLockPage)
	if err == nil && query.Has("from") {
		if from, err = strconv.Atoi(query.Get("from")); err != nil || query.Get("from") != strconv.Itoa(from) {
			err = invalid("from", "must be 0 to "+strconv.Itoa(stock.MaxSegments-1))
		}
	}
	if err != nil {
		return nil, err
	}
	locks, use, err := s.Service.SegmentLocks(c.Request().Context(), param(c, "sku"), from, limit)
	answer := locksAnswer{Use: use, Locks: make([]lockAnswer, len(locks))}
	for i, lock := range locks {
		answer.Locks[i] = lockAnswer{Segment: lock.Segment, RemainingMS: lock.Remaining.Milliseconds(), Waiting: lock.Waiting}
		if lock.Held() {
			answer.Locks[i].Holder = lock.Holders[0].Owner
		}
	}
	return answer, err
}
