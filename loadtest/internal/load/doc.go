// Package load sends operations to services, and writes down what became of them, as package history holds it against the rows.
//
// There is one way to ask: [NewRequest] makes an operation a request over HTTP, and [Services.Try] sends it to a process once.
// There are two ways to come:
//
//   - In a closed loop callers wait for an answer before they ask again. [Services.Ask] asks one process after the other until
//     the answer is final; [Buy] lets callers buy from any [Seller], in this process or over HTTP, until a window is over.
//   - In an open loop the plan comes first, and requests are sent at its times, whatever became of those before, as buyers do
//     who know nothing of one another: [Services.Run], or [Offer] inside the process. A closed loop asks less just when the
//     service is slow, and so measures the slow moments hardly at all. [Times] says when each request is due, a pure function
//     of a seed, and latency counts from then: a request that had to wait, for whatever reason, has waited.
//
// Either way the [Result] has each operation with its attempts ([Closed] makes that of a closed loop), and [Raw] writes them down.
// A [Drill] is a run of either from its first request to its report: it holds what was answered against the rows, and tells what
// every report has.
//
// # Connections
//
// An open loop has a bounded number of connections, each with one request under way. A connection that is free waits for the
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
//
// # Those who got no answer
//
// Percentiles of an outcome are of those who came to it. Those who were dropped, found no connection, or heard nothing came
// to none. So there is a histogram of all who were due ([Result.All]), in which they count with how long they had waited
// when they gave up: at least so long.
package load
