package soak

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"inventory/loadtest/internal/history"
	"inventory/loadtest/internal/load"
)

// operations are what is asked for.
func (p *Plan) operations() []history.Operation {
	all := make([]history.Operation, len(p.items))
	for i := range all {
		all[i] = p.operation(i)
	}
	return all
}

// operation is the i-th. What is about an earlier one has its id.
func (p *Plan) operation(i int) history.Operation {
	x := p.items[i]
	o := history.Operation{Kind: x.kind.operation(), ID: p.id(x.concern), Lines: []history.Line{{SKU: p.SKU(x.sku), Quantity: int64(x.units)}}}
	if o.Kind.Takes() {
		o.Buyer = "buyer-" + strconv.FormatUint(uint64(x.concern%buyers), 10)
	}
	switch x.kind {
	case reserve:
		o.ReserveFor = holds
		if x.brief {
			o.ReserveFor = expires
		}
	case order:
		o.Lines = p.lines(uint32(i))
	}
	return o
}

// operation is the kind as the service has it.
func (k kind) operation() history.Kind {
	return [...]history.Kind{
		deduct: history.Deduct, reserve: history.Deduct, retry: history.Deduct, order: history.Order, commit: history.Commit,
		cancel: history.Cancel, giveBack: history.Cancel, restock: history.Restock, adjust: history.Adjust, resegment: history.Resegment,
		readSKU: history.Look, readOrder: history.Read,
	}[k]
}

// prefix begins the names of SKUs, which the seed is in: a database is soaked with a seed once.
func (w Work) prefix() string { return "soak-" + strconv.FormatUint(w.Seed, 36) + "-" }

// SKU is the name of a SKU.
func (w Work) SKU(n uint32) string { return w.prefix() + strconv.FormatUint(uint64(n), 10) }

// id is the order id of a request, or the ref of a movement.
func (p *Plan) id(i uint32) string { return load.NewID(rand.New(rand.NewPCG(p.Seed, uint64(i)))) }

// lines are those of an order: its own SKU and some others, whoever wants those, each once.
func (p *Plan) lines(i uint32) []history.Line {
	random := rand.New(rand.NewPCG(p.Seed+1, uint64(i)))
	units := func() int64 { return 1 + random.Int64N(mostLineUnits) }
	all := []history.Line{{SKU: p.SKU(p.items[i].sku), Quantity: units()}}
	for range 1 + random.IntN(mostLines-1) {
		other := p.SKU(uint32(random.IntN(p.SKUs)))
		if !slices.ContainsFunc(all, func(l history.Line) bool { return l.SKU == other }) {
			all = append(all, history.Line{SKU: other, Quantity: units()})
		}
	}
	return all
}

// How long reservations last.
const (
	holds   = 10 * time.Minute // one that is to be committed or cancelled
	expires = time.Second      // one that is not
)
