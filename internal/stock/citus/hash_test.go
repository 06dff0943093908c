package citus

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"inventory/internal/servertest"
)

// TestHash compares our hash with PostgreSQL's, which needs no Citus.
func TestHash(t *testing.T) {
	server, err := servertest.StartPostgres(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	conn, err := pgx.Connect(t.Context(), server.URL())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	for n := range 200 {
		for _, key := range []string{strings.Repeat("x", n), fmt.Sprintf("sku-%d", n), strings.Repeat("ü日", n/5)} {
			var want int32
			if err := conn.QueryRow(t.Context(), `SELECT hashtext($1 COLLATE "C")`, key).Scan(&want); err != nil || hash(key) != want {
				t.Fatalf("the hash of %q is %d, want %d: %v", key, hash(key), want, err)
			}
		}
	}
}
