package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/stock"
)

// requests returns the types of bodies that are decoded, each with the type that the client encodes.
func requests() []struct {
	read func(text []byte) error
	sent func() any
} {
	return []struct {
		read func(text []byte) error
		sent func() any
	}{
		{reader(newSKU), func() any { return new(client.NewSKU) }},
		{reader(newDeduction), func() any { return new(client.NewDeduction) }},
		{readMany, func() any { return new(client.NewDeductions) }},
		{reader(newOrder), func() any { return new(client.NewOrder) }},
		{reader(commitRequest), func() any { return new(client.Commit) }},
		{reader(cancelRequest), func() any { return new(client.Cancel) }},
		{reader(returnRequest), func() any { return new(client.Return) }},
		{reader(unitsRequest), func() any { return new(client.Restock) }},
		{reader(adjustRequest), func() any { return new(client.Adjustment) }},
		{reader(resegmentRequest), func() any { return new(client.Resegment) }},
	}
}

func reader[R any](read func(*form) R) func(text []byte) error {
	return func(text []byte) error {
		_, err := readForm(text, read)
		return err
	}
}

func readMany(text []byte) error {
	orders, err := readForm(text, newDeductions)
	for _, one := range orders {
		if unread, ok := errors.AsType[*stock.Error](one.err); ok && err == nil {
			err = unread
		}
	}
	return err
}

// FuzzDecode reads any body as any request: it is refused with an error that names a field, or Go's decoder reads it too.
func FuzzDecode(f *testing.F) {
	for i := range requests() {
		for _, body := range []string{
			``, ` `, `{}`, `null`, `[]`, `{"a":`, `{"stock":1,"segments":2,"name":"ü","per_buyer_limit":1,"max_quantity":2}`,
			`{"stock":1,"sale_starts_at":"2026-01-01T00:00:00Z","sale_ends_at":"2026-01-01T00:00:00+01:00"}`,
			`{"order_id":"o","buyer_id":"b","quantity":1,"reserve_for":"15m"}`, `{"order_id":"\ud83d\ude00","quantity":9223372036854775808}`,
			`{"order_id":"o","lines":[{"sku":"a","quantity":1},{"sku":"b","quantity":2}]}`, `{"order_id":"o","lines":[null]}`,
			`{"deductions":[{"sku":"a","order_id":"o","quantity":1},{"sku":"b","order_id":"o","quantity":2,"reserve_for":"1s"}]}`,
			`{"deductions":[null]}`, `{"deductions":[{"sku":"a","sku":"a"}]}`, `{"deductions":[{"newDeduction":{}}]}`,
			`{"quantity":1,"quantity":1}`, `{"Quantity":1}`, `{"quantity":"1"}`, `{"quantity":1} {}`, `{"quantity":-0}`,
			`{"ref":"r","quantity":-3,"reason":"count"}`, `{"ref":"r","segments":8,"reason":""}`, "{\"ref\":\"\xff\"}",
		} {
			f.Add(uint(i), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, kind uint, text []byte) {
		request := requests()[kind%uint(len(requests()))]
		if err := request.read(text); err != nil {
			refusal, ok := errors.AsType[*stock.Error](err)
			if !ok || refusal.Code != stock.CodeInvalidRequest || refusal.Field == "" || refusal.Message == "" {
				t.Errorf("%q: %#v", text, err)
			}
			return
		}
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(request.sent())
		// A number that no field can hold is read as one that is too large, and refused by the service.
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); err != nil && (!ok || !strings.HasPrefix(wrong.Value, "number")) {
			t.Errorf("%q was read, and Go's decoder says %v", text, err)
		}
	})
}

// A cursor is read as the position from which it was made.
func FuzzCursor(f *testing.F) {
	f.Add("AAYIV9aUAABy")
	f.Add("")
	f.Add("!")
	f.Fuzz(func(t *testing.T, text string) {
		position, ok := positionOf(text)
		if ok && cursorOf(position) != text {
			t.Errorf("%q is read as %+v, whose cursor is %q", text, position, cursorOf(position))
		}
	})
}

// TestDurationsInEachSpelling reads how long stock is reserved as Go, ISO 8601 and people write it.
func TestDurationsInEachSpelling(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		`"15m"`: 15 * time.Minute, `"PT15M"`: 15 * time.Minute, `900`: 15 * time.Minute,
		`"P1DT2H3M4.5S"`: 26*time.Hour + 3*time.Minute + 4500*time.Millisecond, `"P30D"`: 720 * time.Hour, `2592000`: 720 * time.Hour,
		`"PT1.000001S"`: time.Second + time.Microsecond, `1`: time.Second,
	} {
		got, err := readForm([]byte(`{"reserve_for":`+text+`}`), reserveFor)
		if err != nil || got != want {
			t.Errorf("%s: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{
		`"P"`, `"PT"`, `"P1M"`, `"P1Y"`, `"P1W"`, `"PT5MS"`, `"PT1M1H"`, `"PT1.5H"`, `"PT1H1H"`, `"pt15m"`, `"-PT15M"`, `"P31D"`, `"P0000000000000000000000000000001D"`, `"PT0.0000001S"`,
		`"PT99999999999999999999H"`, `"P99999D"`, `0`, `-1`, `2592001`, `1.5`, `1e3`, `"900"`, `null`, `true`, `99999999999999999999`,
	} {
		_, err := readForm([]byte(`{"reserve_for":`+text+`}`), reserveFor)
		if stock.CodeOf(err) != stock.CodeInvalidRequest {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

func reserveFor(f *form) time.Duration { return f.period("reserve_for") }

// TestAMistakeIsNamed: of several mistakes in a body one is named, rather an unknown field than one that is missing.
func TestAMistakeIsNamed(t *testing.T) {
	t.Parallel()
	for body, field := range map[string]string{
		`{"quantity":"1","price":1}`:                               "price",
		`{"price":1,"price":1}`:                                    "price",
		`{"order_id":"o","order_id":"o","quantity":"1"}`:           "order_id",
		`{"order_id":7,"lines":[{"sku":7}]}`:                       "order_id",
		`{"order_id":"o","lines":[{"sku":"a","quantity":"1"}]}`:    "lines[0].quantity",
		`{"order_id":"o","lines":[{"quantity":1},{"sku":7}]}`:      "lines[0].sku",
		`{"lines":[{"quantity":1,"suk":"a"}],"orderid":"o"}`:       "orderid",
		`{"order_id":"o","lines":[{"quantity":1,"suk":"a"}]}`:      "lines[0].suk",
		`{"order_id":"o","lines":[{"sku":"a","sku":"a"}]}`:         "lines[0].sku",
		`{"x":{"y":{"z":{"a":`:                                     "x.y.z",
		`{"order_id":"o","reserve_for":"1","lines":[{"sku":"a"}]}`: "reserve_for",
	} {
		read := reader(newDeduction)
		if strings.Contains(body, "lines") {
			read = reader(newOrder)
		}
		if refusal, ok := errors.AsType[*stock.Error](read([]byte(body))); !ok || refusal.Field != field {
			t.Errorf("%s: got %v, want a mistake of %s", body, refusal, field)
		}
	}
}

// endNoted is a body that tells its end by itself, as one over HTTP/2 does. The listener notes then that the service works.
type endNoted struct {
	*strings.Reader
	ended bool
}

func (b *endNoted) Read(to []byte) (int, error) {
	n, err := b.Reader.Read(to)
	b.ended = b.ended || errors.Is(err, io.EOF)
	return n, err
}

func (*endNoted) Close() error { return nil }

// TestBodiesAreReadToTheirEnd, whether their length is known or not.
func TestBodiesAreReadToTheirEnd(t *testing.T) {
	t.Parallel()
	const text = `{"quantity":1}`
	for _, length := range []int64{int64(len(text)), -1} {
		body := &endNoted{Reader: strings.NewReader(text)}
		read, err := readBody(&http.Request{ContentLength: length, Body: body}, maxBodyBytes)
		if err != nil || string(read) != text || !body.ended {
			t.Errorf("length %d: read %q, %v; to its end: %v", length, read, err, body.ended)
		}
	}
}
