// Package explain measures what batches, segments, locks and processes each buy. It sells one hot SKU in all combinations: with 1 or
// 10 segments, without locks or with the service's default, by 1 or 3 processes, in batches or order by order. Other numbers of
// segments and processes, and more than two, are possible. What a factor buys is the geometric mean of the ratios between cells
// that differ in it alone, paired within rounds (package experiment).
//
// All else is the same: callers in a closed loop inside the processes that sell, a PostgreSQL that syncs commits, a Redis, the
// garbage collection of `inventory serve`. Order by order is the service with batches of one. Each window begins with fresh
// processes, which sell for a while before it counts. Callers without an answer at its end wait for it, and their waits count in full.
package explain
