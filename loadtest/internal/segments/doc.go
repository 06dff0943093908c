// Package segments measures what segments buy: how many orders of one SKU the service accepts a second, by the number of
// its segments and of the processes that sell it; and how the service behaves when one of the processes stands still, and
// when far more is asked for than it can sell.
//
// # Rules of measuring
//
// All processes share one PostgreSQL that syncs every commit and one Redis; these, the callers and this program share
// the machine. Each window of a contender sells a SKU of its own that does not sell out. Rounds, ratios, intervals and
// verdicts are those of package experiment.
//
// A run ends with the audit: what callers were told is held against the rows, and the two must be equal, for every
// SKU. A caller whose answer leaves open what happened asks again, as callers should, so that it knows.
package segments
