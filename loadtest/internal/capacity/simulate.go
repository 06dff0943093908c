package capacity

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"

	"inventory/internal/latency"
	"inventory/loadtest/internal/compare"
	"inventory/loadtest/internal/experiment"
)

// line is the simulated system: orders that queue for a process, its writers, and the database.
type line struct {
	writers writers
	order   Cost    // of the process's processors: for each order before it waits, and for each write
	write   Cost    // of the database's: for each order of a write, and for the write
	wait    float64 // of a write, beyond processors
	cores   int     // of the process
	node    int     // processors of the database; 0: those of the process
	callers int     // that order again when they are answered; 0: orders come by themselves
	rate    float64 // at which they do, a second
}

// simulated is the length of a simulation; its beginning does not count.
const simulated, beginning = 3e6, 1e6

// simulation is a line under way. Its clock has microseconds.
type simulation struct {
	line
	random        *rand.Rand
	now           float64
	due           []happening // the next one last
	process, node processors
	waiting       []float64 // when each order came that waits for a writer
	writing       int       // writers at work
	waits         *latency.Histogram
	orders, wrote float64
}

// simulate simulates a line in virtual time, and returns the metrics of a window. It is a pure function.
func simulate(l line, seed uint64) experiment.Sample {
	s := &simulation{line: l, random: rand.New(rand.NewPCG(seed, 0)), process: make(processors, l.cores), waits: latency.New()} //nolint:gosec // it is to be repeated
	if s.node = s.process; l.node > 0 {
		s.node = make(processors, l.node)
	}
	for range l.callers {
		s.come()
	}
	if l.callers == 0 {
		s.arrive()
	}
	for len(s.due) > 0 && s.now < simulated {
		next := s.due[len(s.due)-1]
		s.due, s.now = s.due[:len(s.due)-1], next.at
		next.do()
	}
	return experiment.Sample{
		rate: float64(s.waits.Count()) / (simulated - beginning) * 1e6, batch: s.orders / s.wrote,
		median: compare.Quantile(s.waits, 50), slow: compare.Quantile(s.waits, 99),
	}
}

// arrive has one order come, and plans the next: arrivals are Poisson.
func (s *simulation) arrive() {
	s.come()
	s.after(s.random.ExpFloat64()*1e6/s.rate, s.arrive)
}

// come has the process read an order, and puts it into the queue.
func (s *simulation) come() {
	came := s.now
	s.use(s.process, s.order.Order*s.random.ExpFloat64(), func() {
		if s.writers.most == 0 {
			s.answer(came)
			return
		}
		s.waiting = append(s.waiting, came)
		s.begin()
	})
}

// begin starts writers, if orders wait for one, or enough for one more.
func (s *simulation) begin() {
	for s.writing < s.writers.most && len(s.waiting) > 0 && (s.writing == 0 || len(s.waiting) >= s.writers.enough) {
		n := s.writers.limit
		if s.writers.share > 0 {
			n = max(n, len(s.waiting)/s.writers.share)
		}
		n = min(n, len(s.waiting))
		taken := s.waiting[:n:n]
		s.waiting = s.waiting[n:]
		s.writing++
		s.use(s.process, s.order.Write, func() {
			s.use(s.node, s.write.Order*float64(n)+s.write.Write, func() {
				s.after(s.wait*s.random.ExpFloat64(), func() { s.wroteOut(taken) })
			})
		})
	}
}

// wroteOut answers the orders of a write.
func (s *simulation) wroteOut(taken []float64) {
	s.writing--
	if s.now > beginning {
		s.orders, s.wrote = s.orders+float64(len(taken)), s.wrote+1
	}
	for _, came := range taken {
		s.answer(came)
	}
	s.begin()
}

func (s *simulation) answer(came float64) {
	if s.now > beginning {
		s.waits.Record(time.Duration((s.now - came) * float64(time.Microsecond)))
	}
	if s.callers > 0 {
		s.come()
	}
}

// processors are the processors of a machine, by the time at which each is free. Work is done in order of arrival.
type processors []float64

// use keeps a processor busy for that long.
func (s *simulation) use(p processors, long float64, then func()) {
	first := slices.Index(p, slices.Min(p))
	p[first] = max(s.now, p[first]) + long
	s.after(p[first]-s.now, then)
}

func (s *simulation) after(long float64, do func()) {
	h := happening{s.now + long, do}
	i, _ := slices.BinarySearchFunc(s.due, h, func(a, b happening) int { return cmp.Compare(b.at, a.at) })
	s.due = slices.Insert(s.due, i, h)
}

// happening is something that is due.
type happening struct {
	at float64
	do func()
}
