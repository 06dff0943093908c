package stock

import "time"

// Facts are what a store has read to decide orders by, under the locks of a write.
type Facts struct {
	At         time.Time            // the instant of the decision
	Known      map[string]Deduction // the deductions that the order ids have already
	BuyerUnits map[string]int64     // what each buyer of the orders is counted with, where there is a limit
	// HasExpired, for a batch with a limit, says that reservations have expired whose units are not back.
	HasExpired bool
	// Expired, for a merge, is how many reservations gave their units back just now: [ExpireLimit] at most.
	Expired int
	// NextExpiry, for a merge, is the earliest expiry of the reservations that are live; zero: there is none.
	NextExpiry time.Time
}
