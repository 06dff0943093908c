package classroom

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	random "math/rand/v2"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/internal/latency"
	"inventory/internal/stock"
)

// order is the settings of a sale that a person chooses.
type order struct {
	Pace     int    `json:"pace"` // orders a second; 0: as many as a crowd sends that orders again as soon as it is answered
	Mix      string `json:"mix"`  // one of the mixes
	Segments int    `json:"segments"`
	Stock    int64  `json:"stock"`
	Restock  bool   `json:"restock"` // when stock runs short
}

// The mixes.
const (
	mixSingles = "singles" // one unit each
	mixMany    = "many"    // 1 to 5 units, so that segments run out unevenly
	mixReserve = "reserve" // half of them reservations that expire
)

const (
	mostPace = 20_000
	crowd    = 256 // buyers of a sale that is as fast as it can be
)

func (o order) check() error {
	switch {
	case o.Pace < 0 || o.Pace > mostPace:
		return fmt.Errorf("orders a second: must be 1 to %d, or 0 for as many as can be", mostPace)
	case o.Mix != mixSingles && o.Mix != mixMany && o.Mix != mixReserve:
		return fmt.Errorf("there is no mix %q", o.Mix)
	}
	return nil
}

// String describes the sale as people do.
func (o order) String() string {
	segments, pace := fmt.Sprintf("%d segments", o.Segments), "as fast as it can"
	if o.Segments == 1 {
		segments = "1 segment"
	}
	if o.Pace > 0 {
		pace = fmt.Sprintf("%d orders a second", o.Pace)
	}
	return fmt.Sprintf("A sale: %s, %s", segments, pace)
}

// why says what the segments do.
func (o order) why() string {
	if o.Segments == 1 {
		return "All units are in one row: every write waits for the one before it."
	}
	return "The units are in several rows. Processes write to different ones at the same time; one process alone gains little."
}

// point is a second of a sale.
type point struct {
	Accepted int     `json:"accepted"`
	Refused  int     `json:"refused"`
	Failed   int     `json:"failed"`
	P50      float64 `json:"p50"` // milliseconds
	P99      float64 `json:"p99"`
}

const (
	kept       = 60   // points
	mostOrders = 4096 // in flight at once
	beat       = 10 * time.Millisecond
	reserveFor = "3s"
)

// sale sends orders at a pace until it is stopped.
type sale struct {
	order
	SKU   string
	house func() *house
	store stock.Store

	cancel  context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	now       point
	latencies *latency.Histogram
	points    []point
}

// openSale creates a SKU of a new name, and lets buyers in.
func openSale(ctx context.Context, o order, house func() *house, store stock.Store) (*sale, error) {
	sku := "sale-" + strings.ToLower(rand.Text()[:6])
	created, err := house().target().service.CreateSKU(ctx, sku, client.NewSKU{Stock: o.Stock, Segments: &o.Segments})
	if err == nil {
		err = created.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("create SKU %s: %w", sku, err)
	}
	s := &sale{order: o, SKU: sku, house: house, store: store, latencies: latency.New()}
	ctx, s.cancel = context.WithCancel(context.WithoutCancel(ctx))
	if o.Pace > 0 {
		s.running.Go(func() { s.send(ctx) })
	} else {
		for n := range crowd {
			s.running.Go(func() { s.orderAgainAndAgain(ctx, n) })
		}
	}
	s.running.Go(func() { s.keepTime(ctx) })
	return s, nil
}

func (s *sale) stop() {
	s.cancel()
	s.running.Wait()
}

// send lets buyers in at the pace. If there is no room for a buyer, it counts as failed: buyers do not wait for each other.
func (s *sale) send(ctx context.Context) {
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	var buyers errgroup.Group
	buyers.SetLimit(mostOrders)
	for begun, sent := time.Now(), 0; ; {
		select {
		case <-ctx.Done():
			_ = buyers.Wait() // none returns an error
			return
		case <-ticker.C:
		}
		for due := int(time.Since(begun).Seconds() * float64(s.Pace)); sent < due; sent++ {
			n := sent
			if !buyers.TryGo(func() error { s.buy(ctx, n); return nil }) {
				s.count(0, false, errFull)
			}
		}
	}
}

// orderAgainAndAgain is a buyer of the crowd. The ids of its orders are apart from those of others.
func (s *sale) orderAgainAndAgain(ctx context.Context, n int) {
	for ; ctx.Err() == nil; n += crowd {
		s.buy(ctx, n)
	}
}

var errFull = errors.New("too many buyers wait")

func (s *sale) buy(ctx context.Context, n int) {
	buyer := fmt.Sprintf("buyer-%d", n)
	o := client.NewDeduction{OrderID: fmt.Sprintf("order-%d", n), BuyerID: &buyer, Quantity: 1}
	switch {
	case s.Mix == mixMany:
		o.Quantity += random.Int64N(5) //nolint:gosec // no secret
	case s.Mix == mixReserve && n%2 == 0:
		o.ReserveFor = new(client.ReserveFor(reserveFor))
	}
	begun := time.Now()
	answer, err := s.house().deduct(ctx, n, s.SKU, o)
	if ctx.Err() == nil {
		if err == nil && !answer.OK() && answer.Status != 409 {
			err = answer.Err()
		}
		s.count(time.Since(begun), answer.OK(), err)
	}
}

func (s *sale) count(took time.Duration, accepted bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		s.now.Failed++
		return
	case accepted:
		s.now.Accepted++
	default:
		s.now.Refused++
	}
	s.latencies.Record(took)
}

// keepTime ends a point each second, and restocks.
func (s *sale) keepTime(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for second := 1; ; second++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s.endPoint()
		if s.Restock {
			s.restock(ctx, second)
		}
	}
}

func (s *sale) endPoint() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latencies.Count() > 0 {
		s.now.P50, s.now.P99 = milliseconds(s.latencies.Quantile(50)), milliseconds(s.latencies.Quantile(99))
	}
	s.points = append(s.points, s.now)
	s.points = s.points[max(0, len(s.points)-kept):]
	s.now = point{}
	s.latencies.Reset()
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// restock refills the SKU when a third is left. It retries a failure a second later.
func (s *sale) restock(ctx context.Context, second int) {
	views, err := s.store.Views(ctx, s.SKU)
	if err != nil || stock.Sum(views[s.SKU].Segments) > s.Stock/3 {
		return
	}
	_, _ = s.house().target().service.Restock(ctx, s.SKU, client.Restock{Ref: fmt.Sprintf("second-%d", second), Quantity: s.Stock})
}

// last returns the newest points, at most n.
func (s *sale) last(n int) []point {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]point{}, s.points[max(0, len(s.points)-n):]...)
}
