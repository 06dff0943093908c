package api

import (
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Patience is how long a listener may stop reading.
const Patience = patience

// Route is a line of the table of routes, for the tests that go through all of them.
type Route struct {
	Method, Path  string
	Public, Admin bool // other routes are for buyers
}

// Routes returns the table.
func Routes() []Route {
	var all []Route
	for _, r := range new(server).routes() {
		all = append(all, Route{r.method, r.path(), r.policy == public, r.policy == admins})
	}
	return all
}

// Served returns the routes that the public handler really serves, as "METHOD path". It leaves out HEAD, which comes with
// every GET.
func Served() []string {
	var all []string
	for _, r := range newPublic(Config{Metrics: NewMetrics(prometheus.NewRegistry())}).Routes() {
		if r.Method != http.MethodHead {
			all = append(all, r.Method+" "+r.Path)
		}
	}
	slices.Sort(all)
	return all
}

// RegisterWithoutPolicy registers a route whose policy was forgotten.
func RegisterWithoutPolicy() {
	s := new(server)
	s.register(newEcho(nil), []route{{method: http.MethodGet, pattern: "/forgotten", handler: serveDocument}})
}
