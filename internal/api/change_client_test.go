package api_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"inventory/internal/api/client"
)

// changing changes the order o with the Go client.
type changing struct {
	t *testing.T
	c *client.ClientWithResponses
}

// linesOf reads lines such as "lamp:1 bulb:2".
func linesOf(text string) (lines []client.NewLine) {
	for word := range strings.FieldsSeq(text) {
		line := client.NewLine{}
		line.Sku, word, _ = strings.Cut(word, ":")
		_, _ = fmt.Sscan(word, &line.Quantity)
		lines = append(lines, line)
	}
	return lines
}

// to asks for lines, and checks with which lines the order is answered.
func (c changing) to(ref, lines string, status client.Status, want ...string) *client.Order {
	c.t.Helper()
	told, err := c.c.ChangeOrderWithResponse(c.t.Context(), "o", nil, client.ChangeOrder{Ref: ref, Lines: linesOf(lines)})
	if err != nil || told.JSON200 == nil {
		c.t.Fatalf("%+v, %v", told, err)
	}
	var got []string
	for _, line := range told.JSON200.Lines {
		if got = append(got, fmt.Sprint(line.Sku, ":", line.Quantity)); line.Status != status {
			c.t.Errorf("line %+v is not %s", line, status)
		}
	}
	if !slices.Equal(got, want) {
		c.t.Errorf("to %s: got %v, want %v", lines, got, want)
	}
	return told.JSON200
}

// refused asks for lines, and returns the problem.
func (c changing) refused(ref, lines string, status int) *client.Problem {
	c.t.Helper()
	told, err := c.c.ChangeOrderWithResponse(c.t.Context(), "o", nil, client.ChangeOrder{Ref: ref, Lines: linesOf(lines)})
	if err != nil || told.StatusCode() != status {
		c.t.Fatalf("%+v, %v, want %d", told, err, status)
	}
	problem := told.ApplicationProblemJSON409
	if status == http.StatusUnprocessableEntity {
		problem = told.ApplicationProblemJSON422
	}
	return problem
}

// TestTheClientChangesAnOrder: a reserved one gets other lines, a committed one is exchanged and handed over, and refusals name all short
// lines.
func TestTheClientChangesAnOrder(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, sku := range []string{"bulb", "lamp", "wire"} {
		s.want(s.send("PUT", "/v1/skus/"+sku, `{"stock":3}`), 201, "")
	}
	s.want(s.send("POST", "/v1/orders", `{"order_id":"o","buyer_id":"list","reserve_for":"15m","lines":[{"sku":"lamp","quantity":2}]}`), 201, "")
	c, err := client.NewClientWithResponses(s.url, client.WithHTTPClient(s.client))
	if err != nil {
		t.Fatal(err)
	}
	o := changing{t, c}
	for range 2 {
		o.to("a", "lamp:1 bulb:2", client.Reserved, "bulb:2", "lamp:1")
	}
	if p := o.refused("a", "lamp:1", http.StatusUnprocessableEntity); p == nil || p.Code != client.RefReused {
		t.Errorf("a ref for another change: %+v", p)
	}
	p := o.refused("b", "bulb:4 lamp:1 wire:5", http.StatusConflict)
	if p == nil || p.Code != client.InsufficientStock || p.Lines == nil || len(*p.Lines) != 2 || (*p.Lines)[0].Sku != "bulb" || (*p.Lines)[1].Sku != "wire" {
		t.Errorf("two short lines: %+v", p)
	}
	if paid, err := c.CommitOrderWithResponse(t.Context(), "o", nil, client.CommitOrder{}); err != nil || paid.JSON200 == nil {
		t.Fatalf("%+v, %v", paid, err)
	}
	o.to("c", "bulb:2 wire:1", client.Committed, "bulb:2", "wire:1")
	over, err := c.ChangeOrderWithResponse(t.Context(), "o", nil, client.ChangeOrder{Ref: "d", Lines: linesOf("bulb:2 wire:1"), BuyerID: new("ann")})
	if err != nil || over.JSON200 == nil || over.JSON200.BuyerID == nil || *over.JSON200.BuyerID != "ann" {
		t.Fatalf("%+v, %v", over, err)
	}
	told, err := c.ReadOrderHistoryWithResponse(t.Context(), "o", nil)
	if err != nil || told.JSON200 == nil || told.JSON200.History == nil || (*told.JSON200.History)[0].Kind != client.WasHandedOver {
		t.Errorf("the history: %s, %v", told.Body, err)
	}
	s.wantUnits("lamp", `"available":3,"reserved":0,"committed":0`)
}
