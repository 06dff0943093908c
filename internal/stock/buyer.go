package stock

// CheckBuyerID tells whether a text can be a buyer's id, as [Order] has it.
func CheckBuyerID(id string) error { return checkText("buyer_id", id, maxIDBytes) }
