package api

import (
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"net/http"

	"github.com/labstack/echo/v4"
)

const mostRequestID = 128 // bytes

// withRequestID gives every answer the X-Request-Id of its request, or a new one if the request has none that is safe to
// log. It runs before Echo, whose middleware costs each request a little more.
func withRequestID(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := r.Header[echo.HeaderXRequestID] // the name is in its canonical form already
		if len(given) != 1 || !isRequestID(given[0]) {
			given = []string{newRequestID()}
		}
		w.Header()[echo.HeaderXRequestID] = given
		next.ServeHTTP(w, r)
	})
}

// requestID returns the id that the answer of a request has.
func requestID(c echo.Context) string { return c.Response().Header().Get(echo.HeaderXRequestID) }

// isRequestID reports whether an id is short and cannot forge anything in a log.
func isRequestID(id string) bool {
	if id == "" || len(id) > mostRequestID {
		return false
	}
	for i := range len(id) {
		switch b := id[i]; {
		case b >= '0' && b <= '9', b >= 'A' && b <= 'Z', b >= 'a' && b <= 'z', b == '-', b == '_', b == '.':
		default:
			return false
		}
	}
	return true
}

// newRequestID makes an id of 128 random bits. It need not be hard to guess.
func newRequestID() string {
	var random [16]byte
	binary.BigEndian.PutUint64(random[:8], rand.Uint64())
	binary.BigEndian.PutUint64(random[8:], rand.Uint64())
	var text [2 * len(random)]byte
	hex.Encode(text[:], random[:])
	return string(text[:])
}
