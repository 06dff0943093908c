// Package contenders measures how fast one hot SKU can be sold, and a mix of many, by the designs of others and by ours, inside
// the process and over HTTP.
//
// # Rules of measuring
//
// All designs write to one PostgreSQL that syncs every commit, to the tables of the service: each accepted order is a row under
// a random UUID. They lock on one Redis. The client, the servers and this program share the machine.
//
// Each round of a contender sells a SKU of its own, except in cases about existing rows. Rounds, ratios, intervals and verdicts
// are those of package experiment.
//
// Each case ends with the audit of all its SKUs, which compares the answers with the rows. The two must be
// equal.
//
// # Designs
//
// A design is an honest best effort: one statement where it needs no more, enough connections, and waiters that are woken, or
// poll at a pace that suits their number. A refusal while there is stock is no sale.
package contenders
