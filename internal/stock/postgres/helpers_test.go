package postgres_test

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// cut_test.go
//   - StateOf: stateOf returns what a SKU and the second one of its orders hold
//   - cutVerbs: are a write of each kind: a batch in one statement and one in a transaction, an order, a settlement that gives units back, a change of the layout
//
// dark_test.go
//   - network: carries connections until it goes dark: those that there are then deliver nothing any more, and new ones work
//
// expire_test.go
//   - ended: checks that the reservation of reserve has ended or not, and the audit
//   - reserve: reserves two units for a second, and returns the instant
//
// export_test.go
//   - Gather: returns functions of one gatherer, whose transactions have at most five writes: one adds a write, carried out by carry; one waits for the writer, after all writes
//   - OpenPatiently: is Open for a test that runs in real time, on a machine of any speed: it gives up no statement and no connection, and the server gives up none of its sessions
//   - Sharing: says which batches share a write
//
// failover_test.go
//   - withFollower: returns a primary with a database, its standby, and the URL of that database on whichever of the two takes writes
//
// final_test.go
//   - through: returns a database's URL through a proxy, and the proxy
//
// joining_test.go
//   - joining: is a store whose Deduct joins a shared write if it can, as sellers have batches written
//
// order_shared_test.go
//   - placed: is the result of an order
//   - several: is an order of one unit of each SKU, from segment 0
//
// order_trips_test.go
//   - patience: notes how long the message may take in which an order waits for its rows
//   - trips: counts the messages of statements, each of which waits for its answer
//
// plan_test.go
//   - connection: is a connection of a store on its own database
//   - slow: returns what is slow about a plan, "" if nothing is
//
// pooler_kit_test.go
//   - shares: says when a pooler gives the session of a connection to others
//   - startPooler: starts a pooler before a database, and returns the URL that leads through it
//
// pooler_test.go
//   - database: returns the URL of a new database with the schema
//   - hears: waits until a store hears of a restock by another one, or until it says why it cannot: what is wanted
//   - listens: returns nil when a store has heard of a restock by another one
//   - openStore: opens a store for as long as a test runs
//   - sell: sells through a store, in each way that it has, and returns the audit's error
//   - set: changes a setting of a database for later sessions
//
// session_test.go
//   - session: opens a connection to the URL with the settings that a store's have
//
// settle_order_test.go
//   - counted
//
// settle_shared_test.go
//   - cancel
//   - commit
//   - giveBack
//   - settled: is the result of a settlement
//
// sharing_limited_test.go
//   - limited: is a batch for segment 0 of a SKU with a limit of 2, with an order of one unit for each of these buyers
//
// sharing_race_test.go
//   - racers: write to the same SKUs through several stores, and record their answers
//
// sharing_test.go
//   - answer: is the result of a batch
//   - name
//   - one: is a batch for segment 0 of a SKU, with orders of one unit with these ids
//   - openSharers: opens sharers for a test in virtual time
//   - openSharersBy
//   - opening: opens a store
//   - sharers: are SKUs "a", "b", "c" and so on, of two segments with 10 units each, and a store that sells them
//   - stays: returns when a statement waits for what the connection next to the store holds, and checks that there is no answer
//
// store_test.go
//   - blocking: returns once a session waits for the transaction of a connection, or once the operation that should wait has ended
//   - dump: returns every row of every table, each value between blanks
//   - fresh: returns a database with a SKU "a" of one segment, a store on it, and another connection to it
//   - hold: locks all rows of a database, until they are released
//   - is: asks the server a moment later: in virtual time the test cannot sleep while a statement is under way
//   - migrate
//   - run
//   - until: returns once a query of a connection returns true
//
// watch_test.go
//   - change
//   - move
//   - restock
