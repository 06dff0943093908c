package contenders

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"inventory/internal/access"
)

// keys are the API keys of a case: what the lab shows to the sites it starts, which know both from a file.
type keys struct {
	file  string
	buyer string // sends orders
	admin string // puts SKUs up for sale
}

// issueKeys makes the keys of a case, and the file that lets them in.
func (w *world) issueKeys() error {
	folder, err := w.folder()
	if err != nil {
		return err
	}
	w.keys.file = filepath.Join(folder, "keys")
	var buyerLine, adminLine string
	var err2 error
	w.keys.buyer, buyerLine, err = access.NewKey("shop", access.ScopeBuyer)
	w.keys.admin, adminLine, err2 = access.NewKey("lab", access.ScopeAdmin)
	err = errors.Join(err, err2)
	if err == nil {
		err = os.WriteFile(w.keys.file, []byte(buyerLine+"\n"+adminLine+"\n"), 0o600)
	}
	if err != nil {
		return fmt.Errorf("issue API keys: %w", err)
	}
	return nil
}
