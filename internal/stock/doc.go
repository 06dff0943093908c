// Package stock is the domain: SKUs whose units lie in segments, orders and deductions, reservations, the ledger.
//
// It has what callers and stores both know:
//
//   - the values, and which of them are allowed ([Order], [NewSKU], [Movement], [MultiOrder], their Check methods);
//   - the contract of a [Store], which reads, locks and writes rows;
//   - the plans, pure functions that decide what a store writes ([Demand.Admit], [PlanMerge], [PlanSettlement],
//     [PlanExpiry], [TakeAway]), so that all stores decide alike;
//   - the errors that callers see, by [Code].
//
// Package selling, below this one, does the selling. The stores are in postgres and sqlite, and stocktest is the suite
// that both pass.
package stock
