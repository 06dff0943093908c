package access

import (
	"errors"
	"strings"
)

// Rights are what a caller may do beyond buying. With the zero Rights a buyer may take units, and give back units that
// are only reserved.
type Rights struct {
	Commit bool // keep what is reserved, and reserve it for longer
	Return bool // give back what is committed
	// MaxQuantity is how many units of a SKU one order may ask for if the SKU's terms set no limit; 0: the limit of all
	// callers.
	MaxQuantity int64
}

// all are the rights of a shop's backend.
var all = Rights{Commit: true, Return: true}

// ParseRights parses the rights of tokens beyond buying: commit, return, both separated by a comma, or "" for neither.
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
