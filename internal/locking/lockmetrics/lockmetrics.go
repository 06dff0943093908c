// Package lockmetrics exports what happens to locks as Prometheus metrics.
//
//	locking_wait_seconds{kind,contended}     how long callers waited for what they got; its count is the acquisitions
//	locking_failures_total{kind,reason}      Lock and TryLock without a hold: busy, ended, closed, error
//	locking_hold_seconds{kind,lost}          how long holds lasted, and whether they were lost
//	locking_held{kind}                       holds at this moment
//	locking_renewal_seconds{answered}        round trips of the watchdog
//	locking_renewed_total                    locks in round trips that were answered
//	locking_polling                          servers from which no wake-ups reach this process
//
// Alert on holds with lost="true", renewals with answered="false", polling for more than a while.
package lockmetrics

import (
	"fmt"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"inventory/internal/locking"
)

// Metrics is a [locking.PollingObserver]. It is safe for concurrent use and can observe several Locks.
type Metrics struct {
	wait     *prometheus.HistogramVec
	failures *prometheus.CounterVec
	hold     *prometheus.HistogramVec
	held     *prometheus.GaugeVec
	renewal  *prometheus.HistogramVec
	renewed  prometheus.Counter
	polling  prometheus.Gauge
}

var _ locking.PollingObserver = (*Metrics)(nil)

// New returns metrics that are registered with r, or the error of the registration.
func New(r prometheus.Registerer) (*Metrics, error) {
	seconds := prometheus.ExponentialBuckets(0.00005, 2, 20) // 50 us to 26 s
	histogram := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "locking", Name: name, Help: help, Buckets: seconds,
		}, labels)
	}
	m := &Metrics{
		wait: histogram("wait_seconds", "Time from the call to the hold, and whether somebody else was in the way.", "kind", "contended"),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "locking", Name: "failures_total", Help: "Acquisitions that got no hold.",
		}, []string{"kind", "reason"}),
		hold: histogram("hold_seconds", "Time of a hold, and whether it was lost before it was unlocked.", "kind", "lost"),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "locking", Name: "held", Help: "Holds at this moment.",
		}, []string{"kind"}),
		renewal: histogram("renewal_seconds", "Time of a round trip of the watchdog, and whether the server answered for all its locks.", "answered"),
		renewed: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "locking", Name: "renewed_total", Help: "Locks in round trips of the watchdog that were answered.",
		}),
		polling: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "locking", Name: "polling", Help: "Servers from which no wake-ups reach this process: its waiters poll.",
		}),
	}
	for _, c := range []prometheus.Collector{m.wait, m.failures, m.hold, m.held, m.renewal, m.renewed, m.polling} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("register lock metrics: %w", err)
		}
	}
	for _, answered := range []string{"true", "false"} {
		m.renewal.WithLabelValues(answered)
	}
	return m, nil
}

// Begin makes the series of kinds on which one alerts. A rate needs an earlier value, and the first loss would have none.
func (m *Metrics) Begin(kinds ...locking.Kind) {
	for _, kind := range kinds {
		m.failures.WithLabelValues(string(kind), string(locking.ReasonError))
		for _, lost := range []string{"true", "false"} {
			m.hold.WithLabelValues(string(kind), lost)
		}
	}
}

// Acquired implements [locking.Observer].
func (m *Metrics) Acquired(kind locking.Kind, waited time.Duration, contended bool) {
	m.wait.WithLabelValues(string(kind), strconv.FormatBool(contended)).Observe(waited.Seconds())
	m.held.WithLabelValues(string(kind)).Inc()
}

// Failed implements [locking.Observer].
func (m *Metrics) Failed(kind locking.Kind, _ time.Duration, reason locking.Reason) {
	m.failures.WithLabelValues(string(kind), string(reason)).Inc()
}

// Released implements [locking.Observer].
func (m *Metrics) Released(kind locking.Kind, held time.Duration) { m.ended(kind, held, "false") }

// Lost implements [locking.Observer].
func (m *Metrics) Lost(kind locking.Kind, held time.Duration) { m.ended(kind, held, "true") }

func (m *Metrics) ended(kind locking.Kind, held time.Duration, lost string) {
	m.hold.WithLabelValues(string(kind), lost).Observe(held.Seconds())
	m.held.WithLabelValues(string(kind)).Dec()
}

// Renewed implements [locking.Observer].
func (m *Metrics) Renewed(locks int, took time.Duration, answered bool) {
	m.renewal.WithLabelValues(strconv.FormatBool(answered)).Observe(took.Seconds())
	if answered {
		m.renewed.Add(float64(locks))
	}
}

// Polling implements [locking.PollingObserver].
func (m *Metrics) Polling(why error) {
	if why != nil {
		m.polling.Inc()
	} else {
		m.polling.Dec()
	}
}
