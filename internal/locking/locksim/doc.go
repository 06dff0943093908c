// Package locksim plays histories of the lock library in virtual time: many processes on one server, or on several
// that RedLocks are on, with a network between them that delays, loses, repeats, cuts and parts, servers that stand
// still, restart, forget and set their clocks, keys that vanish one by one, subscriptions that are refused, die silently or
// are not counted, wake-ups that are lost, doubled, late or about another lock, and processes that stop or die. A seed
// decides all of it, and most seeds give the same history again within some plays. Promises that hold at any time are
// checked all the time.
//
//	go test ./internal/locking/locksim -run '^TestSimulation$' -sim.seed=N            the history of a seed again
//	go test ./internal/locking/locksim -run '^TestSimulationOfRedLocks$' -sim.seed=N    the same on several servers
//	make simulate SIMTIME=1h                                                           as many as there is time for
//
// # How it works
//
// A history lives in a bubble of testing/synctest, whose clock stands still until everybody waits. Servers are
// miniredis, which runs the real scripts and is reached in memory; the clients are real, with their pools
// and retries. Between the two, a link per connection cuts the bytes into requests and answers. The fate
// of each is drawn from the seed, its sender, its time and its text. An agenda lets one thing happen at a
// time and waits until all is at rest, so that chance has no say in the order of things. Where two goroutines or timers
// of a process are ready at one moment, Go decides by chance all the same: some seeds have a few histories.
//
// # What is checked
//
//   - Two owners never trust their holds on one lock at once, except readers, and except after the server has
//     lost its memory or its clock went ahead. For RedLocks this excuses only if as many have as the locks say
//     they cannot bear: k + q - n of the k servers that granted a hold. The same goes for their tokens.
//   - Tokens grow with every grant, by what clients hear and by what the server's state says, and are the same
//     on re-entry. So a guard refuses nobody who is still right, and accepts no older grant after a newer one.
//   - An error is no grant, and the server counts no holds that nobody has.
//   - A caller that has gone is not admitted.
//   - In the end nothing is held, no key is left but clocks, and no goroutine. Every key has a TTL.
//   - A lock that nobody holds does not stay free while somebody waits. A wait without a bound ends.
//   - First-come locks let in who came first.
//   - What was freed by force is held by nobody, and a token that was raised stays one of its grant.
//   - Some order of all operations explains what the clients have seen (see History).
//
// # What it cannot do
//
// A process that stands still goes on in here: only its network stops. Real sockets do not exist. miniredis
// counts times to live down, so that setting its clock back prolongs no Mutex, as it would on Redis.
package locksim
