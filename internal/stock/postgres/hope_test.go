package postgres

import "testing"

// TestTriesThatFailBecomeRare: in one statement for all; and frequent again once they succeed.
func TestTriesThatFailBecomeRare(t *testing.T) {
	t.Parallel()
	tries := func(h *hope, writes int, taken bool) (n int) {
		for range writes {
			if h.tries() {
				h.tried(taken)
				n++
			}
		}
		return n
	}
	var h hope
	if n := tries(&h, 100, true); n != 100 {
		t.Errorf("got %d of 100 writes tried while all are taken, want 100", n)
	}
	if n := tries(&h, 1000, false); n < 10 || n > 25 {
		t.Errorf("got %d of 1000 writes tried while none is taken, want 10 to 25", n)
	}
	if n := tries(&h, 1000, true); n < 1000-mostCareful {
		t.Errorf("got %d of 1000 writes tried once all are taken again, want %d at least", n, 1000-mostCareful)
	}
}
