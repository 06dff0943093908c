package sqlite

import (
	"time"

	"inventory/internal/stock"
)

// orderLine is a line of an order of several SKUs.
type orderLine struct {
	sku   string
	order stock.Order // as one of its SKU
	stock.PlacedLine
}

func newLine(p stock.Placement, i int) orderLine {
	asked := p.Order.Lines[i]
	return orderLine{
		sku: asked.SKU,
		order: stock.Order{
			OrderID: p.Order.OrderID, BuyerID: p.Order.BuyerID, Quantity: asked.Quantity, ReserveFor: p.Order.ReserveFor,
		},
		PlacedLine: p.Lines[i],
	}
}

// fences is the one of the line's segment. A line from all segments has none.
func (l orderLine) fences() map[int]stock.Fence { return map[int]stock.Fence{l.Segment: l.Fence} }

// plan says what each segment gives, and by how much it changes, or why the line is refused.
func (l orderLine) plan(levels []int64, demand stock.Demand, at time.Time) (plan stock.MergePlan, err error) {
	outcome := make([]stock.Outcome, 1)
	only := []int{0}
	if l.Segment < 0 {
		plan = stock.PlanMerge(levels, demand, only, outcome)
		return plan, l.refusal(outcome[0], at)
	}
	demand.Admit(only, levels[l.Segment], outcome)
	plan.Parts = map[int][]stock.Part{0: {{Segment: l.Segment, Quantity: l.order.Quantity}}}
	plan.Changes, plan.Reserved = make([]int64, len(levels)), make([]int64, len(levels))
	plan.Changes[l.Segment] = -l.order.Quantity
	if l.order.ReserveFor > 0 {
		plan.Reserved[l.Segment] = l.order.Quantity
	}
	return plan, l.refusal(outcome[0], at)
}

func (l orderLine) refusal(o stock.Outcome, at time.Time) error {
	switch {
	case o.Kind == stock.Known:
		return stock.OrderIDReused()
	case o.Kind == stock.Closed:
		return l.SaleWindow.Refusal(l.sku, at)
	case o.Kind == stock.Limited:
		return stock.BuyerLimited(l.sku, l.Limit)
	case o.Kind == stock.Short && l.Segment >= 0:
		return stock.ErrSpread
	case o.Kind == stock.Short:
		return stock.Shortage(l.sku, o.Available)
	default:
		return nil
	}
}
