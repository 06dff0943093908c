package history

// Promised is a promise that a check tries, with the names of its violations. The first name counts how often it was tried.
type Promised struct {
	Names []string
	Says  string
}

// Promises are all of them, as docs/LAB.md tells them.
func Promises() []Promised {
	return []Promised{
		{[]string{"lost", "different", "twice", "from nowhere", "ledger", "amendment"}, "An accepted operation has its row, once and whole, and no other has one."},
		{[]string{"half"}, "An order of several SKUs is written, settled and told as a whole."},
		{[]string{"replay"}, "A retry gets the first answer, and does nothing twice."},
		{[]string{"no reason", "not final"}, "A refusal has a reason, and stays one."},
		{[]string{"false refusal", "stranded"}, "“Sold out” was true, and no unit is stranded."},
		{[]string{"oversold", "missing", "no such SKU"}, "The units of a SKU add up."},
		{[]string{"buyer limit"}, "No buyer holds more than one buyer may."},
		{[]string{"ended"}, "An order sent again is accepted if it holds units, and only then."},
		{[]string{"undone", "no cause"}, "What was told once is never contradicted, and has its cause."},
		{[]string{"too early", "too late"}, "A reservation lasts until its time, and no longer."},
		{[]string{"late"}, "Nothing is written after its deadline."},
		{[]string{"fence"}, "No row is written under an older token."},
		{[]string{"audit"}, "The service's own audit finds nothing."},
	}
}
