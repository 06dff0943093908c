package lockmetrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"inventory/internal/busytest"
	"inventory/internal/locking"
	"inventory/internal/locking/lockmetrics"
)

func TestMain(m *testing.M) { busytest.Main(m) }

func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics, err := lockmetrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	rdb := redis.NewClient(&redis.Options{
		Addr: miniredis.RunT(t).Addr(), ReadTimeout: busytest.Patience,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
	defer func() { _ = rdb.Close() }()
	locks, err := locking.New(rdb, locking.Observe(metrics), locking.WatchdogLease(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = locks.Close() }()

	m := locks.Mutex("a")
	first, err := m.Lock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.TryLock(t.Context()); err == nil {
		t.Fatal("two hold the lock")
	}
	if err := first.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.ForceUnlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := locks.Mutex("b").Lock(t.Context()); err != nil {
		t.Fatal(err)
	}

	for name, want := range map[string]float64{
		`locking_failures_total{kind="mutex",reason="busy"}`: 1,
		`locking_held{kind="mutex"}`:                         1,
	} {
		if got := sample(t, registry, name); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string]int{"locking_wait_seconds": 1, "locking_hold_seconds": 2} {
		if n := series(t, registry, name); n != want {
			t.Errorf("%s has %d series, want %d", name, n, want)
		}
	}
	metrics.Renewed(2, time.Millisecond, true)
	if n := sample(t, registry, "locking_renewed_total"); n != 2 {
		t.Errorf("%v locks are renewed, want 2", n)
	}
	if _, err := lockmetrics.New(registry); err == nil {
		t.Error("registered twice")
	}
}

// series counts the series of a metric.
func series(t *testing.T, registry *prometheus.Registry, name string) int {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == name {
			return len(family.GetMetric())
		}
	}
	return 0
}

// sample returns the value of a counter or a gauge, by its name in the text format; 0 if there is none.
func sample(t *testing.T, registry *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+`="`+l.GetValue()+`"`)
			}
			full := family.GetName()
			if len(labels) > 0 {
				full += "{" + strings.Join(labels, ",") + "}"
			}
			if full == name {
				return m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	return 0
}
