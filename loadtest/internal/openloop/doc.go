// Package openloop sends requests at planned times, whatever became of those before, as buyers do who know nothing of one
// another.
//
// A closed loop, whose callers wait for an answer before they ask again, asks less just when the service is slow, and so
// measures the slow moments hardly at all. Here the plan comes first: [Times] says when each request is due, a [Stream]
// says what it is, and both are pure functions of a seed. A [Sender] then sends each at its time. Latency counts from the
// planned time: a request that had to wait, for whatever reason, has waited.
//
// # Connections
//
// A sender has a bounded number of connections, each with one request under way. A connection that is free waits for the
// next request's time; a request whose time comes while all are busy goes to the first that is free again, and is dropped
// where it would be sent later than a bound. So there are never more requests under way than connections, and a service
// that answers nothing costs no memory.
//
// # Lag
//
// How long after its time a request was sent is the generator's lag, and has histograms of its own: of all requests, and
// of those for which a connection was free in time. The latter can only be late because this program was, so a run in
// which they are late says more of the generator than of the service. Timers of this program wake up to 1 ms late on an
// idle machine. That, too, is part of the latency, and of the lag.
package openloop
