// Package segments measures how many orders of one SKU the service accepts a second, by the number of its segments and of the
// processes that sell it; and how the service behaves when one of the processes stands still, and under far more orders than it
// can sell.
//
// All processes share one PostgreSQL that syncs every commit and one Redis; these, the callers and this program share the
// machine. Each window of a contender sells a SKU of its own that does not sell out. Rounds, ratios, intervals and verdicts are
// those of package experiment.
//
// The audit at the end compares the answers with the rows of every SKU: the two must be equal. A caller whose answer leaves open
// what happened asks again.
package segments
