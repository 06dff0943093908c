package api_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"inventory/internal/api"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// endlessStore accepts every order, and does nothing else.
type endlessStore struct{ brokenStore }

func (endlessStore) Views(_ context.Context, skus ...string) (map[string]stock.View, error) {
	views := make(map[string]stock.View)
	for _, sku := range skus {
		views[sku] = stock.View{Layout: 1, Segments: []int64{1 << 30}}
	}
	return views, nil
}

func (endlessStore) Now() time.Time { return time.Now() }

func (endlessStore) Clock(string) (earliest, latest time.Time) { return time.Now(), time.Now() }

func (endlessStore) Deduct(_ context.Context, b stock.Batch) (stock.BatchResult, error) {
	result := stock.BatchResult{Available: 1 << 30}
	for _, o := range b.Orders {
		result.Outcomes = append(result.Outcomes, stock.AcceptedOutcome(b.SKU, o, b.At))
	}
	return result, nil
}

// discarded takes an answer and keeps its status.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header         { return d.header }
func (d *discarded) WriteHeader(status int)      { d.status = status }
func (d *discarded) Write(b []byte) (int, error) { return len(b), nil }

// allowedAllocations of an order without a network, alone in its batch. net/http adds those of a request.
const allowedAllocations = 28

// BenchmarkDeductionHandler answers orders without a network, and fails if one allocates more than it may.
//
//	go test -run '^$' -bench DeductionHandler ./internal/api
func BenchmarkDeductionHandler(b *testing.B) {
	service := selling.NewService(selling.Config{Store: endlessStore{}})
	handler := api.New(api.Config{
		Service: service, Metrics: api.NewMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	})
	b.Cleanup(func() {
		if err := service.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "/v1/skus/hot/deductions", nil)
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	body, answer, n := strings.NewReader(""), &discarded{header: make(http.Header)}, 0
	request.Body = io.NopCloser(body)
	order := func() {
		n++
		body.Reset(`{"order_id":"order-` + strconv.Itoa(n) + `","quantity":1}`)
		request.ContentLength = int64(body.Len())
		clear(answer.header)
		handler.ServeHTTP(answer, request)
		if answer.status != http.StatusCreated {
			b.Fatalf("order %d: status %d", n, answer.status)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		order()
	}
	if each := testing.AllocsPerRun(1000, order); each > allowedAllocations {
		b.Errorf("an order allocates %v times, %d are allowed", each, allowedAllocations)
	}
}
