// Package capacity tells what a sale needs, from what orders cost here.
//
// It has buyers order over HTTP, some work each: one hot SKU, many SKUs, orders of several, a SKU that is sold out. Beside each
// stands what the processes used of processors, by the lab's gauges. What one order costs by itself and what it costs among
// others tell apart what each order costs and what each write costs ([Costs]). From these come the needs of a sale, where a work
// stops ([Costs.limits]), and, by a simulation in virtual time ([simulate]), how long buyers wait.
//
// Each round also holds the model against the machine: costs taken with few callers predict what many get, and the prediction
// stands beside the measurement. The formulae and what they assume are in docs/SCALE.md.
package capacity
