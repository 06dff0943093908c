// Package experiment compares contenders on a machine that is never quite quiet.
//
// # Rules of measuring
//
// Contenders play in rounds, one window each, in an order that the seed draws for each round: none always follows the same
// other one. Before the first round each has a warm-up. Ratios are of windows of the same round, which had the same machine,
// so a machine that becomes slower falsifies none. Only whole rounds count.
//
// Each figure has an interval that holds the true one with a certainty of 95 %. Rounds go on until all intervals are narrow
// enough, or time is up. They never stop because an interval shows a wanted result.
//
// # Verdicts
//
// A target is met or missed where the whole interval is on one side of its bound, and undecided where the bound is within, or
// where there were too few rounds for an interval. A target without data is missed.
package experiment
