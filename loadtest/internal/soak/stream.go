package soak

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"inventory/loadtest/internal/openloop"
)

var _ openloop.Stream = (*Plan)(nil)

// Request implements [openloop.Stream].
func (p *Plan) Request(i int, buffer []byte) openloop.Request {
	x := p.items[i]
	sku := "/v1/skus/" + p.SKU(x.sku)
	one := sku + "/deductions/" + p.id(x.concern)
	post := func(path, format string, values ...any) openloop.Request {
		return openloop.Request{Method: http.MethodPost, Path: path, Body: fmt.Appendf(buffer, format, values...)}
	}
	switch x.kind {
	case deduct, retry:
		return post(sku+"/deductions", `{"order_id":%q,"buyer_id":%q,"quantity":%d}`, p.id(x.concern), buyer(x.concern), x.units)
	case reserve:
		limit := holds
		if x.brief {
			limit = expires
		}
		return post(sku+"/deductions", `{"order_id":%q,"buyer_id":%q,"quantity":%d,"reserve_for":%q}`, p.id(x.concern), buyer(x.concern), x.units, limit)
	case order:
		return openloop.Request{Method: http.MethodPost, Path: "/v1/orders", Body: p.appendOrder(buffer, x.concern)}
	case commit:
		return openloop.Request{Method: http.MethodPost, Path: one + "/commit"}
	case cancel, giveBack:
		return openloop.Request{Method: http.MethodPost, Path: one + "/cancel"}
	case restock:
		return post(sku+"/restock", `{"ref":%q,"quantity":%d}`, p.id(x.concern), x.units)
	case adjust:
		return post(sku+"/adjust", `{"ref":%q,"quantity":%d,"reason":"counted"}`, p.id(x.concern), x.units)
	case resegment:
		return post(sku+"/resegment", `{"ref":%q,"segments":%d}`, p.id(x.concern), x.units)
	case readOrder:
		return openloop.Request{Method: http.MethodGet, Path: one}
	}
	return openloop.Request{Method: http.MethodGet, Path: sku}
}

// SKU is the name of a SKU, which the seed is in: a database is soaked with a seed once.
func (p *Plan) SKU(n uint32) string {
	return "soak-" + strconv.FormatUint(p.Seed, 36) + "-" + strconv.FormatUint(uint64(n), 10)
}

// id is the order id of a request, or the ref of a movement. It is drawn, as those of buyers are: ids in a row would lie side by
// side in an index.
func (p *Plan) id(i uint32) string {
	random := rand.NewPCG(p.Seed, uint64(i))
	var id uuid.UUID
	for n := range id {
		id[n] = byte(random.Uint64())
	}
	id[6] = id[6]&0x0f | 0x40 // version 4
	id[8] = id[8]&0x3f | 0x80 // of RFC 9562
	return id.String()
}

func buyer(i uint32) string { return "buyer-" + strconv.FormatUint(uint64(i%buyers), 10) }

// line is one of an order of several SKUs.
type line struct {
	sku   uint32
	units int64
}

// lines are those of an order: its own SKU and some others, whoever wants those, each once.
func (p *Plan) lines(i uint32) []line {
	random := rand.New(rand.NewPCG(p.Seed+1, uint64(i)))
	units := func() int64 { return 1 + random.Int64N(mostLineUnits) }
	all := []line{{p.items[i].sku, units()}}
	for range 1 + random.IntN(mostLines-1) {
		other := uint32(random.IntN(p.SKUs))
		if !slices.ContainsFunc(all, func(l line) bool { return l.sku == other }) {
			all = append(all, line{other, units()})
		}
	}
	return all
}

func (p *Plan) appendOrder(to []byte, i uint32) []byte {
	to = fmt.Appendf(to, `{"order_id":%q,"buyer_id":%q,"lines":[`, p.id(i), buyer(i))
	for n, l := range p.lines(i) {
		if n > 0 {
			to = append(to, ',')
		}
		to = fmt.Appendf(to, `{"sku":%q,"quantity":%d}`, p.SKU(l.sku), l.units)
	}
	return append(to, "]}"...)
}
