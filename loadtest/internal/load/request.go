package load

import (
	"encoding/json"
	"net/http"
	"net/url"

	"inventory/loadtest/internal/history"
)

// Request is an operation as it goes over HTTP.
type Request struct {
	Method string
	Path   string // behind the base URL of the service, with the / it begins with
	Body   []byte // JSON; nil: none
}

// body is that of a request. What is empty is left out.
type body struct {
	OrderID    string         `json:"order_id,omitempty"`
	BuyerID    string         `json:"buyer_id,omitempty"`
	Ref        string         `json:"ref,omitempty"`
	Quantity   int64          `json:"quantity,omitempty"`
	Segments   int64          `json:"segments,omitempty"`
	ReserveFor string         `json:"reserve_for,omitempty"`
	Lines      []history.Line `json:"lines,omitempty"`
}

// NewRequest is the request of an operation.
func NewRequest(o *history.Operation) Request {
	sku, n := "/v1/skus/"+o.Lines[0].SKU, o.Lines[0].Quantity
	one := sku + "/deductions/" + url.PathEscape(o.ID)
	b := body{OrderID: o.ID, BuyerID: o.Buyer}
	if o.ReserveFor > 0 {
		b.ReserveFor = o.ReserveFor.String()
	}
	switch o.Kind {
	case history.Deduct:
		b.Quantity = n
		return post(sku+"/deductions", b)
	case history.Order:
		b.Lines = o.Lines
		return post("/v1/orders", b)
	case history.Commit:
		return Request{Method: http.MethodPost, Path: one + "/commit"}
	case history.Cancel:
		return Request{Method: http.MethodPost, Path: one + "/cancel"}
	case history.Extend:
		return post(one+"/extend", body{Ref: o.Ref, ReserveFor: b.ReserveFor})
	case history.Return:
		return post(one+"/cancel", body{Ref: o.Ref, Quantity: n})
	case history.Restock:
		return post(sku+"/restock", body{Ref: o.ID, Quantity: n})
	case history.Resegment:
		return post(sku+"/resegment", body{Ref: o.ID, Segments: n})
	case history.Read:
		return Request{Method: http.MethodGet, Path: one}
	default:
		return Request{Method: http.MethodGet, Path: sku}
	}
}

func post(path string, b body) Request {
	text, _ := json.Marshal(b) // texts and numbers do not fail
	return Request{http.MethodPost, path, text}
}
