package load

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"inventory/loadtest/internal/history"
)

// Request is an operation as it goes over HTTP.
type Request struct {
	Method string
	Path   string // behind the base URL of the service, with the / it begins with
	Body   []byte // JSON; nil: none
}

// NewRequest is what asks for an operation. The body is appended to buffer.
func NewRequest(o *history.Operation, buffer []byte) Request {
	post := func(path string, body object) Request {
		return Request{http.MethodPost, path, append(body, '}')}
	}
	first := o.Lines[0]
	sku := "/v1/skus/" + first.SKU
	one := func() string { return sku + "/deductions/" + url.PathEscape(o.ID) }
	body := object(append(buffer, '{'))
	switch o.Kind {
	case history.Deduct:
		return post(sku+"/deductions", body.text("order_id", o.ID).text("buyer_id", o.Buyer).number("quantity", first.Quantity).span("reserve_for", o.ReserveFor))
	case history.Order:
		return post("/v1/orders", body.text("order_id", o.ID).text("buyer_id", o.Buyer).span("reserve_for", o.ReserveFor).lines(o.Lines))
	case history.Commit:
		return Request{Method: http.MethodPost, Path: one() + "/commit"}
	case history.Cancel:
		return Request{Method: http.MethodPost, Path: one() + "/cancel"}
	case history.Extend:
		return post(one()+"/extend", body.span("reserve_for", o.ReserveFor).text("ref", o.Ref))
	case history.Return:
		return post(one()+"/cancel", body.number("quantity", first.Quantity).text("ref", o.Ref))
	case history.Restock:
		return post(sku+"/restock", body.text("ref", o.ID).number("quantity", first.Quantity))
	case history.Adjust:
		return post(sku+"/adjust", body.text("ref", o.ID).number("quantity", first.Quantity).text("reason", "counted"))
	case history.Resegment:
		return post(sku+"/resegment", body.text("ref", o.ID).number("segments", first.Quantity))
	case history.Read:
		return Request{Method: http.MethodGet, Path: one()}
	default:
		return Request{Method: http.MethodGet, Path: sku}
	}
}

// object is one in JSON, up to its last member. encoding/json would do, at several times the cost, which the service under test
// shares.
type object []byte

func (b object) name(name string) object {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(append(append(b, '"'), name...), '"', ':')
}

// text adds a member, unless it is empty.
func (b object) text(name, value string) object {
	if value == "" {
		return b
	}
	b, _ = jsontext.AppendQuote(b.name(name), value) // it is UTF-8
	return b
}

func (b object) number(name string, value int64) object {
	return strconv.AppendInt(b.name(name), value, 10)
}

func (b object) span(name string, value time.Duration) object {
	if value == 0 {
		return b
	}
	return b.text(name, value.String())
}

func (b object) lines(lines []history.Line) object {
	b = append(b.name("lines"), '[')
	for i, line := range lines {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, '{').text("sku", line.SKU).number("quantity", line.Quantity), '}')
	}
	return append(b, ']')
}

// Sum is the SHA-256 of operations and their planned times: over a line "NANOSECONDS METHOD PATH BODY" of each request.
func Sum(at []time.Duration, operations []history.Operation) string {
	sum := sha256.New()
	var buffer []byte
	for i, planned := range at {
		r := NewRequest(&operations[i], buffer[:0])
		// A hash does not fail.
		_, _ = fmt.Fprintf(sum, "%d %s %s %s\n", planned, r.Method, r.Path, r.Body)
		if r.Body != nil {
			buffer = r.Body
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}
