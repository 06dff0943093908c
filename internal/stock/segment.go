package stock

// Segment is the row of a segment as a store finds it, under its lock.
type Segment struct {
	Available int64
	Reserved  int64 // what reservations have taken from it, with what commits have kept of that since
	Layout    int64
	Version   int64 // grows with every write
	Fence     Fence // the newest that has written
}

// LevelsOf returns what each segment holds, with the units that have come back to it: see [Store.Expire].
func LevelsOf(segments []Segment, back map[int]int64) []int64 {
	levels := make([]int64, len(segments))
	for i, row := range segments {
		levels[i] = row.Available + back[i]
	}
	return levels
}
