package sqlite

import (
	"strings"
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

func TestAllStatementsArePrepared(t *testing.T) {
	store := opened(t)
	for _, db := range []*database{store.reader, store.writer} {
		for name := range db.statements {
			if db.prepared[name] == nil && !strings.HasPrefix(name, "lines") { // those name indexes that are built on demand
				t.Errorf("%s is not prepared", name)
			}
		}
	}
}

func TestStatementThatCannotBePrepared(t *testing.T) {
	store := opened(t)
	store.writer.statements["bad"] = tables.SQL{Text: "DELETE FROM nowhere"}
	for range 2 { // the second time it is needed
		err := store.inTx(t.Context(), time.Time{}, func(tx *transaction) error {
			_, err := tx.exec(t.Context(), "bad")
			return err
		})
		if err == nil {
			t.Fatal("no error")
		}
	}
	if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: "a", Segments: 1}, time.Now()); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
