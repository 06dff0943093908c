package kinds

import "testing"

// TestRequestsAreCountedHoweverTheyAreCut feeds commands in pieces of every size. Texts may look like commands.
func TestRequestsAreCountedHoweverTheyAreCut(t *testing.T) {
	t.Parallel()
	sent := "*1\r\n$4\r\nPING\r\n" + "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$9\r\n*1\r\n$4\r\nP\r\n" + "*2\r\n$9\r\nSUBSCRIBE\r\n$12\r\nabcdefghijkl\r\n"
	for size := 1; size <= len(sent); size++ {
		var r requests
		var got int64
		for rest := sent; rest != ""; {
			n := min(size, len(rest))
			got += r.count([]byte(rest[:n]))
			rest = rest[n:]
		}
		if got != 3 || r != (requests{}) && r.number == 0 {
			t.Errorf("in pieces of %d: %d commands, then %+v", size, got, r)
		}
	}
}
