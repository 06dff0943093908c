//go:build unix && citus

package servertest

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestCitus(t *testing.T) {
	c, err := StartCitus(t.Context(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	url, drop, err := c.CreateDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.WithoutCancel(t.Context()))
	var nodes int
	if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_dist_node WHERE shouldhaveshards`).Scan(&nodes); err != nil || nodes != 2 {
		t.Errorf("%d nodes have shards, %v", nodes, err)
	}
	if err := drop(t.Context()); err != nil {
		t.Error(err)
	}
}
