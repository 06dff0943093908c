package capacity

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"inventory/loadtest/internal/experiment"
)

// TestAnotherBottleneckIsToldOf: if a part becomes a hundred times as expensive, the report names it.
func TestAnotherBottleneckIsToldOf(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		dear part
		by   float64
		want string
	}{
		"process":  {process, 100, "stopped by " + connectionLimit},
		"database": {database, 100, "stopped by " + nodeLimit},
		"Redis":    {locks, 100, "stopped by " + redisLimit},
	} {
		r := measuredResult(1, func(_ work, _ int, s experiment.Sample) {
			s[c.dear.metric()] *= c.by
			s[rate] /= c.by
		})
		if err := r.conclude(); err != nil {
			t.Fatal(err)
		}
		if hot := r.sentences()[0]; !strings.HasPrefix(hot, hotName) || !strings.Contains(hot, c.want) {
			t.Errorf("%s: %s", name, hot)
		}
		if stops := r.stops().Table.Rows; len(stops) < 4*3 {
			t.Errorf("%s: %q", name, stops)
		}
	}
}

// TestASaleThatIsTooMuchIsNamed: a hot SKU is sold on one node, however many there are.
func TestASaleThatIsTooMuchIsNamed(t *testing.T) {
	t.Parallel()
	w, site := works()[0], Config{ProcessCores: 2, NodeCores: 8, Connections: 500}
	c := Costs{Parts: map[part]Cost{process: {20, 100}, database: {10, 500}, locks: {1, 20}, disk: {0, 1000}}, Batch: 100}
	limits := c.limits(w, site)
	node := busy * 8e6 / 15
	if n := needsOf(node*0.99, limits); n.stops != "" || n.nodes != 1 || n.connections != n.processes*ofProcess {
		t.Errorf("%+v", n)
	}
	if n := needsOf(node*1.01, limits); n.stops != nodeLimit {
		t.Errorf("%+v", n)
	}
	w.oneNode = false
	if n := needsOf(node*1.01, c.limits(w, site)); n.stops != "" || n.nodes != 2 {
		t.Errorf("many SKUs: %+v", n)
	}
}

// TestOrdersAndWritesAreToldApart: what was put in comes out.
func TestOrdersAndWritesAreToldApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		us := rapid.Float64Range(0, 1000)
		each, wait := rapid.Float64Range(1.5, 256).Draw(t, "orders a write"), us.Draw(t, "waiting")
		alone, together := window(0, 1, 0), window(0, each, 0)
		put := make(map[part]Cost)
		cycle := wait
		for _, p := range parts() {
			put[p] = Cost{1 + us.Draw(t, "order"), us.Draw(t, "write")}
			alone[p.metric()], together[p.metric()] = put[p].at(1), put[p].at(each)
			cycle += put[p].at(1)
		}
		alone[rate] = 1e6 / cycle
		c, err := costsOf(works()[0], alone, together)
		if err != nil {
			t.Fatal(err)
		}
		for p, want := range put {
			if got := c.Parts[p]; math.Abs(got.Order-want.Order) > 1e-6 || math.Abs(got.Write-want.Write) > 1e-6 {
				t.Errorf("%s: %+v instead of %+v", p, got, want)
			}
		}
		if got := c.Parts[disk].Write; math.Abs(got-wait) > 1e-6 {
			t.Errorf("waits %v instead of %v", got, wait)
		}
	})
}
