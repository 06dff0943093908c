// Package flashsale plays a flash sale over HTTP, in an open loop: people come when they like, whatever the service is
// able to answer.
//
// A round sells one fresh SKU. Before its sale opens a trickle of buyers is turned away; at the opening a spike asks for
// more than there is, until it is sold out; then a storm of retries repeats orders of before, of which those of winners
// must get their answer again, and those of the others another refusal; in the end it cools down. How many come when is a
// list of phases ([ReadRates]), and each request follows from the seed and the round's number alone.
//
// Package history holds the answers against the rows. Nothing comes back in this run, so stock only falls, and it can tell
// of every refusal whether it was false for certain, or may have been.
package flashsale
