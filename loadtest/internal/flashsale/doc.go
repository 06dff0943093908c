// Package flashsale plays a flash sale over HTTP, in an open loop.
//
// A round sells one fresh SKU. A trickle of buyers comes before its sale opens, and is refused; a spike asks for more than there
// is, until it is sold out; a storm of retries repeats earlier orders; in the end it cools down. The rates are a list of phases
// ([ReadRates]), and each request follows from the seed and the round's number alone.
//
// Package history compares the answers with the rows. Nothing comes back in this run, so stock only falls, and of every refusal
// it is known whether it was false for certain, or may have been.
package flashsale
