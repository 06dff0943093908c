// Package experiment compares contenders as one has to on a machine that is never quite quiet.
//
// # Rules of measuring
//
// Contenders play in rounds, one window each. Each round has an order of its own, drawn by the seed, so none always
// follows the same other one. Before the first round each plays for a moment that does not count. What is asked are
// ratios, and these are paired: of windows of the same round, which had the same machine. So a machine that becomes slower
// says nothing about the contenders. Only whole rounds count.
//
// Each figure has an interval that holds the true one with a certainty of 95 %. Rounds go on until the intervals of all
// that is asked are narrow enough, or time is up. They never stop because an interval shows what somebody hoped for.
//
// # Verdicts
//
// A claim is met or missed where the whole interval is on one side of its bound, and undecided where the bound is within.
// Too few rounds for an interval leave it undecided; no data at all misses it.
package experiment
