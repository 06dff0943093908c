package app_test

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// access_test.go
//   - certificate: makes a certificate for 127.0.0.1, and the pool that trusts it
//   - get: reads the document with a client with some TLS configuration
//
// alerts_test.go
//   - read
//
// beside_shop_test.go
//   - openShop
//   - shop: has SKUs for orders of all sizes: many for the large orders, and some for the small ones
//
// beside_test.go
//   - caller: sends one request after the other over its own connection
//   - load: is a number of callers that send requests again and again: send sends the n-th request of one of them
//   - newCaller
//   - newLoad
//
// certificate_test.go
//   - replace: replaces the content of files by that of others
//
// citus_test.go
//   - answers
//
// copy_test.go
//   - copied: is a service whose database is copied
//   - query
//   - sent: are requests that may be sent again, and are answered again as the first time
//
// events_test.go
//   - stream: returns the frames of a stream of events one by one
//   - watch
//
// handbook_restore_test.go
//   - happening: is a request of a shop, as its records have it
//   - openRestored
//   - restored: is a service on one of the databases, with its outbox on
//
// listener_test.go
//   - call
//   - caller: is one end of a connection
//   - listen: serves a handler with two places for connections, and returns its address
//
// locks_test.go
//   - open
//   - site: is two services on one database whose tokens may only grow
//
// main_test.go
//   - run
//   - startServers
//
// probes_test.go
//   - ask: returns the status of an answer, and its body
//
// redis_fleet_test.go
//   - stopLater: stops servers when the test ends
//   - writable: returns an error unless a Redis takes writes from a new client, which waits as long for an answer as a service does
//
// redis_test.go
//   - do: sends a Redis one command
//   - onRedis: starts a service on a Redis, and returns its log
//   - ready: waits until /readyz says that locks are as wanted
//   - startRedis
//
// service_test.go
//   - closeNow: closes a service
//   - inTime: does something, again if a server did not answer it in time, and returns its error
//   - isLate: reports whether something took longer than the service, or PostgreSQL for it, waits
//   - start: starts a service on a SQLite file of its own, and closes it when the test ends
//   - startOn: is start on the database of the configuration
//   - tryStart: starts a service that has the time it needs on a busy machine
//   - unlessLate: returns an error without those parts that say that something took too long
//
// shutdown_test.go
//   - status: returns the status of the answer to a GET
//
// start_test.go
//   - emptyDatabase: returns the URL of a new database without a schema
//   - silent: accepts connections and answers nothing
