package contenders

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
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
	// drive sends orders for single units until the window is over. An answer that is neither a sale, nor a refusal
	// for want of stock or because the buyer has enough, is an error.
	drive(ctx context.Context, t traffic) (round, error)
}

// traffic is what a generator sends.
type traffic struct {
	url         string   // of the SKU's deductions, or of many deductions
	skus        []string // of each request by chance, in the place of "*" in the URL; none: the URL has one
	together    int      // so many orders go in one request; 0: each alone
	sku         string   // of orders that go together
	key         string   // API key; "": none is sent
	connections int
	window      time.Duration
	growing     bool     // order ids grow, as UUIDs of version 7 do; else they are random ones of version 4
	again       int      // every how many-th request has an order id that was accepted before; 0: none
	winners     []string // order ids to send again; none: those of this traffic
	buyer       string   // of every order; newBuyers: each has one of its own; "": none is named
	reserveFor  string   // how long orders are reserved, as requests have it; "": they are not
}

// newBuyers stands for a buyer of its own for each order. Its id is the order's: it is as random, and costs whoever
// sends no other.
const newBuyers = "new"

// orders are those of one request.
func (t traffic) orders() int64 { return int64(max(1, t.together)) }

// body is the request for one unit.
func (t traffic) body(orderID string) string {
	body := `{"order_id":"` + orderID + `"`
	switch t.buyer {
	case "":
	case newBuyers:
		body += `,"buyer_id":"` + orderID + `"`
	default:
		body += `,"buyer_id":"` + t.buyer + `"`
	}
	body += `,"quantity":1`
	if t.reserveFor != "" {
		body += `,"reserve_for":"` + t.reserveFor + `"`
	}
	return body + "}"
}

// bodyOf is a request for one unit for each of many orders.
func (t traffic) bodyOf(orderIDs []string) string {
	var orders []string
	for _, id := range orderIDs {
		orders = append(orders, `{"sku":"`+t.sku+`",`+t.body(id)[1:])
	}
	return `{"deductions":[` + strings.Join(orders, ",") + "]}"
}

// CheckGenerator tells whether there is one of a name.
func CheckGenerator(name string) error {
	_, err := chooseGenerator(name)
	return err
}

// chooseGenerator returns the one of a name; without a name wrk where it is there.
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
