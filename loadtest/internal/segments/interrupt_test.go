package segments

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/servers"
)

// TestAnInterruptedSaleIsAudited interrupts three processes that would sell for an hour, as soon as there are orders.
func TestAnInterruptedSaleIsAudited(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	private, err := servers.Open(t.Context(), servers.URLs{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := private.Close(); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	why := errors.New("enough")
	watched := make(chan error, 1)
	go func() {
		watched <- waitForOrders(ctx, private.DatabaseURL)
		cancel(why)
	}()
	scale := Tiny()
	scale.Segments, scale.Processes, scale.Window = []int{3}, []int{3}, time.Hour
	result, err := Run(ctx, Config{
		Config: experiment.Config{URLs: private.URLs, Worker: []string{program, asWorker}, Progress: func(string) {}}, Scale: scale,
	})
	if failed := <-watched; failed != nil || !errors.Is(err, why) {
		t.Fatalf("%v: %v", failed, err)
	}
	d, text, _ := tell(t, result)
	if !d.Interrupted || !d.AuditOK || result.SKUs != 1 || len(result.Results[0].Rounds) != 0 || result.Unfinished() != matrixCase {
		t.Errorf("%+v\n%s", result, text)
	}
	if !strings.Contains(text, "audit of 1 SKUs: OK") {
		t.Errorf("%s", text)
	}
}

// waitForOrders waits until the database of a run, which the run creates, has orders.
func waitForOrders(ctx context.Context, serverURL string) error {
	server, err := pgx.Connect(ctx, serverURL)
	if err != nil {
		return err
	}
	defer server.Close(ctx)
	for tick := time.Tick(10 * time.Millisecond); ; <-tick {
		if err := ctx.Err(); err != nil {
			return err
		}
		var name string
		err := server.QueryRow(ctx, "SELECT datname FROM pg_database WHERE datname LIKE 'segments%'").Scan(&name)
		if err != nil {
			continue
		}
		orders, err := countOrders(ctx, server.Config(), name)
		if err == nil && orders > 50 {
			return nil
		}
	}
}

func countOrders(ctx context.Context, server *pgx.ConnConfig, database string) (orders int, err error) {
	config := server.Copy()
	config.Database = database
	connection, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return 0, err
	}
	defer connection.Close(ctx)
	err = connection.QueryRow(ctx, "SELECT count(*) FROM deductions").Scan(&orders)
	return orders, err
}
