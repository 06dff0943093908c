package stock

import "time"

// SoldOutState says whether a SKU is sold out, and what shows later that it still is.
type SoldOutState struct {
	SoldOut    bool      // no segment holds anything, of a SKU that is not archived
	Versions   []int64   // of the segments
	NextExpiry time.Time // the earliest expiry of a reservation that is not settled: then it ends by itself. Zero: there is none
}

// SoldOutStateOf returns whether segments are sold out. Those of an archived SKU are not: its sale has ended.
func SoldOutStateOf(segments []Segment) SoldOutState {
	state := SoldOutState{SoldOut: true, Versions: make([]int64, len(segments))}
	for i, row := range segments {
		state.Versions[i] = row.Version
		state.SoldOut = state.SoldOut && row.Available == 0 && row.Layout != ArchivedLayout
	}
	return state
}
