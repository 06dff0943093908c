package access

import (
	"errors"
	"strings"
)

// Rights are what a caller may do beyond buying. The zero Rights are those of a buyer, who may take, and give back what is
// only reserved.
type Rights struct {
	Commit bool // keep what is reserved, and reserve it for longer
	Return bool // give back what is committed
	// MaxQuantity is how many units of a SKU one order may ask for if the SKU's terms do not say; 0: as many as
	// anybody's.
	MaxQuantity int64
}

// all are the rights of a shop's backend.
var all = Rights{Commit: true, Return: true}

// ParseRights reads what tokens may do beyond buying: commit, return, both separated by a comma, or "" for neither.
func ParseRights(text string) (r Rights, err error) {
	if text == "" {
		return r, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		switch strings.TrimSpace(word) {
		case "commit":
			r.Commit = true
		case "return":
			r.Return = true
		default:
			return Rights{}, errors.New("must be commit, return, or both with a comma in between")
		}
	}
	return r, nil
}
