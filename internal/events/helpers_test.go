package events

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// main_test.go
//   - back
//   - count: returns how many events arrived, and how many were lost
//   - listenUntil: takes from a subscription until enough returns true
//   - newHub: returns a hub of this process alone
//   - newRelayed: returns a hub that receives batches of others on a channel of a Redis server
//   - sold
//   - soldOut
//   - subscribe
