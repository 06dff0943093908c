package history

// The helpers that several files of these tests use. make list-helpers writes this file.
//
// check_test.go
//   - accept
//   - at: is an instant, in milliseconds since the start
//   - complaint: is a change of a history, and the promise that it breaks
//   - good: a good history: "a" has 10 units, of which o1 takes 4 after an attempt without an answer; o2 reserves 3 for a second, and expires; o3 is an order of a and b; o4 is refused
//   - refuse
//   - tried: is an attempt that took 10 ms, without a deadline
//   - wantComplaints: demands that each change of a history is complained about by its name
//   - wantNoComplaints: demands that neither a history nor what a change makes of it is complained about
//   - world: is a small history without a fault, and its rows: what a test changes in it is what the checker has to name
