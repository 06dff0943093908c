package sqlite

import (
	"testing"
	"time"

	"inventory/internal/stock"
	"inventory/internal/stock/tables"
)

func TestStatementsArePreparedOnce(t *testing.T) {
	store := opened(t)
	create := func(sku string) {
		if created, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: sku, Stock: 3, Segments: 3}, time.Now()); !created || err != nil {
			t.Fatal(created, err)
		}
	}
	create("a") // uses its statements
	if wanted := store.writer.wanted(); len(wanted) != 2 {
		t.Fatalf("met %q", wanted)
	}
	create("b")
	first := store.writer.known("insert_sku")
	create("c")
	if wanted := store.writer.wanted(); len(wanted) > 0 || first == nil || store.writer.known("insert_sku") != first {
		t.Errorf("prepared again, or still to be: %q", wanted)
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
