package stock

// Fence is the proof of a lock: its fencing token, and its owner to tell equal tokens apart, which two masters
// can mint around a failover. The zero Fence is a write without a lock: it checks no token and leaves the row's.
type Fence struct {
	Token int64
	Owner string
}

// Passes tells whether a row that has seen the fence row lets f write.
func (f Fence) Passes(row Fence) bool {
	return f.Token == 0 || row.Token < f.Token || row == f
}
