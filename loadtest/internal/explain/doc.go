// Package explain tells what batches, segments, locks and processes each buy: it sells one hot SKU with every combination
// of 1 or 10 segments, no lock or the service's default, 1 or 3 processes, and batches or order by order.
//
// What a factor buys is the geometric mean of the eight ratios between cells that differ in it alone, paired within
// rounds (package experiment). Beside it stand the combinations with which it buys least and most.
//
// Everything else is the same in all cells: callers in a closed loop, inside the processes that sell; a PostgreSQL that
// syncs commits; a Redis; the settings of the garbage collector that `inventory serve` has. Order by order is the service
// with batches of one: as many workers as there are segments write side by side, each one order a statement. With batches
// as many workers may, and fewer do. Each window begins with fresh processes, which sell for a while before it counts.
// Callers who have no answer when it ends wait for it, and their waits count in full.
package explain
