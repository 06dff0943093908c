package segments

import (
	"context"
	"slices"
	"time"

	"inventory/internal/stock"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/crowd"
)

// Entry is what some processes sold of a SKU of some segments: medians of its rounds.
type Entry struct {
	Segments  int       `json:"segments"`
	Processes int       `json:"processes"`
	Accepted  float64   `json:"accepted_per_second"`
	Spread    Spread    `json:"spread"`
	P50       float64   `json:"p50_ms"`
	P99       float64   `json:"p99_ms"`
	Shares    []float64 `json:"shares"` // of each process, of all rounds
	Jain      float64   `json:"jain"`   // of the processes, of the median round
	Merges    int64     `json:"merges"` // orders that took from several segments, of all rounds
	// What the lanes did.
	BatchOrders   float64 `json:"orders_per_batch"`
	LockWaitShare float64 `json:"lock_wait_share"` // of the lanes' time
	LockWaitMean  float64 `json:"lock_wait_mean_ms"`
	Unlocked      float64 `json:"unlocked_share"` // of batches, written under the guard alone
	// Ratios are those of rounds that followed one another.
	ToOneProcess float64 `json:"ratio_to_one_process"` // with as many segments
	ToOneSegment float64 `json:"ratio_to_one_segment"` // by as many processes

	rounds []float64 // accepted per second
	skus   []string
}

// Spread is the least and the most of the rounds.
type Spread struct {
	Least float64 `json:"min"`
	Most  float64 `json:"max"`
}

func spreadOf(rounds []float64) Spread { return Spread{slices.Min(rounds), slices.Max(rounds)} }

// contender is so many processes on so many segments, and what they sold.
type contender struct {
	segments, processes int
	rounds              [][]crowd.Sale // of each process
	skus                []string
}

// matrix lets all numbers of processes sell all numbers of segments. What was sold before an error is measured.
func (s *shop) matrix(ctx context.Context) ([]Entry, error) {
	var all []*contender
	for _, segments := range s.Scale.Segments {
		for _, processes := range s.Scale.Processes {
			all = append(all, &contender{segments: segments, processes: processes})
		}
	}
	for round := range s.Scale.Rounds {
		for _, c := range compare.InTurn(all, round) {
			sku, sales, err := s.sell(ctx, c.segments, s.jobs(c.processes, s.Scale.Callers, s.Scale.Window))
			if err != nil {
				return entries(all), err
			}
			c.rounds, c.skus = append(c.rounds, sales), append(c.skus, sku)
		}
	}
	return entries(all), nil
}

// jobs are those of some processes that share the callers.
func (s *shop) jobs(processes, callers int, window time.Duration) []crowd.Job {
	jobs := make([]crowd.Job, processes)
	for i := range jobs {
		jobs[i] = crowd.Job{
			DatabaseURL: s.DatabaseURL, RedisURL: s.RedisURL, Lock: s.Lock,
			Callers: (callers + i) / processes, Window: window,
		}
	}
	return jobs
}

// sell sells a fresh SKU, and writes down what callers were told. A sale that the end of ctx has cut short is an error.
func (s *shop) sell(ctx context.Context, segments int, jobs []crowd.Job) (sku string, sales []crowd.Sale, err error) {
	if sku, err = s.create(ctx, segments); err != nil {
		return "", nil, err
	}
	for i := range jobs {
		jobs[i].SKU = sku
	}
	sales, err = crowd.Compete(ctx, s.Worker, jobs[0].Window, jobs)
	s.writeDown(sku, sales, err)
	if err == nil {
		err = context.Cause(ctx)
	}
	return sku, sales, err
}

// writeDown notes what callers of several processes were told. Processes that told nothing may have sold anything.
func (s *shop) writeDown(sku string, sales []crowd.Sale, err error) {
	if err != nil {
		s.told.Add(sku, 0, stock.MaxStock)
		return
	}
	all := crowd.Together(sales)
	s.told.Add(sku, all.Counts.Accepted, all.Unheard)
}

// entries are the figures of contenders that came to their turn.
func entries(all []*contender) (out []Entry) {
	for _, c := range all {
		if len(c.rounds) > 0 {
			out = append(out, c.entry())
		}
	}
	base := func(segments, processes int) []float64 {
		i := slices.IndexFunc(out, func(e Entry) bool { return e.Segments == segments && e.Processes == processes })
		if i < 0 {
			return nil
		}
		return out[i].rounds
	}
	for i, e := range out {
		out[i].ToOneProcess = compare.PairedRatio(e.rounds, base(e.Segments, 1))
		out[i].ToOneSegment = compare.PairedRatio(e.rounds, base(1, e.Processes))
	}
	return out
}

// entry is the figures of one.
func (c *contender) entry() Entry {
	e := Entry{Segments: c.segments, Processes: c.processes, skus: c.skus}
	var p50, p99, jains []float64
	var lanes crowd.Lanes
	var laneSeconds float64
	sold := make([]int64, c.processes)
	for _, sales := range c.rounds {
		all := crowd.Together(sales)
		e.rounds = append(e.rounds, float64(all.Counts.Accepted)/all.Took.Seconds())
		p50, p99 = append(p50, compare.Milliseconds(all.Waits.Quantile(50))), append(p99, compare.Milliseconds(all.Waits.Quantile(99)))
		var each []int64
		for i, s := range sales {
			each = append(each, s.Counts.Accepted)
			sold[i] += s.Counts.Accepted
		}
		jains = append(jains, compare.Jain(each))
		lanes = lanes.Add(all.Lanes)
		laneSeconds += all.Took.Seconds() * float64(c.processes)
	}
	e.Accepted, e.Spread = compare.Median(e.rounds), spreadOf(e.rounds)
	e.P50, e.P99, e.Jain, e.Shares = compare.Median(p50), compare.Median(p99), compare.Median(jains), shares(sold)
	e.BatchOrders = compare.Ratio(float64(lanes.Orders), float64(lanes.Batches))
	e.LockWaitShare = compare.Ratio(lanes.LockSeconds, laneSeconds)
	e.LockWaitMean = 1000 * compare.Ratio(lanes.LockSeconds, float64(lanes.LockWaits))
	e.Unlocked = compare.Ratio(float64(lanes.Unlocked), float64(lanes.Batches))
	return e
}

// shares are the parts of the whole.
func shares(parts []int64) []float64 {
	var whole int64
	for _, n := range parts {
		whole += n
	}
	out := make([]float64, len(parts))
	for i, n := range parts {
		out[i] = compare.Ratio(float64(n), float64(whole))
	}
	return out
}
