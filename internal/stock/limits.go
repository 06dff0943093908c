package stock

// Limits of what the service accepts. The database repeats them as constraints.
const (
	MaxStock        = 1_000_000_000 // units a SKU starts with
	MaxQuantity     = 1_000_000     // units of one deduction or restock
	MaxSegments     = 1024
	DefaultSegments = 10
	maxNameBytes    = 200
)
