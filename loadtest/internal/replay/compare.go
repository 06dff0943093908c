package replay

import (
	"fmt"
	"strings"

	"inventory/internal/stock"
)

// Comparison is how the rows of a run compare with what was answered.
type Comparison struct {
	Left     []int64  // units of each SKU of the plan
	Merges   int64    // deductions that took from several segments
	Problems []string // what does not add up; none is good
}

// OK tells whether everything adds up.
func (c Comparison) OK() bool { return len(c.Problems) == 0 }

// Compare holds the answers of a run against an audit of its database, where others may have SKUs as well.
func Compare(plan Plan, prefix string, tally *Tally, audit stock.Audit) Comparison {
	balances := map[string]stock.Balance{}
	for _, b := range audit.SKUs {
		if strings.HasPrefix(b.SKU, prefix) {
			balances[b.SKU] = b
		}
	}
	c := Comparison{Left: make([]int64, len(plan.SKUs))}
	if len(balances) == 0 && len(plan.SKUs) > 0 && !tally.Interrupted {
		c.Problems = []string{"the database knows none of the run's SKUs: is it the one that the service uses?"}
		return c
	}
	for i, sku := range plan.SKUs {
		b, there := balances[prefix+sku.Name]
		if !there && tally.Interrupted && tally.Units[i] == (Units{}) {
			continue // it may not have been created
		}
		if !there {
			c.Problems = append(c.Problems, sku.Name+": the database does not know it")
			continue
		}
		c.Left[i] = b.Available
		c.Merges += b.Merges
		c.compare(sku, tally.Units[i], b)
		c.Problems = append(c.Problems, b.Violations...)
	}
	return c
}

// compare holds what was answered for one SKU against its rows.
func (c *Comparison) compare(sku SKU, answered Units, b stock.Balance) {
	for _, check := range []struct {
		what              string
		rows, least, most int64
	}{
		{"units missing", b.Difference(), 0, 0},
		{"initial stock", b.Initial, sku.Stock, sku.Stock},
		{"units sold", b.Committed, answered.Sold, answered.Sold + answered.UnheardSold},
		{"units restocked", b.Restocked, answered.Restocked, answered.Restocked + answered.UnheardRestocked},
		{"units adjusted", b.Adjusted, 0, 0},
		{"units reserved", b.Reserved, 0, 0},
		{"units oversold", max(0, b.Committed+b.Reserved-b.Initial-b.Restocked-b.Adjusted, -b.Available), 0, 0},
	} {
		if check.rows >= check.least && check.rows <= check.most {
			continue
		}
		problem := fmt.Sprintf("%s: %s: %d in the rows instead of %d", sku.Name, check.what, check.rows, check.least)
		if check.most > check.least {
			problem += fmt.Sprintf(" to %d", check.most)
		}
		c.Problems = append(c.Problems, problem)
	}
}
