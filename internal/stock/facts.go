package stock

import "time"

// Facts are what a store has read, under the locks of a write, to decide orders from.
type Facts struct {
	At         time.Time            // the instant of the decision
	Known      map[string]Deduction // the deductions that the order ids have already
	BuyerUnits map[string]int64     // how many units each buyer of the orders is counted with, if there is a limit
	// HasExpired, for a batch with a limit, says that reservations have expired whose units are not back.
	HasExpired bool
	// Expired, for a merge, is how many reservations gave their units back just now: [ExpireLimit] at most.
	Expired int
	// NextExpiry, for a merge, is the earliest expiry of the reservations that are live; zero: there is none.
	NextExpiry time.Time
}
