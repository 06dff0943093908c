package stocktest

import (
	"sync"
	"testing"
	"time"

	"inventory/internal/stock"
)

// testPool has more readers than there are connections, each of which keeps its own until it is let go. On a busy machine
// most readers may come when the first have gone: then more of them do.
func testPool(t *testing.T, k *kit) {
	k.create(1, 1)
	k.deduct(0, stock.Fence{}, order("a", 1))
	const readers, least = 64, 4 // every store has that many connections
	var busy, after stock.Pool
	for end := time.Now().Add(20 * time.Second); after.Waits == 0 && time.Now().Before(end); {
		busy, after = crowd(t, k, readers, least, end)
	}
	if busy.Busy < least || busy.Open < busy.Busy || after.Busy != 0 || after.Waits == 0 || after.Waited <= 0 {
		t.Errorf("pool with %d readers: %+v, and after them: %+v", readers, busy, after)
	}
}

// crowd lets readers go when at least so many have a connection each. It returns how the pool was then, and is afterwards.
func crowd(t *testing.T, k *kit, readers, least int, end time.Time) (busy, after stock.Pool) {
	t.Helper()
	letGo := make(chan struct{})
	var reading sync.WaitGroup
	for range readers {
		reading.Go(func() {
			if _, err := k.store.SoldOut(t.Context(), sku, 1, func([]byte) { <-letGo }); err != nil {
				t.Error(err)
			}
		})
	}
	busy = k.store.Pool()
	for ; busy.Busy < least && time.Now().Before(end); busy = k.store.Pool() {
		time.Sleep(time.Millisecond)
	}
	close(letGo)
	reading.Wait()
	return busy, k.store.Pool()
}
