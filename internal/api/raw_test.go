package api_test

import (
	"testing"

	"inventory/internal/api"
)

// TestPartsOfAnswersAreLeftAlone: an answer is written in parts of 4 KB, and one may begin with an order id that looks like a
// status.
func TestPartsOfAnswersAreLeftAlone(t *testing.T) {
	t.Parallel()
	for _, part := range []string{
		`HTTP/1.1 417","quantity":1}]}` + "\n\r\n0\r\n\r\n",
		`HTTP/1.1 417 Expectation Failed","quantity":1}]}` + "\n\r\n0\r\n\r\n",
		`HTTP/1.0 417 Expectation Failed","quantity":1}]}` + "\n\r\n0\r\n\r\n",
		`HTTP/1.1 400 Bad Request","quantity":1}]}` + "\n\r\n0\r\n\r\n",
		"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain; charset=utf-8\r\nX-Request-Id: a\r\n\r\n",
	} {
		if problem, replaced := api.RawProblem([]byte(part)); replaced {
			t.Errorf("%q was replaced by %q", part, problem)
		}
	}
}
