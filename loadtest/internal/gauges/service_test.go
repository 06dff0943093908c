package gauges

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/loadtest/internal/report"
)

// text returns the sections as a person reads them.
func text(t *testing.T, r Readings, accepted int64) string {
	t.Helper()
	var out strings.Builder
	if err := (report.Document{Sections: r.Sections(accepted)}).Print(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func wantWords(t *testing.T, r Readings, words ...string) {
	t.Helper()
	told := text(t, r, 0)
	for _, w := range words {
		if !strings.Contains(told, w) {
			t.Errorf("it does not say %q:\n%s", w, told)
		}
	}
}

// TestTheServiceInsideIsTold sells embedded, and reads from outside.
func TestTheServiceInsideIsTold(t *testing.T) {
	t.Parallel()
	databaseURL := "sqlite:" + filepath.Join(t.TempDir(), "inventory.db")
	service, err := app.Start(t.Context(), app.Config{DatabaseURL: databaseURL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, _, err := service.Service().CreateSKU(t.Context(), stock.NewSKU{SKU: "hot", Stock: 1000, Segments: 2}); err != nil {
		t.Fatal(err)
	}
	metricsURL := service.AdminURL() + "/metrics"
	sampler := Start(t.Context(), Sources{
		GeneratorSelf: true, ServiceMetricsURLs: []string{metricsURL}, RedisURL: app.Embedded, DatabaseURL: databaseURL,
	}, 5*time.Millisecond)
	const n = 200
	for i := range n {
		if _, _, err := service.Service().Deduct(t.Context(), "hot", stock.Order{OrderID: fmt.Sprint("o", i), Quantity: 1}); err != nil {
			t.Fatal(err)
		}
	}
	// More than a segment has.
	if _, _, err := service.Service().Deduct(t.Context(), "hot", stock.Order{OrderID: "large", Quantity: 600}); err != nil {
		t.Fatal(err)
	}
	got := sampler.Stop()
	if len(got.Notes) > 0 {
		t.Errorf("notes %q", got.Notes)
	}
	if orders := got.Grown(batchOrders); orders < n || orders > n+1 || got.Grown(Merges) < 1 {
		t.Errorf("%v orders in batches instead of %d, %v merges", orders, n, got.Grown(Merges))
	}
	wantMetrics(t, metricsURL)
	if wait := got.LockWait(); !(wait.Count > 0) || !(wait.Quantile(0.99) > 0) || !(got.most(Goroutines) > 1) {
		t.Errorf("lock wait %+v", wait)
	}
	wantWords(t, got, "Redis is embedded", "cannot be counted from outside", "which is not none", "Inside the service", "SQLite file")
	wantPlots(t, got)
}

// wantMetrics demands that the service has all metrics that are read: a missing one would count as 0.
func wantMetrics(t *testing.T, url string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	found, err := Scrape(t.Context(), client, url)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{cpuMetric}
	for _, q := range serviceMetrics() {
		names = append(names, string(q))
	}
	for _, name := range names {
		if found[name] == nil {
			t.Errorf("the service has no metric %s", name)
		}
	}
}

// wantPlots demands that names can be compared, and that every line has as many X as Y.
func wantPlots(t *testing.T, got Readings) {
	t.Helper()
	names, allowed := map[string]bool{}, regexp.MustCompile(`^[a-z0-9-]+$`)
	for _, s := range got.Sections(7) {
		for _, p := range s.Plots {
			if names[p.Name] || !allowed.MatchString(p.Name) {
				t.Errorf("the name %q", p.Name)
			}
			names[p.Name] = true
			for _, line := range p.Series {
				if len(line.X) == 0 || len(line.X) != len(line.Y) {
					t.Errorf("%s: %+v", p.Name, line)
				}
				for _, y := range line.Y {
					if math.IsNaN(y) || math.IsInf(y, 0) {
						t.Errorf("%s: %+v", p.Name, line)
					}
				}
			}
		}
	}
	for _, want := range []string{"cpu", "lock-wait", "merges", "queue", "memory", "goroutines", "sizes"} {
		if !names[want] {
			t.Errorf("no plot %s", want)
		}
	}
}

// TestASourceThatFailsLaterIsSaidOnce fails while it is looked at again and again, and comes back.
func TestASourceThatFailsLaterIsSaidOnce(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	enough := make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		switch n := asked.Add(1); {
		case n == 8:
			close(enough)
		case n >= 3 && n < 7:
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		_, _ = fmt.Fprintf(w, "# TYPE inventory_merged_orders_total counter\ninventory_merged_orders_total %d\n", asked.Load())
	}))
	defer service.Close()
	sampler := Start(t.Context(), Sources{ServiceMetricsURLs: []string{service.URL}}, time.Millisecond)
	<-enough
	got := sampler.Stop()
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "status 500") {
		t.Errorf("notes %q", got.Notes)
	}
	if merged := got.Grown(merged); merged != float64(asked.Load()-1) {
		t.Errorf("%v merged, %d times asked", merged, asked.Load())
	}
}

// TestDeadSourcesAreNotFatal, and their errors have no secrets.
func TestDeadSourcesAreNotFatal(t *testing.T) {
	t.Parallel()
	const nobody = "me:secret@127.0.0.1:1"
	for name, c := range map[string]struct {
		sources Sources
		says    string
	}{
		"metrics":     {Sources{ServiceMetricsURLs: []string{"http://" + nobody}}, "ask for metrics"},
		"metrics URL": {Sources{ServiceMetricsURLs: []string{"http://me:secret@%zz"}}, "cannot be used"},
		"Redis":       {Sources{RedisURL: "redis://" + nobody}, "reach Redis"},
		"Redis URL":   {Sources{RedisURL: "redis://me:secret@%zz"}, "redis URL"},
		"PostgreSQL":  {Sources{DatabaseURL: "postgres://" + nobody + "/db"}, "reach PostgreSQL"},
		"URL":         {Sources{DatabaseURL: "postgres://me:secret@%zz"}, "database URL"},
		"SQLite":      {Sources{DatabaseURL: "sqlite:" + filepath.Join(t.TempDir(), "none.db")}, "SQLite file"},
	} {
		got := Start(t.Context(), c.sources, time.Hour).Stop()
		if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], c.says) || strings.Contains(got.Notes[0], "secret") {
			t.Errorf("%s: notes %q", name, got.Notes)
		}
		if told := text(t, got, 10); strings.Contains(told, "secret") || strings.Contains(told, "NaN") {
			t.Errorf("%s: %s", name, told)
		}
		if figures := got.Figures(10); len(figures) > 0 {
			t.Errorf("%s: figures %+v", name, figures)
		}
	}
}

func TestQuantiles(t *testing.T) {
	t.Parallel()
	h := Histogram{Count: 100, Sum: 50, Bounds: []float64{1, 2, 4}, Within: []float64{50, 50, 90}}
	for share, want := range map[float64]float64{0.25: 0.5, 0.5: 1, 0.7: 3, 0.9: 4, 0.99: 4} {
		if got := h.Quantile(share); math.Abs(got-want) > 1e-9 {
			t.Errorf("%v: %v instead of %v", share, got, want)
		}
	}
	if got := (Histogram{}).Quantile(0.5); !math.IsNaN(got) {
		t.Errorf("of nothing: %v", got)
	}
}
