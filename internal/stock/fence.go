package stock

// Fence is the proof of a lock: its fencing token, and its owner, which distinguishes equal tokens: two masters can issue
// such tokens around a failover. The zero Fence is a write without a lock: it checks no token and leaves the row's.
type Fence struct {
	Token int64
	Owner string
}

// Passes reports whether a segment's row, whose newest fence is row, accepts a write with f.
func (f Fence) Passes(row Fence) bool {
	return f.Token == 0 || row.Token < f.Token || row == f
}
