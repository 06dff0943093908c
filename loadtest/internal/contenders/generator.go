package contenders

import (
	"context"
	"fmt"
	"os/exec"
	"time"
)

// The programs that can send requests over HTTP.
const (
	GeneratorWrk = "wrk"
	GeneratorLab = "lab"
)

// generator sends requests over HTTP.
type generator interface {
	name() string
	// drive sends orders of one unit until the window is over. Answers are sales, or refusals for want of stock or by the buyer
	// limit; any other answer is an error.
	drive(ctx context.Context, t traffic) (round, error)
}

// traffic is what a generator sends.
type traffic struct {
	url         string   // of the SKU's deductions, or of many deductions
	skus        []string // one by chance replaces "*" in the URL of each request; none: the URL has the SKU
	together    int      // orders in one request; 0: each alone
	sku         string   // of orders that go together; "": the URL has it
	key         string   // API key; "": none is sent
	connections int
	window      time.Duration
	growing     bool     // order ids are UUIDs of version 7; otherwise of version 4
	again       int      // one request in this many repeats an accepted order; 0: none
	winners     []string // order ids to repeat; none: those of this traffic
	buyer       string   // of every order, or newBuyers; "": none
	reserveFor  string   // of every order; "": orders are no reservations
}

// newBuyers stands for a buyer of its own for each order, with the order's id.
const newBuyers = "new"

// order is an order of one unit, as requests and answers have it.
type order struct {
	SKU        string `param:"sku" json:"sku,omitempty"`
	OrderID    string `json:"order_id"`
	BuyerID    string `json:"buyer_id,omitempty"`
	Quantity   int64  `json:"quantity"`
	ReserveFor string `json:"reserve_for,omitempty"`
	Status     string `json:"status,omitempty"`
}

// order is a new order, or a repeated one, by its id.
func (t traffic) order(id string) order {
	o := order{SKU: t.sku, OrderID: id, BuyerID: t.buyer, Quantity: 1, ReserveFor: t.reserveFor}
	if t.buyer == newBuyers {
		o.BuyerID = id
	}
	return o
}

// orders is the number of orders of one request.
func (t traffic) orders() int64 { return int64(max(1, t.together)) }

// CheckGenerator checks the name of a generator.
func CheckGenerator(name string) error {
	_, err := chooseGenerator(name)
	return err
}

// chooseGenerator returns the generator of a name. The default is wrk where it is on PATH.
func chooseGenerator(name string) (generator, error) {
	program, err := exec.LookPath("wrk")
	switch {
	case name == GeneratorLab || name == "" && err != nil:
		return labClient{}, nil
	case name == GeneratorWrk || name == "":
		if err != nil {
			return nil, fmt.Errorf("--generator %s: %w", name, err)
		}
		return wrk{program}, nil
	}
	return nil, fmt.Errorf("there is no generator %q; there are %s and %s", name, GeneratorWrk, GeneratorLab)
}
