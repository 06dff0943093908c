// Package crowd lets many callers at once buy one hot SKU, and counts what they were told: inside this process
// ([Buy]), or in processes of their own ([Start], [Work]), each of which runs the service as the product does and has
// its callers inside.
//
// A crowd is a closed loop: each caller buys again as soon as it has an answer, until a window of time is over. The
// clock stops when the last of them is back.
package crowd
