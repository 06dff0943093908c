package soak

import (
	"math/rand/v2"
	"time"

	"inventory/loadtest/internal/load"
)

// Work is what is done, and how often, as the flags say. All of it goes into the plan.
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

func (k kind) String() string {
	return [...]string{
		"deduct", "reserve", "order", "commit", "cancel", "return", "retry", "restock", "adjust", "resegment", "read_sku", "read_deduction",
	}[k]
}

// shares are how often a request is drawn to be of a kind, of a thousand; commits and cancels follow on reservations.
// Restocks put in what the others take in the mean.
func shares() [kinds]int {
	return [kinds]int{
		deduct: 500, reserve: 140, order: 80, giveBack: 40, retry: 40, restock: 60, adjust: 10, resegment: 3, readSKU: 90, readOrder: 37,
	}
}

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
	// settled is how long after an order something is done with it, at least: it should have been answered.
	settled = time.Second
	// remembered is how many deductions are known that something may be done with.
	remembered = 1024
)

// item is a request, kept small.
type item struct {
	kind    kind
	brief   bool   // a reservation that expires
	units   int16  // or the segments of a resegment
	sku     uint32 // the first of an order's
	concern uint32 // the request that asked first for what this one is about; its own number if that is this one
}

// Plan is what is sent, and when.
type Plan struct {
	Work
	At    []time.Duration
	items []item
}

// follower is a request that is due because of an earlier one.
type follower struct {
	at time.Duration
	item
}

// planner draws a plan.
type planner struct {
	*Plan
	random    *rand.Rand
	skus      *rand.Zipf
	followers []follower // in the order of their times
	known     []uint32   // deductions
}

// NewPlan draws the requests. It is a pure function of its argument.
func NewPlan(w Work) *Plan {
	random := rand.New(rand.NewPCG(load.SeedOf(w.Seed, "work"), 0))
	p := planner{
		Plan: &Plan{Work: w, At: load.Times(w.Seed, w.Spacing, w.phases())}, random: random,
		skus: rand.NewZipf(random, popularity, 1, uint64(w.SKUs-1)),
	}
	p.items = make([]item, 0, len(p.At))
	for i, at := range p.At {
		p.items = append(p.items, p.next(uint32(i), at))
	}
	return p.Plan
}

// next is what is due, or else something new.
func (p *planner) next(i uint32, at time.Duration) item {
	if len(p.followers) > 0 && p.followers[0].at <= at {
		due := p.followers[0].item
		p.followers = p.followers[1:]
		return due
	}
	x := item{kind: p.kind(), sku: uint32(p.skus.Uint64()), concern: i}
	switch x.kind {
	case deduct:
		x.units = p.upTo(mostUnits)
		p.remember(i)
	case reserve:
		x.units = p.upTo(mostUnits)
		x.brief = p.follow(x, at)
	case giveBack, retry, readOrder:
		return p.about(x, at)
	case restock:
		x.units = p.upTo(mostRestock)
	case adjust:
		x.units = p.upTo(mostAdjust)
		if p.random.IntN(2) == 0 {
			x.units = -x.units
		}
	case resegment:
		x.units = p.upTo(mostSegments)
	}
	return x
}

func (p *planner) upTo(most int) int16 { return int16(1 + p.random.IntN(most)) }

func (p *planner) kind() kind {
	all := shares()
	sum := 0
	for _, share := range all {
		sum += share
	}
	drawn := p.random.IntN(sum)
	for k, share := range all {
		if drawn < share {
			return kind(k)
		}
		drawn -= share
	}
	return deduct
}

// follow decides what becomes of a reservation: it is committed, cancelled, or left to expire.
func (p *planner) follow(x item, at time.Duration) (expires bool) {
	next := x
	switch drawn := p.random.IntN(10); {
	case drawn < 6:
		next.kind = commit
	case drawn < 8:
		next.kind = cancel
	default:
		return true
	}
	p.followers = append(p.followers, follower{at + after, next})
	return false
}

// remember keeps a deduction for later; it forgets another where there are enough.
func (p *planner) remember(i uint32) {
	if len(p.known) < remembered {
		p.known = append(p.known, i)
		return
	}
	p.known[p.random.IntN(remembered)] = i
}

// about makes a request be about a deduction of before, or, where there is none yet, about a SKU. What is given back is not
// asked for again.
func (p *planner) about(x item, at time.Duration) item {
	if len(p.known) == 0 {
		return item{kind: readSKU, sku: x.sku, concern: x.concern}
	}
	n := p.random.IntN(len(p.known))
	of := p.known[n]
	if p.At[of]+settled > at {
		return item{kind: readSKU, sku: x.sku, concern: x.concern}
	}
	if x.kind == giveBack {
		p.known[n] = p.known[len(p.known)-1]
		p.known = p.known[:len(p.known)-1]
	}
	return item{kind: x.kind, sku: p.items[of].sku, units: p.items[of].units, concern: of}
}
