package soak

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// Work is the workload, as the flags say.
type Work struct {
	Length   time.Duration `name:"for" help:"How long work is sent, 1s to 168h. Default: ${default}." default:"10m" placeholder:"DURATION" least:"1s" most:"168h"`
	Rate     float64       `help:"Requests a second, 1 to 10000. Default: ${default}." default:"200" placeholder:"RATE" least:"1" most:"10000"`
	SKUs     int           `name:"skus" help:"SKUs, 2 to 100000, of which some are wanted far more often than others. Default: ${default}." default:"200" placeholder:"NUMBER" least:"2" most:"100000"`
	Stock    int64         `help:"Units of each SKU in the beginning, 0 to 1000000. As much as is taken is put back in, in the mean. Default: ${default}." default:"50" placeholder:"UNITS" least:"0" most:"1000000"`
	Segments int           `help:"Segments of each SKU in the beginning, 1 to 1024. Default: ${default}." default:"8" placeholder:"NUMBER" least:"1" most:"1024"`
	Seed     uint64        `help:"What the requests and their times follow from; 0 draws one. A database is soaked with a seed once. Default: ${default}." default:"0" placeholder:"NUMBER"`
	Spacing  load.Spacing  `name:"arrivals" help:"How requests lie in time: poisson, as people come, or even. Default: ${default}." default:"poisson" enum:"poisson,even" placeholder:"KIND"`
}

// Expected is how many requests that is in the mean.
func (w Work) Expected() float64 { return load.Expected(w.phases()) }

func (w Work) phases() []load.Phase {
	return []load.Phase{{From: w.Rate, To: w.Rate, Length: w.Length}}
}

// kind is a kind of request.
type kind uint8

// The kinds.
const (
	deduct kind = iota
	reserve
	order     // of several SKUs
	commit    // of a reservation
	cancel    // of a reservation
	giveBack  // what was deducted: a return
	retry     // of a deduction
	restock   //
	adjust    //
	resegment //
	readSKU   //
	readOrder // a deduction
	kinds
)

// work is a kind of request: its name, its operation, and how many of a thousand it is. Commits and cancels follow reservations.
// Restocks put in what the others take in the mean.
type work struct {
	name  string
	asks  history.Kind
	share int
}

func works() [kinds]work {
	return [kinds]work{
		deduct:    {"deduct", history.Deduct, 500},
		reserve:   {"reserve", history.Deduct, 140},
		order:     {"order", history.Order, 80},
		commit:    {"commit", history.Commit, 0},
		cancel:    {"cancel", history.Cancel, 0},
		giveBack:  {"return", history.Cancel, 40},
		retry:     {"retry", history.Deduct, 40},
		restock:   {"restock", history.Restock, 60},
		adjust:    {"adjust", history.Adjust, 10},
		resegment: {"resegment", history.Resegment, 3},
		readSKU:   {"read_sku", history.Look, 90},
		readOrder: {"read_deduction", history.Read, 37},
	}
}

func (k kind) String() string { return works()[k].name }

const (
	mostUnits     = 5  // of a deduction or a reservation
	mostLineUnits = 3  // of a line of an order
	mostLines     = 4  // of an order
	mostRestock   = 70 // units
	mostAdjust    = 5  // units, up or down
	mostSegments  = 16 // of a SKU that is resegmented
	buyers        = 5000
	popularity    = 1.1 // exponent of Zipf's law: how much more the first SKUs are wanted than the others
)

const (
	// after is how long after a reservation it is committed or cancelled.
	after = 2 * time.Second
	// settled is the least time between an order and a request about it: the order should be answered by then.
	settled = time.Second
	// remembered is how many deductions are kept for later requests.
	remembered = 1024
)

// How long reservations last.
const (
	holds   = 10 * time.Minute // one that is to be committed or cancelled
	expires = time.Second      // one that is not
)

// Plan is what is sent, and when.
type Plan struct {
	Work
	At         []time.Duration
	operations []history.Operation
	kinds      []kind // of each
}

// follower is a request that is due because of an earlier one.
type follower struct {
	at   time.Duration
	kind kind
	history.Operation
}

// planner draws a plan.
type planner struct {
	*Plan
	random    *rand.Rand
	skus      *rand.Zipf
	followers []follower // in the order of their times
	known     []int      // deductions, by their numbers
}

// NewPlan draws the requests. It is a pure function of its argument.
func NewPlan(w Work) *Plan {
	random := rand.New(rand.NewPCG(load.SeedOf(w.Seed, "work"), 0))
	p := planner{
		Plan: &Plan{Work: w, At: load.Times(w.Seed, w.Spacing, w.phases())}, random: random,
		skus: rand.NewZipf(random, popularity, 1, uint64(w.SKUs-1)),
	}
	p.operations = make([]history.Operation, 0, len(p.At))
	for i, at := range p.At {
		k, o := p.next(i, at)
		p.kinds, p.operations = append(p.kinds, k), append(p.operations, o)
	}
	return p.Plan
}

// next is a follower that is due, or else a new request.
func (p *planner) next(i int, at time.Duration) (kind, history.Operation) {
	if len(p.followers) > 0 && p.followers[0].at <= at {
		due := p.followers[0]
		p.followers = p.followers[1:]
		return due.kind, due.Operation
	}
	k, sku := p.kind(), int(p.skus.Uint64())
	// An id has a source of its own, as the other lines of an order have.
	o := history.Operation{Kind: works()[k].asks, ID: load.NewID(rand.New(rand.NewPCG(p.Seed, uint64(i)))), Lines: []history.Line{{SKU: p.SKU(sku)}}}
	if o.Kind.Takes() {
		o.Buyer = "buyer-" + strconv.Itoa(i%buyers)
	}
	units := &o.Lines[0].Quantity
	switch k {
	case deduct:
		*units = p.upTo(mostUnits)
		p.remember(i)
	case reserve:
		*units = p.upTo(mostUnits)
		o.ReserveFor = p.follow(o, at)
	case order:
		o.Lines = p.lines(uint64(i), o.Lines[0].SKU)
	case giveBack, retry, readOrder:
		return p.about(k, o, at)
	case restock:
		*units = p.upTo(mostRestock)
	case adjust:
		*units = p.upTo(mostAdjust)
		if p.random.IntN(2) == 0 {
			*units = -*units
		}
	case resegment:
		*units = p.upTo(mostSegments)
	}
	return k, o
}

func (p *planner) upTo(most int) int64 { return int64(1 + p.random.IntN(most)) }

func (p *planner) kind() (drawn kind) {
	left := p.random.IntN(1000)
	for k, w := range works() {
		if left >= 0 && left < w.share {
			drawn = kind(k)
		}
		left -= w.share
	}
	return drawn
}

// follow decides what becomes of a reservation, and so how long it lasts: it is committed, cancelled, or left to expire.
func (p *planner) follow(o history.Operation, at time.Duration) time.Duration {
	next := commit
	switch drawn := p.random.IntN(10); {
	case drawn >= 8:
		return expires
	case drawn >= 6:
		next = cancel
	}
	o.Kind, o.Buyer = works()[next].asks, ""
	p.followers = append(p.followers, follower{at + after, next, o})
	return holds
}

// remember keeps a deduction for later; it forgets another where there are enough.
func (p *planner) remember(i int) {
	if len(p.known) < remembered {
		p.known = append(p.known, i)
		return
	}
	p.known[p.random.IntN(remembered)] = i
}

// about makes a request about an earlier deduction, or about a SKU where there is none yet. A returned deduction is not repeated.
func (p *planner) about(k kind, o history.Operation, at time.Duration) (kind, history.Operation) {
	look := history.Operation{Kind: history.Look, ID: o.ID, Lines: o.Lines}
	if len(p.known) == 0 {
		return readSKU, look
	}
	n := p.random.IntN(len(p.known))
	of := p.known[n]
	if p.At[of]+settled > at {
		return readSKU, look
	}
	if k == giveBack {
		p.known[n] = p.known[len(p.known)-1]
		p.known = p.known[:len(p.known)-1]
	}
	o = p.operations[of]
	if k != retry {
		o.Kind, o.Buyer = works()[k].asks, ""
	}
	return k, o
}

// lines are the lines of an order: its own SKU and some others by chance, each once.
func (p *planner) lines(i uint64, sku string) []history.Line {
	random := rand.New(rand.NewPCG(p.Seed+1, i))
	units := func() int64 { return 1 + random.Int64N(mostLineUnits) }
	all := []history.Line{{SKU: sku, Quantity: units()}}
	for range 1 + random.IntN(mostLines-1) {
		other := p.SKU(random.IntN(p.SKUs))
		if !slices.ContainsFunc(all, func(l history.Line) bool { return l.SKU == other }) {
			all = append(all, history.Line{SKU: other, Quantity: units()})
		}
	}
	return all
}

// prefix begins the names of SKUs, which the seed is in: a database is soaked with a seed once.
func (w Work) prefix() string { return "soak-" + strconv.FormatUint(w.Seed, 36) + "-" }

// SKU is the name of a SKU.
func (w Work) SKU(n int) string { return w.prefix() + strconv.Itoa(n) }
