// Package capacity computes what a sale needs, from what orders cost on this machine.
//
// Callers order over HTTP, one work at a time: one hot SKU, many SKUs, orders of several, a sold-out SKU. The lab's gauges
// measure the processor time. Orders one at a time, and orders of many callers, give the cost of an order and of a write
// ([Costs]). From these follow the limits of a work ([Costs.limits]), the needs of a sale, and, by a simulation in virtual time
// ([simulate]), how long buyers wait.
//
// Each round also compares a prediction with a measurement: costs with few callers predict the orders of many. The formulae and
// their assumptions are in docs/SCALE.md.
package capacity
