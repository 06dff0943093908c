package stock

// LargestShared is how many orders of a SKU, or settle requests, may share a write with those of other SKUs. Of a larger batch half of
// what a statement costs are its own rows.
const LargestShared = 16

// A Sharer is a store in which batches of different SKUs that wait at the same time share a write.
type Sharer interface {
	// Share has a batch of a SKU written together with others, soon, and does not wait for it. buyerLimit says whether the SKU has a
	// buyer limit. It reports false, and calls nothing, if the batch is one for Deduct: nothing else is under way.
	Share(sku string, buyerLimit bool, batch SharedBatch) bool
}

// A SharedBatch is a batch that waits for a shared write. The store calls its methods one after the other, in another goroutine than
// Share, and they must not wait for anything.
type SharedBatch interface {
	// Take returns the batch, of at most LargestShared orders, when the write begins. It reports false if there is nothing to write any
	// more.
	Take() (Batch, bool)
	// Written says what became of a batch that was taken. Unless it is settled nothing of it is written, and Deduct is to decide. With
	// an error its outcome is not known, unless the error is ErrUnwritten.
	Written(result BatchResult, settled bool, err error)
}
