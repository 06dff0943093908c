package breaks

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

var (
	//go:embed create_stock.sql
	createStock string
	//go:embed put_stock.sql
	putStock string
	//go:embed read_stock.sql
	readStock string
	//go:embed write_stock.sql
	writeStock string
	//go:embed write_fenced_stock.sql
	writeFencedStock string
)

const (
	units   = 10 // of a row, at first
	ofFirst = 1  // that the first holder sells
	ofNext  = 3  // that the next one sells
)

// stock is the rows that locks guard. They are read and written in two steps.
type stock struct{ db *pgxpool.Pool }

func (s stock) put(ctx context.Context, name string) error {
	if _, err := s.db.Exec(ctx, putStock, name, units); err != nil {
		return fmt.Errorf("put stock there: %w", err)
	}
	return nil
}

func (s stock) read(ctx context.Context, name string) (available int, err error) {
	if err := s.db.QueryRow(ctx, readStock, name).Scan(&available); err != nil {
		return 0, fmt.Errorf("read stock: %w", err)
	}
	return available, nil
}

// write reports whether the row accepted the write of a caller that has, or had, the lock.
func (s stock) write(ctx context.Context, name string, available int, g *grip) (accepted bool, err error) {
	sql, args := writeStock, []any{name, available}
	if token, owner, has := g.fence(); has {
		sql, args = writeFencedStock, append(args, token, owner)
	}
	done, err := s.db.Exec(ctx, sql, args...)
	if err != nil {
		return false, fmt.Errorf("write stock: %w", err)
	}
	return done.RowsAffected() == 1, nil
}
