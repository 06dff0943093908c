package postgres_test

import (
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/stock/postgres"
)

// TestSecondForgetKeyWaitsForTheFirst: while the transaction that notes the first key is under way, another key is not noted. It finds the
// first one after that.
func TestSecondForgetKeyWaitsForTheFirst(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		store, conn := fresh(t, 1)
		first, err := conn.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		does := func(name string, args ...any) {
			if _, err := first.Exec(t.Context(), postgres.Statements().Of(name).Text, args...); err != nil {
				t.Fatal(err)
			}
		}
		does("lock_forgotten")
		does("note_forget_key", "first")
		second := make(chan bool, 1)
		go func() {
			noted, err := store.NoteForgetKey(t.Context(), "second")
			if err != nil {
				t.Error(err)
			}
			second <- noted
		}()
		blocking(t, conn, second)
		if err := first.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if <-second {
			t.Error("both keys are noted")
		}
	})
}
