package api

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"inventory/internal/stock"
)

// The answers of the hot path are written by hand, which takes a fraction of what reflection does.

// appendDeduction appends a deduction without its parts as JSON.
func appendDeduction(to []byte, d stock.Deduction) []byte {
	to = appendString(append(to, `{"sku":`...), d.SKU)
	to = appendString(append(to, `,"order_id":`...), d.OrderID)
	if d.BuyerID != "" {
		to = appendString(append(to, `,"buyer_id":`...), d.BuyerID)
	}
	to = strconv.AppendInt(append(to, `,"quantity":`...), d.Quantity, 10)
	to = appendString(append(to, `,"status":`...), string(d.Status))
	return append(to, "}\n"...)
}

// appendProblem appends a problem as JSON.
func appendProblem(to []byte, p problem) []byte {
	to = appendString(append(to, `{"type":`...), p.Type)
	to = appendString(append(to, `,"title":`...), p.Title)
	to = strconv.AppendInt(append(to, `,"status":`...), int64(p.Status), 10)
	to = appendString(append(to, `,"detail":`...), p.Detail)
	to = appendString(append(to, `,"code":`...), string(p.Code))
	if p.Field != "" {
		to = appendString(append(to, `,"field":`...), p.Field)
	}
	if p.Available != nil {
		to = strconv.AppendInt(append(to, `,"available":`...), *p.Available, 10)
	}
	return append(to, "}\n"...)
}

// appendString appends a JSON string. What is no UTF-8 is replaced.
func appendString(to []byte, s string) []byte {
	to, _ = jsontext.AppendQuote(to, s)
	return to
}
