package tail

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"net/http"

	"inventory/loadtest/internal/openloop"
)

// What buyers ask for: 1 to few units, and one in some of them for many.
const (
	few       = 5
	many      = 20
	manyEvery = 50
)

// meanQuantity is what an order asks for in the mean.
const meanQuantity = (1.+few)/2*(1-1./manyEvery) + 1.*many/manyEvery

// wish is an order.
type wish struct {
	id       string
	quantity int64
}

// wishes are the orders of a round, and the stream that asks for them.
type wishes struct {
	path string
	all  []wish
}

// newWishes draws n orders. They are a pure function of the seed.
func newWishes(seed uint64, sku string, n int) *wishes {
	w := &wishes{path: "/v1/skus/" + sku + "/deductions", all: make([]wish, n)}
	random := randomOf(seed, "wishes")
	var id [16]byte
	for i := range w.all {
		_, _ = random.Read(id[:]) // it never fails
		w.all[i] = wish{hex.EncodeToString(id[:]), 1 + int64(random.Uint64()%few)}
		if random.Uint64()%manyEvery == 0 {
			w.all[i].quantity = many
		}
	}
	return w
}

// Request implements [openloop.Stream].
func (w *wishes) Request(i int, buffer []byte) openloop.Request {
	body := fmt.Appendf(buffer, `{"order_id":"%s","quantity":%d}`, w.all[i].id, w.all[i].quantity)
	return openloop.Request{Method: http.MethodPost, Path: w.path, Body: body}
}

// randomOf is a source of its own for each purpose.
func randomOf(seed uint64, purpose string) *rand.ChaCha8 {
	var key [32]byte
	copy(key[:], fmt.Appendf(nil, "%016x%s", seed, purpose))
	return rand.NewChaCha8(key)
}
