package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"inventory/internal/api/client"
	"inventory/internal/cli"
	"inventory/internal/latency"
	"inventory/internal/progress"
	"inventory/internal/stock"
)

// sale is a flash sale: many buyers, one order each, all at once. Its exported fields are the demo's JSON.
type sale struct {
	Stock             int64     `json:"stock"`
	Segments          int       `json:"segments"`
	Requests          int       `json:"requests"`
	Accepted          int64     `json:"accepted"`
	UnitsSold         int64     `json:"units_sold"`
	SoldOut           int64     `json:"sold_out"`
	InsufficientStock int64     `json:"insufficient_stock"`
	Errors            int64     `json:"errors"`
	Oversold          int64     `json:"oversold"`
	Stranded          int64     `json:"stranded"`
	Merges            int64     `json:"merges"`
	ElapsedSeconds    float64   `json:"elapsed_seconds"`
	AcceptedPerSecond float64   `json:"accepted_per_second"`
	LatencyMS         latencyMS `json:"latency_ms"`
	AuditOK           bool      `json:"audit_ok"`

	sku      string
	services []*client.Service // buyers are spread over them
	quantity quantity          // of each order

	mu              sync.Mutex
	latencies       *latency.Histogram
	smallestRefused int64 // 0: no order was refused
	lastError       error
	left            int64
}

type latencyMS struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// run creates the SKU, and sends all buyers. It fails only when that fails, or when ctx ends.
func (s *sale) run(ctx context.Context, concurrency int, to io.Writer) error {
	created, err := s.services[0].CreateSKU(ctx, s.sku, client.NewSKU{Stock: s.Stock, Segments: &s.Segments})
	if err == nil {
		err = created.Err()
	}
	if err != nil {
		return fmt.Errorf("create SKU %s: %w", s.sku, err)
	}
	shown, start := progress.New(to, "buyers served", s.Requests), time.Now()
	var buyers errgroup.Group
	buyers.SetLimit(concurrency)
	for n := 0; n < s.Requests && ctx.Err() == nil; n++ {
		buyers.Go(func() error {
			s.buy(ctx, n)
			shown.Add()
			return nil
		})
	}
	_ = buyers.Wait() // none returns an error
	shown.Finish()
	s.ElapsedSeconds = time.Since(start).Seconds()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the sale was interrupted: %w", err)
	}
	return nil
}

// buy is one buyer: it repeats an order until there is a final answer.
func (s *sale) buy(ctx context.Context, n int) {
	span := s.quantity.most - s.quantity.least + 1
	buyer := fmt.Sprintf("buyer-%07d", n)
	order := client.NewDeduction{
		OrderID: fmt.Sprintf("order-%07d", n), BuyerID: &buyer,
		Quantity: s.quantity.least + rand.Int64N(span), //nolint:gosec // no secret
	}
	start := time.Now()
	answer, err := s.services[n%len(s.services)].Deduct(ctx, s.sku, order)
	s.count(order, answer, err, time.Since(start))
}

func (s *sale) count(order client.NewDeduction, answer client.Answer[client.Deduction], err error, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latencies.Record(took)
	switch {
	case err == nil && answer.OK():
		s.Accepted++
		s.UnitsSold += answer.Body.Quantity
		return
	case err == nil && answer.Problem != nil && answer.Problem.Code == client.SoldOut:
		s.SoldOut++
	case err == nil && answer.Problem != nil && answer.Problem.Code == client.InsufficientStock:
		s.InsufficientStock++
	default:
		s.Errors++
		if s.lastError = err; err == nil {
			s.lastError = answer.Err()
		}
		return
	}
	if s.smallestRefused == 0 || order.Quantity < s.smallestRefused {
		s.smallestRefused = order.Quantity
	}
}

// compare compares the buyers' answers with the audited balance of the SKU.
func (s *sale) compare(balance stock.Balance) {
	s.left, s.Merges = balance.Available, balance.Merges
	s.Oversold = max(0, balance.Committed+balance.Reserved-balance.Initial-balance.Restocked)
	if s.smallestRefused > 0 && s.smallestRefused <= balance.Available {
		s.Stranded = balance.Available
	}
	s.AcceptedPerSecond = float64(s.Accepted) / s.ElapsedSeconds
	s.LatencyMS = latencyMS{
		milliseconds(s.latencies.Quantile(50)), milliseconds(s.latencies.Quantile(99)), milliseconds(s.latencies.Max()),
	}
	// Every order with an answer is in the rows. A buyer that got no answer may have a row anyway.
	matches := balance.Committed == s.UnitsSold || (s.Errors > 0 && balance.Committed > s.UnitsSold)
	s.AuditOK = balance.OK() && matches && s.Oversold == 0
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// print prints the summary for a person.
func (s *sale) print(to cli.Streams) {
	verdict := "OK: every unit adds up"
	if !s.AuditOK {
		verdict = "FAILED"
	}
	failed := ""
	if s.lastError != nil {
		failed = fmt.Sprintf(" (the last one: %v)", s.lastError)
	}
	to.Printf(`
Flash sale of %s: %s in %s, %s

  accepted            %8d orders, %s
  sold out            %8d
  insufficient stock  %8d
  errors              %8d%s

  units left          %8d
  oversold            %8d
  stranded            %8d
  merges              %8d

  time                %8.2f s, %.0f accepted orders a second
  latency             %8.1f ms median, %.1f ms p99, %.1f ms longest

  audit               %s
`, s.sku, cli.Count(s.Stock, "unit"), cli.Count(s.Segments, "segment"), cli.Count(s.Requests, "buyer"), s.Accepted, cli.Count(s.UnitsSold, "unit"), s.SoldOut, s.InsufficientStock, s.Errors, failed,
		s.left, s.Oversold, s.Stranded, s.Merges, s.ElapsedSeconds, s.AcceptedPerSecond,
		s.LatencyMS.P50, s.LatencyMS.P99, s.LatencyMS.Max, verdict)
}
