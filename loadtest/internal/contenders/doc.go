// Package contenders measures how fast one hot SKU can be sold, and a mix of many, in one run of one program: by the designs
// that others use, and by ours; called inside the process, and over HTTP.
//
// # Rules of measuring
//
// All designs write to one PostgreSQL that syncs every commit, to the tables of the service: each accepted order is a
// row of its own under a random UUID. They lock on one Redis. The client, the servers and this program share the
// machine.
//
// A case is a question. Each round of a contender sells a SKU of its own, so that none meets what another left; the
// exceptions are cases about what is there already. Rounds, ratios, intervals and verdicts are those of package experiment.
//
// Each case ends with the audit of all its SKUs: what buyers were told is held against the rows. Inside the process
// the two must be equal. Over HTTP, wrk closes its connections at the end of its window, and what it has not heard by
// then may have a row or not; the rows may exceed what it has heard by that many, which it counts, and by none more.
//
// # Designs
//
// A design is an honest best effort at what that design is: one statement where it needs no more, enough connections, and
// waiters that are woken, or a pace of retries that suits their number. What a design sells is counted apart from what
// it refuses: to be told "nothing free" while there is stock is no sale.
package contenders
