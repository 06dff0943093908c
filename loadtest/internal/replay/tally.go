package replay

import (
	"sync"
	"time"

	"inventory/internal/latency"
)

// Outcome is what became of a request.
type Outcome int

// The outcomes.
const (
	Accepted Outcome = iota
	SoldOut
	InsufficientStock
	Restocked
	Failed // no answer, or one that no request should get
	outcomes
)

func (o Outcome) String() string {
	return [...]string{"accepted", "sold out", "insufficient stock", "restocked", "errors"}[o]
}

// Tally is what the service has answered.
type Tally struct {
	Elapsed     time.Duration // from the first request to the last answer
	Kinds       [outcomes]Kind
	Units       []Units // of each SKU of the plan
	FirstError  error   // of the first request that failed
	Interrupted bool    // requests that are in no kind were not sent, or nobody waited for their answers

	mu sync.Mutex
}

// Kind is what the requests of one outcome have in common.
type Kind struct {
	Requests int
	Lines    int
	Latency  *latency.Histogram
}

// Units are those of one SKU, as answered.
type Units struct{ Sold, Restocked, UnheardSold, UnheardRestocked int64 }

func newTally(skus int) *Tally {
	t := &Tally{Units: make([]Units, skus)}
	for i := range t.Kinds {
		t.Kinds[i].Latency = latency.New()
	}
	return t
}

// count counts the answer to a request. A request that was never sent took no time and has no latency.
func (t *Tally) count(q Request, outcome Outcome, took time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	kind := &t.Kinds[outcome]
	kind.Requests++
	kind.Lines += q.Lines
	if took > 0 {
		kind.Latency.Record(took)
	}
	if outcome == Failed && t.FirstError == nil {
		t.FirstError = err
	}
	for _, item := range q.Items {
		switch outcome {
		case Accepted:
			t.Units[item.SKU].Sold += item.Quantity
		case Restocked:
			t.Units[item.SKU].Restocked += item.Quantity
		}
	}
}

// unheard notes a request whose answer nobody waited for: it may have done what it was to do.
func (t *Tally) unheard(q Request) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, item := range q.Items {
		if q.IsReturn {
			t.Units[item.SKU].UnheardRestocked += item.Quantity
		} else {
			t.Units[item.SKU].UnheardSold += item.Quantity
		}
	}
}

// Sum adds up the units of all SKUs.
func (t *Tally) Sum() (sum Units) {
	for _, u := range t.Units {
		sum.Sold += u.Sold
		sum.Restocked += u.Restocked
	}
	return sum
}

// All is what the requests of every outcome have in common.
func (t *Tally) All() Kind {
	all := Kind{Latency: latency.New()}
	for _, kind := range t.Kinds {
		all.Requests += kind.Requests
		all.Lines += kind.Lines
		all.Latency.Add(kind.Latency)
	}
	return all
}
