package api

import (
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/access"
	"inventory/internal/stock"
)

// call is the Echo context of a request whose caller is known.
type call struct {
	echo.Context
	caller access.Caller
}

// callerOf returns the caller of a request. It is for handlers of the table of routes, after admit. Elsewhere it panics:
// an unknown caller must not pass for one that may do something.
func callerOf(c echo.Context) access.Caller { return c.(*call).caller }

// buyerFor returns the buyer of a request, given the buyer that it names, which may be "". own reports whether the buyer
// itself is the caller, with its own order ids. A token acts for its own buyer only. A shop's key acts for any buyer, and
// for none. A buyer who is forgotten has another name: see [selling.Service.KeptName].
func (s *server) buyerFor(c echo.Context, named string) (buyerID string, own bool, err error) {
	switch buyer := callerOf(c).Buyer; {
	case buyer == "":
	case named == "" || named == buyer:
		named, own = buyer, true
	default:
		return "", false, forbidden("buyer_id must be the subject of the token, or left out")
	}
	buyerID, err = s.Service.KeptName(named)
	return buyerID, own, err
}

// namedBuyer returns the buyer to whom the order id in the path belongs: the token's buyer, or the buyer that a shop
// names in the query, or "".
func (s *server) namedBuyer(c echo.Context) (string, error) {
	named := ""
	if given, ok := c.QueryParams()["buyer_id"]; ok {
		if named = given[0]; named == "" {
			return "", invalid("buyer_id", "must not be empty; leave it out")
		}
	}
	buyerID, _, err := s.buyerFor(c, named)
	return buyerID, err
}

func forbidden(message string) error { return &stock.Error{Code: codeForbidden, Message: message} }

// Guard identifies callers: an [access.Guard].
type Guard interface {
	Authenticate(authorization string) (access.Caller, error)
	Costs(authorization string) bool
}

// admit passes requests to a handler if its policy admits their callers, as often as each may call. It counts callers
// without a credential, or with a bad one, by address. If an address has sent too many of them, admit does no costly work
// for its requests.
func (s *server) admit(p policy, handler echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if err := s.refuseOtherPages(c.Request()); err != nil {
			return err
		}
		var caller access.Caller
		var unknown error
		if p != public {
			if err := s.refuseCostly(c); err != nil {
				return err
			}
			caller, unknown = s.identify(c.Request())
		}
		if err := s.limit(c, caller); err != nil {
			return err
		}
		if unknown != nil {
			c.Response().Header().Set(echo.HeaderWWWAuthenticate, challenge(unknown))
			return &stock.Error{Code: codeUnauthenticated, Message: unknown.Error()}
		}
		if refusal := p.refusal(caller); refusal != "" {
			return forbidden(refusal)
		}
		if p != public {
			noteAdmitted(c.Request().Context())
		}
		ctx := c.Request().Context() // a handler may replace it by one that ends with it
		if err := handler(&call{c, caller}); err != nil {
			return s.Service.NameOrders(ctx, err, caller.Buyer)
		}
		return nil
	}
}

var errSeveral = errors.New("the request has several Authorization headers")

// identify returns the caller of a request.
func (s *server) identify(r *http.Request) (access.Caller, error) {
	if s.Guard == nil {
		return access.Anybody(), nil
	}
	switch given := r.Header[echo.HeaderAuthorization]; len(given) {
	case 0:
		return access.Caller{}, access.ErrMissing
	case 1:
		return s.Guard.Authenticate(given[0])
	default:
		return access.Caller{}, errSeveral
	}
}

// refuseCostly refuses a token unread if its address has sent too many bad ones: the check of a token costs a thousand
// times as much as this. Keys are still looked up, which costs no more than counting them.
func (s *server) refuseCostly(c echo.Context) error {
	if s.Guard == nil || s.Strangers == nil {
		return nil
	}
	if given := c.Request().Header[echo.HeaderAuthorization]; len(given) != 1 || !s.Guard.Costs(given[0]) {
		return nil
	}
	if verdict := s.Strangers.Peek(addressOf(c.Request()), time.Now()); !verdict.OK {
		return setLimitHeaders(c, s.Strangers, verdict)
	}
	return nil
}

// challenge returns the answer of RFC 6750 to a request without a credential, or with a bad one.
func challenge(unknown error) string {
	if errors.Is(unknown, access.ErrMissing) {
		return `Bearer realm="inventory"`
	}
	return `Bearer realm="inventory", error="invalid_token"`
}

// limit counts a request of a caller, sets the headers of what is left, and refuses a request above the limit.
func (s *server) limit(c echo.Context, caller access.Caller) error {
	limiter, id := s.limiterOf(c, caller)
	if limiter == nil {
		return nil
	}
	return setLimitHeaders(c, limiter, limiter.Take(id, time.Now()))
}

// limitMore counts that many further requests, for a request that stands for many. It returns how many of them may go on,
// and the refusal of the others.
func (s *server) limitMore(c echo.Context, more int) (taken int, refusal error) {
	limiter, id := s.limiterOf(c, callerOf(c))
	if limiter == nil {
		return more, nil
	}
	taken, verdict := limiter.TakeSome(id, more, time.Now())
	return taken, setLimitHeaders(c, limiter, verdict)
}

// limiterOf returns the limiter of a caller, nil for none, and the caller's id in it.
func (s *server) limiterOf(c echo.Context, caller access.Caller) (limiter *access.Limiter, id string) {
	switch {
	case caller.ID != "":
		return s.Limiter, caller.ID
	case s.Strangers != nil:
		return s.Strangers, addressOf(c.Request())
	default:
		return nil, ""
	}
}

// admitUnrouted is admit for requests without a route, and for OPTIONS, which Echo answers by itself. Their callers are
// not identified: they count as strangers.
func (s *server) admitUnrouted(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodOptions {
			return s.admit(public, next)(c)
		}
		err := next(c)
		if errors.Is(err, echo.ErrNotFound) || errors.Is(err, echo.ErrMethodNotAllowed) {
			return s.admit(public, func(echo.Context) error { return err })(c)
		}
		return err
	}
}

// setLimitHeaders sets the headers of what is left for a caller, and returns the refusal if nothing is left.
func setLimitHeaders(c echo.Context, limiter *access.Limiter, verdict access.Verdict) error {
	header := c.Response().Header()
	header.Set("RateLimit-Policy", limiter.Policy())
	header.Set("RateLimit", `"default";r=`+strconv.Itoa(verdict.Left)+`;t=`+strconv.Itoa(access.Seconds(verdict.Full)))
	if verdict.OK {
		return nil
	}
	header.Set(echo.HeaderRetryAfter, strconv.Itoa(access.Seconds(verdict.Retry)))
	return &stock.Error{Code: codeRateLimited, Message: "you have sent more requests than you may; see the RateLimit headers"}
}

// v6Network is the length of the prefix that one customer gets: all IPv6 addresses with the prefix are theirs.
const v6Network = 64

// addressOf returns the address that a request comes from, cut to the network of one customer: see [Proxies].
func addressOf(r *http.Request) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return "address"
	}
	address := from.Addr().Unmap()
	if address.Is4() {
		return "address " + address.String()
	}
	network, err := address.WithZone("").Prefix(v6Network)
	if err != nil {
		return "address"
	}
	return "address " + network.String()
}

// stillAdmitted reports whether the caller of a stream, which was admitted once and goes on, would be admitted now.
func (s *server) stillAdmitted(c echo.Context) bool {
	caller, err := s.identify(c.Request())
	return err == nil && caller.ID == callerOf(c).ID && buyers.refusal(caller) == ""
}
