package stock

import (
	"fmt"
	"slices"
)

// Audit is the balance of every SKU at one instant.
type Audit struct {
	SKUs []Balance
}

// Balance is what a SKU received and where those units are. All figures are units, except Merges.
type Balance struct {
	SKU        string `json:"sku"`
	Initial    int64  `json:"initial"`
	Restocked  int64  `json:"restocked"`
	Adjusted   int64  `json:"adjusted"`
	WrittenOff int64  `json:"written_off"` // of what was returned
	Available  int64  `json:"available"`
	Reserved   int64  `json:"reserved"`
	Committed  int64  `json:"committed"`
	Merges     int64  `json:"-"` // deductions that took from more than one segment
	LimitGroup string `json:"-"`
	// Violations names in words what no sum shows: an order id that has two rows, parts that do not add up.
	Violations []string `json:"-"`
}

// Difference is Initial + Restocked + Adjusted less WrittenOff and what is there. Above zero, units were lost; below zero, units were
// sold twice.
func (b Balance) Difference() int64 {
	return b.Initial + b.Restocked + b.Adjusted - b.WrittenOff - b.Available - b.Reserved - b.Committed
}

// OK reports whether no unit is missing and none is there twice.
func (b Balance) OK() bool { return b.Difference() == 0 && len(b.Violations) == 0 }

// OK reports whether every balance is OK.
func (a Audit) OK() bool {
	return !slices.ContainsFunc(a.SKUs, func(b Balance) bool { return !b.OK() })
}

// Fault adds what no sum shows, if there is any of it.
func (b *Balance) Fault(count int64, what string) {
	if count > 0 {
		b.Violations = append(b.Violations, fmt.Sprintf("SKU %q: %d %s", b.SKU, count, what))
	}
}
