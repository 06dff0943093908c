package flashsale

import (
	"math"

	"inventory/loadtest/internal/openloop"
)

// own are the members of the report that only this scenario has.
type own struct {
	Stock    int64            `json:"stock"` // of each round
	Segments int              `json:"segments"`
	Requests map[string]int64 `json:"requests"` // by outcome, of all rounds
	Units    int64            `json:"units_sold"`
	Oversold int64            `json:"oversold"`
	Stranded int64            `json:"stranded"`
	Falsely  falsely          `json:"false_sold_outs"`
	Rounds   []ownRound       `json:"rounds"`
}

// ownRound is a round.
type ownRound struct {
	SKU      string           `json:"sku"`
	Stream   string           `json:"stream_sha256"`
	Requests map[string]int64 `json:"requests"` // by outcome
	Codes    map[string]int64 `json:"codes"`    // of refusals and failures that are no outcome of their own
	Units    int64            `json:"units_sold"`
	Rows     int              `json:"orders_in_rows"`
	Told     int              `json:"orders_told"`
	Open     int              `json:"orders_not_heard"`          // in the rows, and no buyer got an answer
	SoldOut  float64          `json:"sold_out_seconds,omitzero"` // after the opening; 0: units were left
	Stranded int64            `json:"stranded"`
	Falsely  falsely          `json:"false_sold_outs"`
	Merges   int64            `json:"merges"`
}

func (s *sale) own() own {
	o := own{Stock: s.Stock, Segments: s.Segments, Requests: byName(s.counts())}
	for _, r := range s.rounds {
		a := r.account
		o.Units += a.units
		o.Oversold += a.oversold(s.Stock)
		o.Stranded += a.stranded
		o.Falsely.Least += a.falsely.Least
		o.Falsely.Most += a.falsely.Most
		sellOut := r.sellOutSeconds()
		if math.IsNaN(sellOut) {
			sellOut = 0
		}
		o.Rounds = append(o.Rounds, ownRound{
			SKU: r.sku, Stream: r.sum, Requests: byName(a.counts), Codes: r.result.Codes, Units: a.units, Rows: a.rows, Told: a.told,
			Open: a.open, SoldOut: sellOut, Stranded: a.stranded, Falsely: a.falsely, Merges: r.balance.Merges,
		})
	}
	return o
}

// byName are counts by the name of the outcome, all outcomes named.
func byName(c openloop.Counts) map[string]int64 {
	all := map[string]int64{}
	for _, o := range append(openloop.Outcomes(), openloop.NotSent) {
		all[o.String()] = c[o]
	}
	return all
}
