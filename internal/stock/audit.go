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

// AuditLine is what a store's audit statement returns for one SKU.
type AuditLine struct {
	Balance
	Doubled    int64 // order ids with more than one row
	Uneven     int64 // merged deductions whose parts do not add up
	Negative   int64 // segments below zero
	Excess     int64 // buyers whose count is not what their deductions hold, or is above the limit
	Incomplete int64 // orders of several SKUs with a line that has no deduction
	Mismatched int64 // deductions that do not hold what was asked less what was given back
}

// Columns returns where to scan the statement's columns, in their order. Incomplete is not among them.
func (l *AuditLine) Columns() []any {
	return []any{
		&l.SKU, &l.Initial, &l.Restocked, &l.Adjusted, &l.WrittenOff, &l.Available, &l.Reserved, &l.Committed,
		&l.Merges, &l.Doubled, &l.Uneven, &l.Negative, &l.Excess, &l.Mismatched,
	}
}

// Add puts a line into the audit.
func (a *Audit) Add(l AuditLine) {
	for _, v := range []struct {
		count int64
		what  string
	}{
		{l.Doubled, "order ids have more than one deduction"},
		{l.Uneven, "merged deductions have parts that do not add up"},
		{l.Negative, "segments hold less than nothing"},
		{l.Excess, "buyers hold more than their limit, or than they are counted with"},
		{l.Incomplete, "order lines have no deduction"},
		{l.Mismatched, "deductions do not hold what was asked less what was given back"},
	} {
		if v.count > 0 {
			l.Violations = append(l.Violations, fmt.Sprintf("SKU %q: %d %s", l.SKU, v.count, v.what))
		}
	}
	a.SKUs = append(a.SKUs, l.Balance)
}
