package openloop

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"
	"strconv"

	"github.com/google/uuid"
)

// OrdersConfig says what buyers ask for. All of it goes into the stream.
type OrdersConfig struct {
	Seed        uint64
	SKU         string
	Least, Most int64 // units of an order
	Buyers      int   // that orders are drawn from; 0: each order has a buyer of its own
	// Retries is the share, 0 to 1, of the i-th request's kind that repeat an order of before; nil: none does.
	Retries func(i int) float64
}

// Orders is a stream of orders for units of one SKU: new ones, and retries, which ask for the very order of an earlier
// request again, as a buyer does who has not heard or does not believe what became of it.
type Orders struct {
	path string
	all  []order
}

// order is a request, kept small.
type order struct {
	id       uuid.UUID
	buyer    uint32
	quantity uint32
	first    uint32 // the request that asked for this order first; its own number if that is this one
}

// NewOrders draws n requests. It is a pure function of its arguments.
func NewOrders(c OrdersConfig, n int) *Orders {
	o := &Orders{path: "/v1/skus/" + c.SKU + "/deductions", all: make([]order, n)}
	random := newRandom(c.Seed, "orders")
	var fresh []uint32
	for i := range o.all {
		if c.Retries != nil && len(fresh) > 0 && random.Float64() < c.Retries(i) {
			o.all[i] = o.all[fresh[random.IntN(len(fresh))]]
			continue
		}
		o.all[i] = newOrder(random, c, i, len(fresh))
		fresh = append(fresh, uint32(i))
	}
	return o
}

// newOrder draws an order that nobody has asked for before.
func newOrder(random *rand.Rand, c OrdersConfig, i, fresh int) order {
	o := order{first: uint32(i), buyer: uint32(fresh), quantity: uint32(c.Least + random.Int64N(c.Most-c.Least+1))}
	if c.Buyers > 0 {
		o.buyer = uint32(random.IntN(c.Buyers))
	}
	binary.BigEndian.PutUint64(o.id[:8], random.Uint64())
	binary.BigEndian.PutUint64(o.id[8:], random.Uint64())
	o.id[6] = o.id[6]&0x0f | 0x40 // version 4
	o.id[8] = o.id[8]&0x3f | 0x80 // of RFC 9562
	return o
}

// Request implements Stream.
func (o *Orders) Request(i int, buffer []byte) Request {
	q := &o.all[i]
	body := append(buffer, `{"order_id":"`...)
	body = appendUUID(body, q.id)
	body = append(body, `","buyer_id":"buyer-`...)
	body = strconv.AppendUint(body, uint64(q.buyer), 10)
	body = append(body, `","quantity":`...)
	body = strconv.AppendUint(body, uint64(q.quantity), 10)
	return Request{Method: http.MethodPost, Path: o.path, Body: append(body, '}')}
}

// appendUUID writes an id as its String method does, without allocating.
func appendUUID(to []byte, id uuid.UUID) []byte {
	to = hex.AppendEncode(to, id[:4])
	for from := 4; from < 10; from += 2 {
		to = hex.AppendEncode(append(to, '-'), id[from:from+2])
	}
	return hex.AppendEncode(append(to, '-'), id[10:])
}

// Len is how many requests there are.
func (o *Orders) Len() int { return len(o.all) }

// ID is the order id of the i-th request.
func (o *Orders) ID(i int) string { return o.all[i].id.String() }

// Buyer is the buyer of the i-th request.
func (o *Orders) Buyer(i int) string {
	return "buyer-" + strconv.FormatUint(uint64(o.all[i].buyer), 10)
}

// Quantity is what the i-th request asks for.
func (o *Orders) Quantity(i int) int64 { return int64(o.all[i].quantity) }

// First is the request that asked first for the order of the i-th: i itself where that is no retry.
func (o *Orders) First(i int) int { return int(o.all[i].first) }
