package api

import (
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// The deduct routes are the hot ones, and nearly all of their requests are plain: known fields, each once, printable ASCII
// that needs no escapes, short numbers. This file reads them, in a tenth of the time that general JSON takes. It leaves
// every other request, right or wrong, to the general decoder. For plain requests both give the same result: a fuzz test
// compares them.

// plainOrder reads the body of a deduction if it is plain and whole.
func plainOrder(body []byte) (o stock.Order, ok bool) {
	s := scanner{text: string(body)}
	ok = s.plainObject(func(name string) bool { return s.fieldInto(&o, name) }) && s.end()
	return o, ok && o.OrderID != "" && o.Quantity != 0
}

// plainOrders reads the body of many deductions if it is plain and whole. It reads at most the number that is allowed.
func plainOrders(body []byte) (orders []selling.SKUOrder, ok bool) {
	s := scanner{text: string(body)}
	ok = s.punctuation('{') && s.plainName("deductions") && s.punctuation('[')
	for ok && len(orders) < stock.MaxOrders {
		var o selling.SKUOrder
		ok = s.plainObject(func(name string) bool { return s.skuFieldInto(&o, name) })
		if !ok || o.SKU == "" || o.OrderID == "" || o.Quantity == 0 {
			return nil, false
		}
		orders = append(orders, o)
		if !s.punctuation(',') {
			return orders, s.punctuation(']') && s.punctuation('}') && s.end()
		}
	}
	return nil, false
}

// plainObject reads an object with fields. It calls value for the value of each.
func (s *scanner) plainObject(value func(name string) bool) bool {
	if !s.punctuation('{') {
		return false
	}
	for {
		name, ok := s.plainString()
		if !ok || !s.punctuation(':') || !value(name) {
			return false
		}
		if !s.punctuation(',') {
			return s.punctuation('}')
		}
	}
}

// plainName reads the name of a field, which must be the given one.
func (s *scanner) plainName(name string) bool {
	got, ok := s.plainString()
	return ok && got == name && s.punctuation(':')
}

// skuFieldInto reads the value of a field of one of many deductions.
func (s *scanner) skuFieldInto(o *selling.SKUOrder, name string) (ok bool) {
	if name != "sku" {
		return s.fieldInto(&o.Order, name)
	}
	if o.SKU != "" {
		return false
	}
	o.SKU, ok = s.plainString()
	return ok
}

// fieldInto reads the value of a field. A field that is there twice, or is empty, is not plain.
func (s *scanner) fieldInto(o *stock.Order, name string) (ok bool) {
	switch {
	case name == "order_id" && o.OrderID == "":
		o.OrderID, ok = s.plainString()
		return ok && o.OrderID != ""
	case name == "buyer_id" && o.BuyerID == "":
		o.BuyerID, ok = s.plainString()
		return ok && o.BuyerID != ""
	case name == "quantity" && o.Quantity == 0:
		o.Quantity, ok = s.plainNumber()
		return ok
	case name == "reserve_for" && o.ReserveFor == 0:
		o.ReserveFor, ok = s.plainDuration()
		return ok
	default:
		return false
	}
}

// scanner reads plain JSON. Every method skips white space first. It reports false if the next text is not plain, or not
// of the kind that the method reads.
type scanner struct {
	text string
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

func (s *scanner) punctuation(b byte) bool {
	s.space()
	if s.at == len(s.text) || s.text[s.at] != b {
		return false
	}
	s.at++
	return true
}

func (s *scanner) end() bool {
	s.space()
	return s.at == len(s.text)
}

func (s *scanner) plainString() (value string, ok bool) {
	if !s.punctuation('"') {
		return "", false
	}
	start := s.at
	for ; s.at < len(s.text); s.at++ {
		switch b := s.text[s.at]; {
		case b == '"':
			s.at++
			return s.text[start : s.at-1], true
		case !isPlain(b):
			return "", false
		}
	}
	return "", false
}

// plainNumber reads a positive whole number of at most nine digits.
func (s *scanner) plainNumber() (n int64, ok bool) {
	s.space()
	start := s.at
	for ; s.at < len(s.text) && s.text[s.at] >= '0' && s.text[s.at] <= '9'; s.at++ {
		if s.at-start == 9 {
			return 0, false
		}
		n = n*10 + int64(s.text[s.at]-'0')
	}
	// The next character must be punctuation, and the caller checks that: 1.5 and 1e3 fail there.
	return n, s.at > start && s.text[start] != '0'
}

// plainDuration reads how long stock is to be reserved.
func (s *scanner) plainDuration() (d time.Duration, ok bool) {
	text, ok := s.plainString()
	if !ok {
		return 0, false
	}
	return reservation(text)
}

// isPlain reports whether a byte stands for itself in a JSON string.
func isPlain(b byte) bool { return b >= ' ' && b <= '~' && b != '"' && b != '\\' }
