// Package reconcile compares the answers to orders with the rows.
package reconcile

import (
	"fmt"
	"maps"
	"slices"

	"inventory/internal/stock"
)

// Expected counts the orders that the rows of each SKU have to show.
type Expected map[string]claim

// claim is what one SKU should have. Every order is for one unit, so units are orders, reserved or committed.
type claim struct {
	accepted   int64 // by their answers
	unanswered int64 // without an answer
}

// Add adds the answers of a round.
func (e Expected) Add(sku string, accepted, unanswered int64) {
	c := e[sku]
	c.accepted += accepted
	c.unanswered += unanswered
	e[sku] = c
}

// Against lists what does not add up, within the rows and between rows and answers.
func (e Expected) Against(audit stock.Audit) (wrong []string) {
	found := map[string]bool{}
	for _, b := range audit.SKUs {
		found[b.SKU] = true
		if d := b.Difference(); d != 0 {
			wrong = append(wrong, fmt.Sprintf("SKU %s: %d units are missing", b.SKU, d))
		}
		wrong = append(wrong, b.Violations...)
		c := e[b.SKU]
		if orders := b.Reserved + b.Committed; orders < c.accepted || orders > c.accepted+c.unanswered {
			wrong = append(wrong, fmt.Sprintf("SKU %s: %d orders have rows, and buyers know of %d; %d more were not heard",
				b.SKU, orders, c.accepted, c.unanswered))
		}
	}
	for _, sku := range slices.Sorted(maps.Keys(e)) {
		if c := e[sku]; !found[sku] && c.accepted > 0 { // otherwise the run may have ended before its creation
			wrong = append(wrong, fmt.Sprintf("SKU %s: there are no rows", sku))
		}
	}
	return wrong
}
