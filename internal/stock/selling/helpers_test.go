package selling_test

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// batchlimit_test.go
//   - hall: is a store whose writes wait at a gate
//
// breaker_test.go
//   - answers: is a lock on a Redis that answers as the test says, and counts the requests
//   - endless: is a store of one segment that never runs short, and answers at once
//   - startRedis: starts a Redis until the end of the test
//
// changing_meet_test.go
//   - lines: are so many units of the first SKUs
//
// close_test.go
//   - held: is a store of one SKU that lets no write end until it is released
//
// deadline_test.go
//   - forgetful: is a store that never finds the orders of a buyer
//
// fault_test.go
//   - after: is an observer that calls f once, when a number of orders has been written
//
// forgotten_test.go
//   - forgetful: is a store that knows who is forgotten
//
// held_test.go
//   - held: is a service that sells many SKUs to many callers, and some more SKUs called stuck
//
// lock_test.go
//   - sluggish: is a store whose writes take a while
//
// lockrule_test.go
//   - batches: plays writes
//
// machine_model_test.go
//   - asked
//   - model: is what a service should do, in memory and without segments, locks or rows
//   - modelSKU
//
// machine_test.go
//   - holdsToItsModel: sends sequences to processes of a world, and compares them with the model
//   - machine: is a model and the services that should behave like it
//
// many_turns_test.go
//   - gate: is a store that stands still until it is opened
//   - ordersOf: are different orders of one SKU
//   - queued: checks how many orders wait once nothing happens any more
//
// multiorder_test.go
//   - eachShop: runs a test on each store, with locks and without, and with a SKU of three segments for each stock
//   - shopSKU
//
// old_refusal_test.go
//   - heldDeduct: holds up the first write until it is released
//
// queue_test.go
//   - ask
//   - idle: is a store that sends no notifications
//   - ids
//
// reservation_test.go
//   - sumOfParts
//
// seen_test.go
//   - looks: counts the looks at the SKUs of orders, and the writes of orders of several SKUs
//
// service_test.go
//   - newSlowStore
//   - slowStore: holds back batches until it is released
//
// soldout_random_test.go
//   - won: is an order that was accepted, and by which process
//
// still_test.go
//   - eachStill: runs a test on each store, with a SKU of that many units, and checks how many are left
//
// stocklevel_test.go
//   - told: is what a listener was told of one SKU: sold_out and back_in_stock, in their order
//
// terms_seen_test.go
//   - meanwhile: is a store where something happens once, when two SKUs have been looked at
//
// terms_test.go
//   - multi: is an order of several SKUs, with a single line
//
// world_test.go
//   - busy: reports whether a call may have failed because the machine is busy: a statement has two seconds, and a queue has a bound
//   - clock: is a clock that stands still until it is moved
//   - closeStore
//   - counts: is an observer that counts orders
//   - eachStore: runs a test in virtual time on each store, with locks where they save waiting
//   - eachWorld: runs a test in virtual time: on PostgreSQL with a lock for every batch, with locks where they save waiting, and without locks, and on SQLite, which differs in its store, with a lock for every batch
//   - embedded: is the world of one process: SQLite and miniredis
//   - migrated: returns a new database of the server, with the schema
//   - newClock
//   - openPostgres
//   - optionsOf: are those of a client of a server
//   - patiently: repeats a call while the machine is too busy for it
//   - real: is a world of PostgreSQL and Redis
//   - realOn: is a real world on a copy of a template with the schema
//   - serve: returns a service until the end of a test
//   - silent: is a world of PostgreSQL for virtual time, which no connection that listens would let pass
//   - tally: counts the answers that buyers got
//   - virtually: runs a test in a world in virtual time, which passes only while all goroutines wait for each other or for time
//   - world: is a database and a Redis that several services share, as several processes would
