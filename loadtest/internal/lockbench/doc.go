// Package lockbench measures the kinds of locks of internal/locking beside their peers, in one run of one program.
//
// # Rules of measuring
//
// A case is a question, such as what 64 goroutines get from one lock. Rounds, ratios, intervals and verdicts are those of
// package experiment. What must never happen is added up.
//
// Connections, scripts and subscriptions are there before the clock starts, and it stops at the last release. A wait
// lasts from the call of Lock to its return. Commands are those that a client writes to its connections, subscriptions
// and clean-up included; what a script does inside the server is not counted. Fairness is Jain's index over the
// acquisitions of each caller: 1 when all got the same, 1/n when one got all.
//
// Under the lock a caller counts with two plain integers, and yields its processor where it does not hold the lock for a
// while. Two callers inside at once are seen by their difference or by the sum; both count as violations. Between processes a
// counter on the server does it, outside of the timed part.
//
// A contender that hangs has a time limit. What it has done until then is its result, and a note tells.
//
// # Peers
//
// bsm/redislock, redsync, and the locks of textbooks (package kinds), which are measured although they are broken. All are
// opened in one way (package kinds). Who has to poll has the interval in its name. rueidislock is left out, because its module
// could not be had where this was made.
package lockbench
