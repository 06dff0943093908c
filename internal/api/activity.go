package api

import (
	"net/http"
	"slices"
	"strconv"
	"time"

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
