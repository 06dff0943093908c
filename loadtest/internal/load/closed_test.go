package load

import (
	"context"
	"errors"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"inventory/internal/api"
	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// TestCrowdsCountWhatBecameOfOrders has three callers, each of which has an answer every 2 ms of a window of 21.
func TestCrowdsCountWhatBecameOfOrders(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		var asked atomic.Int64
		sold, err := Buy(t.Context(), "hot", 3, 0, 21*time.Millisecond, func(context.Context, Order) (Outcome, error) {
			time.Sleep(2 * time.Millisecond)
			return []Outcome{Accepted, Refused, GaveUp}[asked.Add(1)%3], nil
		})
		want := Counts{Accepted: 11, Refused: 11, GaveUp: 11} // of which the last one comes after the window
		if err != nil || sold.Counts != want || sold.Waits.Count() != 22 || sold.InTime != 10 || sold.Window != 21*time.Millisecond || sold.Took != 22*time.Millisecond {
			t.Errorf("%v: %+v of %d", err, sold, asked.Load())
		}
	})
	_, err := Buy(t.Context(), "hot", 3, 0, busytest.Patience, func(context.Context, Order) (Outcome, error) { return Refused, errors.New("oh") })
	if err == nil || err.Error() != "3 of 3 callers failed, one with: oh" {
		t.Error(err)
	}
}

// TestAWarmUpCountsForTheAuditAlone has one caller, which has an answer every 30 ms.
func TestAWarmUpCountsForTheAuditAlone(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		for became, want := range map[Outcome]Sale{
			Accepted: {Counts: Counts{Accepted: 7}, InTime: 3}, // the last answer comes after the window
			GaveUp:   {Counts: Counts{GaveUp: 7}},
		} {
			sold, err := Buy(t.Context(), "hot", 1, 100*time.Millisecond, 100*time.Millisecond, func(context.Context, Order) (Outcome, error) {
				time.Sleep(30 * time.Millisecond)
				return became, nil
			})
			if err != nil || sold.Counts != want.Counts || sold.InTime != want.InTime || sold.Waits.Count() != 4 {
				t.Errorf("%v: %+v, %d waits", err, sold, sold.Waits.Count())
			}
		}
	})
}

// TestCallerSentAwayIsNotHeard ends a sale when every caller has bought twice and orders for the third time.
func TestCallerSentAwayIsNotHeard(t *testing.T) {
	t.Parallel()
	const callers = 3
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int64
	sold, err := Buy(ctx, "hot", callers, 0, time.Hour, func(ctx context.Context, o Order) (Outcome, error) {
		switch n := asked.Add(1); {
		case n <= 2*callers:
			return Accepted, nil
		case n == 3*callers:
			cancel()
		}
		<-ctx.Done()
		return Refused, ctx.Err()
	})
	if err != nil || sold.Counts[Accepted] != 2*callers || sold.Unanswered != callers || asked.Load() != 3*callers {
		t.Errorf("%v: %+v of %d", err, sold, asked.Load())
	}
	if all := Together([]Sale{sold, sold}); all.Unanswered != 2*callers {
		t.Errorf("%+v", all)
	}
}

func TestPatientCallersLearnWhatHappened(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) { patientCallersLearnWhatHappened(t) })
}

// patientCallersLearnWhatHappened runs in virtual time: the first answer is late, and the next one comes after a pause.
func patientCallersLearnWhatHappened(t *testing.T) {
	o := Order{End: time.Now()}
	var asked int
	sell := Patient(func(context.Context, Order) (Outcome, error) {
		if asked++; asked == 1 {
			return Refused, &stock.Error{Code: stock.CodeUnavailable}
		}
		return Accepted, nil
	})
	if became, err := sell(t.Context(), o); became != Accepted || err != nil || asked != 2 {
		t.Error(became, err, asked)
	}
	for code, fails := range map[stock.Code]bool{stock.CodeOverloaded: false, stock.CodeUnknownSKU: true} {
		sell := Patient(func(context.Context, Order) (Outcome, error) { return Refused, &stock.Error{Code: code} })
		if became, err := sell(t.Context(), o); became != Refused || (err != nil) != fails {
			t.Error(code, became, err)
		}
	}
}

func TestMetricsTellWhatLanesDid(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewRegistry()
	m := api.NewMetrics(registry)
	m.Note(selling.Activity{Kind: selling.BatchWritten, Count: 30, Took: time.Millisecond, Locked: true})
	m.Note(selling.Activity{Kind: selling.BatchWritten, Count: 10, Took: time.Millisecond})
	server := httptest.NewServer(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	defer server.Close()
	got, err := ReadLanes(t.Context(), server.URL)
	if want := (Lanes{Batches: 2, Orders: 40, Unlocked: 1}); err != nil || got != want {
		t.Errorf("%v: %+v instead of %+v", err, got, want)
	}
}
