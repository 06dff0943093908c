// Package flashsale plays a flash sale over HTTP, in an open loop: people come when they like, whatever the service is
// able to answer.
//
// A round sells one fresh SKU. Before its sale opens a trickle of buyers is turned away; at the opening a spike asks for
// more than there is, until it is sold out; then a storm of retries repeats orders of before, of which those of winners
// must get their answer again, and those of the others another refusal; in the end it cools down. How many come when is a
// list of phases ([ReadRates]), and each request follows from the seed and the round's number alone.
//
// # What the answers are held against
//
// After the rounds every order id that was sent is looked up in the rows. An order that a buyer was told of must be there
// as it was asked for; one that was refused must not; one that got no answer may. No order is accepted twice, a winner's
// retry is never refused, and the units of the rows are those of the SKU's balance, which the audit recomputes.
//
// # False sold-outs
//
// Nothing comes back in this run, so stock only falls, and a refusal is false if there was enough when it was answered. Of
// units that were sold it is known when their order was sent, before which they cannot have been taken, and when its answer
// came, after which they had been. So a refusal is false for certain if orders that were sent only after it was answered
// got as many units as it asked for, those counted in that nobody has got in the end; and it may be false if orders
// that were answered after it did. For sold_out one unit is enough.
package flashsale
