package load

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/valyala/fasthttp"

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
	Restock    *bool          `json:"restock,omitempty"`
	IfExpired  string         `json:"if_expired,omitempty"`
}

// NewRequest is the request of an operation. One of several lines goes to the order as a whole.
func NewRequest(o *history.Operation) Request {
	sku, n := "/v1/skus/"+o.Lines[0].SKU, o.Lines[0].Quantity
	one := sku + "/deductions/" + url.PathEscape(o.ID)
	if len(o.Lines) > 1 {
		one = "/v1/orders/" + url.PathEscape(o.ID)
	}
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
		if !o.Retake {
			return Request{Method: http.MethodPost, Path: one + "/commit"}
		}
		return post(one+"/commit", body{IfExpired: "retake"})
	case history.Cancel:
		if o.Ref == "" {
			return Request{Method: http.MethodPost, Path: one + "/cancel"}
		}
		return post(one+"/cancel", body{Ref: o.Ref, Quantity: n})
	case history.Extend:
		return post(one+"/extend", body{Ref: o.Ref, ReserveFor: b.ReserveFor})
	case history.Return:
		back := body{Ref: o.Ref, Quantity: n}
		if o.WriteOff {
			back.Restock = new(bool)
		}
		return post(one+"/return", back)
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

const (
	// dialLimit is how long a connection may take to come up.
	dialLimit = 2 * time.Second
	// rest is how long a connection may be idle before a new one replaces it: a server may have closed it, and the outcome of an
	// order sent into it would be unknown.
	rest = 30 * time.Second
	// maxBody is how long an answer's body may be.
	maxBody = 1 << 20
)

// errUnreached says that there was no connection: nothing was sent.
var errUnreached = errors.New("connect")

// newClient keeps its connections. fasthttp costs a small part of what net/http does, of processors that the service under test
// shares.
func newClient() fasthttp.Client {
	return fasthttp.Client{
		MaxConnsPerHost: math.MaxInt, MaxIdleConnDuration: rest, MaxResponseBodySize: maxBody, MaxIdemponentCallAttempts: 1,
		DisablePathNormalizing: true, NoDefaultUserAgentHeader: true,
		ConfigureClient: func(to *fasthttp.HostClient) error {
			to.Dial = func(address string) (connection net.Conn, err error) {
				dialer := &net.Dialer{Timeout: dialLimit}
				if to.IsTLS {
					connection, err = tls.DialWithDialer(dialer, "tcp", address, nil)
				} else {
					connection, err = dialer.Dial("tcp", address)
				}
				if err != nil {
					return nil, fmt.Errorf("%w: %w", errUnreached, err)
				}
				return connection, nil
			}
			return nil
		},
	}
}

// overHTTP sends a request and waits for the answer. With [errUnreached] the service cannot have got the request.
func (s *Services) overHTTP(base string, r Request, hangUp time.Time, tellsDeadline bool) (status int, body []byte, err error) {
	request, response := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(request)
	defer fasthttp.ReleaseResponse(response)
	request.SetRequestURI(base + r.Path)
	request.SetBodyRaw(r.Body)
	h := &request.Header
	h.SetMethod(r.Method)
	h.SetNoDefaultContentType(true)
	if s.Key != "" {
		h.Set("Authorization", "Bearer "+s.Key)
	}
	if r.Body != nil {
		h.SetContentType("application/json")
	}
	if tellsDeadline {
		h.Set("Request-Deadline", hangUp.UTC().Format(time.RFC3339Nano))
	}
	if err := s.client.DoDeadline(request, response, hangUp); err != nil {
		return 0, nil, err
	}
	return response.StatusCode(), bytes.Clone(response.Body()), nil
}
