package main

import (
	"context"
	"fmt"
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

// sale is a flash sale: many buyers, one order each, all at once.
type sale struct {
	sku      string
	services []*client.Service // buyers are spread over them
	demo     demoCommand

	mu              sync.Mutex
	summed          saleSummary
	smallestRefused int64 // 0: no order was refused
	latencies       *latency.Histogram
}

// saleSummary is the result of a sale. Its fields and their names are the demo's JSON.
type saleSummary struct {
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
	left              int64
	lastError         error
}

type latencyMS struct {
	P50 float64 `json:"p50"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func newSale(sku string, services []*client.Service, demo demoCommand) *sale {
	return &sale{
		sku: sku, services: services, demo: demo,
		latencies: latency.New(),
		summed:    saleSummary{Stock: demo.Stock, Segments: demo.Segments, Requests: demo.Buyers},
	}
}

// run sends all buyers. It fails only when ctx ends.
func (s *sale) run(ctx context.Context, shown *progress.Progress) error {
	start := time.Now()
	buyers, sending := errgroup.WithContext(ctx)
	buyers.SetLimit(s.demo.Concurrency)
	for n := range s.demo.Buyers {
		if sending.Err() != nil {
			break
		}
		buyers.Go(func() error {
			s.buy(sending, n)
			shown.Add()
			return sending.Err()
		})
	}
	err := buyers.Wait()
	shown.Finish()
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("the sale was interrupted: %w", err)
	}
	s.summed.ElapsedSeconds = time.Since(start).Seconds()
	return nil
}

// buy is one buyer: it repeats an order until there is a final answer.
func (s *sale) buy(ctx context.Context, n int) {
	span := s.demo.Quantity.most - s.demo.Quantity.least + 1
	buyer := fmt.Sprintf("buyer-%07d", n)
	order := client.NewDeduction{
		OrderID: fmt.Sprintf("order-%07d", n), BuyerID: &buyer,
		Quantity: s.demo.Quantity.least + rand.Int64N(span), //nolint:gosec // no secret
	}
	start := time.Now()
	answer, err := s.services[n%len(s.services)].Deduct(ctx, s.sku, order)
	s.count(order, answer, err, time.Since(start))
}

func (s *sale) count(order client.NewDeduction, answer client.Answer[client.Deduction], err error, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := &s.summed
	s.latencies.Record(took)
	switch {
	case err == nil && answer.OK():
		sum.Accepted++
		sum.UnitsSold += answer.Body.Quantity
		return
	case err == nil && answer.Problem != nil && answer.Problem.Code == client.SoldOut:
		sum.SoldOut++
	case err == nil && answer.Problem != nil && answer.Problem.Code == client.InsufficientStock:
		sum.InsufficientStock++
	default:
		sum.Errors++
		if sum.lastError = err; err == nil {
			sum.lastError = answer.Err()
		}
		return
	}
	if s.smallestRefused == 0 || order.Quantity < s.smallestRefused {
		s.smallestRefused = order.Quantity
	}
}

// summary closes the sale with the audited balance of its SKU.
func (s *sale) summary(balance stock.Balance) saleSummary {
	sum := s.summed
	sum.left = balance.Available
	sum.Oversold = max(0, balance.Committed+balance.Reserved-balance.Initial-balance.Restocked)
	if s.smallestRefused > 0 && s.smallestRefused <= balance.Available {
		sum.Stranded = balance.Available
	}
	sum.Merges = balance.Merges
	sum.AcceptedPerSecond = float64(sum.Accepted) / sum.ElapsedSeconds
	sum.LatencyMS = latencyMS{
		milliseconds(s.latencies.Quantile(50)), milliseconds(s.latencies.Quantile(99)), milliseconds(s.latencies.Max()),
	}
	// Every order with an answer is in the rows. A buyer that got no answer may have a row anyway.
	matches := balance.Committed == sum.UnitsSold || (sum.Errors > 0 && balance.Committed > sum.UnitsSold)
	sum.AuditOK = balance.OK() && matches && sum.Oversold == 0
	return sum
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// print prints the summary for a person.
func (s saleSummary) print(to cli.Streams, sku string) {
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
`, sku, cli.Count(s.Stock, "unit"), cli.Count(s.Segments, "segment"), cli.Count(s.Requests, "buyer"), s.Accepted, cli.Count(s.UnitsSold, "unit"), s.SoldOut, s.InsufficientStock, s.Errors, failed,
		s.left, s.Oversold, s.Stranded, s.Merges, s.ElapsedSeconds, s.AcceptedPerSecond,
		s.LatencyMS.P50, s.LatencyMS.P99, s.LatencyMS.Max, verdict)
}
