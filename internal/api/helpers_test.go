package api_test

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// access_test.go
//   - doors: is a service that asks for keys and tokens, with callers of all kinds
//   - newWallet
//   - openDoors
//   - samples: has a request for every route of the table: a new route needs one here
//   - wallet: has the credentials of callers of all kinds
//
// apifuzz_test.go
//   - asked: is a request as it was sent
//   - fuzzer: sends requests, one after another
//   - operation: is an operation of the document
//   - tally: counts the answers
//
// browsers_test.go
//   - silent
//
// clients_proxy_test.go
//   - failing: is a service behind a proxy that fails as an order's id says: the proxy fails for "place.before.502" with 502 before it passes the first request to place this order on, and for "commit.after.502" after it has passed on the first commit
//   - openFailing
//   - page
//   - refusal
//
// clients_test.go
//   - step
//
// connection_test.go
//   - ended
//   - scraped: returns what Prometheus would read
//   - watched: returns a handler of a store, and what it counts and logs
//
// console_faults_browser_test.go
//   - isWell: waits until the banner is gone
//
// decode_test.go
//   - requests: returns the types of bodies that are decoded, each with the type that the client encodes
//   - reserveFor
//
// docs_test.go
//   - fetched
//   - filesOf: returns the files that a page names, and refuses what a strict policy would: inline code and style
//
// events_test.go
//   - openStand
//   - stand: is a public handler in a server with short limits, so that a test can show that a stream outlives them
//   - standConfig: says how a stand differs from the usual one
//
// export_test.go
//   - RegisterWithoutPolicy: registers a route whose policy was forgotten
//   - Route: is a line of the table of routes, for the tests that go through all of them
//   - Routes: returns the table
//   - Served: returns the routes that the public handler really serves, as "METHOD path"
//
// forbidden_test.go
//   - encoded
//   - example: returns a value that a schema allows
//   - oddTexts: returns texts, each forbidden by some schema
//   - resolved: returns the schema to which another one refers with its own description
//   - target: fills in a path and a query with examples, and with text for the named parameter
//   - value: returns an optional number; 0 if it is missing
//   - wrong: is a value that the document forbids, as JSON, and the field that the problem must name
//
// fuzz_test.go
//   - recorded
//   - serve: lets the handler answer a request
//
// input_test.go
//   - bad: is a request that must be refused: the problem names the field and states what is allowed
//   - badBodies: returns bodies that are wrong on every route
//   - badDurations
//   - badNumbers: returns wrong forms of a number of 1 to a million
//   - badTexts: returns wrong forms of a text of 1 to 128 bytes
//
// main_test.go
//   - answer
//   - clock: is a clock that moves only when a test advances it
//   - closeApp: closes a service
//   - document
//   - eachStore: runs a test on each store; the quick tests on SQLite alone
//   - inTime: returns the answer to a request for which the service has had the time
//   - newClock
//   - newHandler: returns the public handler of a service on its own database; nil is the system's clock
//   - newSite
//   - once: sends a request once, and reports whether the service ran out of time
//   - open: starts a site as in production, with everything embedded
//   - openAt: starts a site without locks that uses a clock
//   - openWith: starts a service with a configuration, on its own database
//   - postgresDatabase: returns the URL of a new database that has the schema, and goes with the test
//   - run
//   - site: is a running service
//
// many_test.go
//   - bulk: returns a body with many deductions
//
// movements_test.go
//   - ledger: is an answer with movements
//
// orderlist_test.go
//   - listed: returns the URL of an empty database in which orders are listed
//
// story_test.go
//   - closing
//   - tellEach: plays histories on both stores, each with a database of its own; the quick tests on SQLite alone
//
// strangers_test.go
//   - countingGuard: accepts no credential, and counts those that it has checked
//
// unavailable_test.go
//   - brokenStore: answers everything with one error
//   - post
