// Package afternoon is the service that a team would write in an afternoon: Echo, a pool of connections, and for each order a
// transaction of its own, with a conditional UPDATE for each SKU and an INSERT. Order ids are unique, and requests and answers are
// those of the real service.
package afternoon

import (
	"context"
	_ "embed"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"inventory/internal/app"
	"inventory/internal/stock"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

var (
	//go:embed tables.sql
	tablesSQL string
	//go:embed put.sql
	putSQL string
	//go:embed take.sql
	takeSQL string
	//go:embed write.sql
	writeSQL string
	//go:embed once.sql
	onceSQL string
	//go:embed sold.sql
	soldSQL string
	//go:embed audit.sql
	auditSQL string
)

// Shop sells from a database.
type Shop struct{ db *pgxpool.Pool }

// Open connects to a database, and makes the tables. The caller closes the shop.
func Open(ctx context.Context, databaseURL string, connections int) (*Shop, error) {
	if err := servers.Execute(ctx, databaseURL, tablesSQL); err != nil {
		return nil, err
	}
	db, err := kinds.OpenPostgres(ctx, kinds.Setting{URLs: servers.URLs{DatabaseURL: databaseURL}, Connections: connections})
	return &Shop{db}, err
}

// Close closes the connections.
func (s *Shop) Close() { s.db.Close() }

// Line is a line of an order, and of its answer.
type Line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
	Status   string `json:"status,omitempty"`
}

// errTooFew ends the transaction of an order that cannot be filled.
var errTooFew = errors.New("there are too few units")

// Sell sells in a transaction of one statement for each line, and one that writes all of them down.
func (s *Shop) Sell(ctx context.Context, id string, lines []Line) (load.Outcome, error) {
	skus, quantities := columns(lines)
	return s.became(ctx, id, pgx.BeginFunc(ctx, s.db, func(tx pgx.Tx) error {
		for i, sku := range skus {
			if err := some(tx.Exec(ctx, takeSQL, sku, quantities[i])); err != nil {
				return err
			}
		}
		return some(tx.Exec(ctx, writeSQL, id, skus, quantities))
	}))
}

// SellAtOnce sells in one statement.
func (s *Shop) SellAtOnce(ctx context.Context, id string, lines []Line) (load.Outcome, error) {
	skus, quantities := columns(lines)
	return s.became(ctx, id, some(s.db.Exec(ctx, onceSQL, id, skus, quantities)))
}

// columns are the lines in the order of their SKUs, so that no two transactions wait for each other.
func columns(lines []Line) (skus []string, quantities []int64) {
	slices.SortFunc(lines, func(a, b Line) int { return strings.Compare(a.SKU, b.SKU) })
	for _, l := range lines {
		skus, quantities = append(skus, l.SKU), append(quantities, l.Quantity)
	}
	return skus, quantities
}

func some(tag pgconn.CommandTag, err error) error {
	if err == nil && tag.RowsAffected() == 0 {
		return errTooFew
	}
	return err
}

// uniqueViolation is PostgreSQL's code for a key that is there.
const uniqueViolation = "23505"

// became is what became of an order, by the error of its transaction. One that was not written may have been sold before.
func (s *Shop) became(ctx context.Context, id string, err error) (load.Outcome, error) {
	var refused *pgconn.PgError
	switch {
	case err == nil:
		return load.Accepted, nil
	case errors.As(err, &refused) && refused.Code == uniqueViolation:
		return load.Replayed, nil
	case !errors.Is(err, errTooFew):
		return load.Failed, err
	}
	var before bool
	if err := s.db.QueryRow(ctx, soldSQL, id).Scan(&before); err != nil || !before {
		return load.Refused, err
	}
	return load.Replayed, nil
}

// Worker is the kind of a process that serves.
const Worker = "afternoon"

// Job is what such a process needs.
type Job struct {
	DatabaseURL string `json:"database_url"` // "": it accepts all orders, and does nothing
	Connections int    `json:"connections"`
}

// Serve is the work of that process.
func Serve(ctx context.Context, lab *worker.Lab) error {
	var j Job
	if err := lab.Read(&j); err != nil {
		return err
	}
	app.SpendMemory(nil) // as the real service does
	var shop *Shop
	if j.DatabaseURL != "" {
		var err error
		if shop, err = Open(ctx, j.DatabaseURL, j.Connections); err != nil {
			return err
		}
		defer shop.Close()
	}
	server := httptest.NewServer(shop.handler())
	defer server.Close()
	return lab.Serve(server.URL)
}

// order is an order as it is sent, and its answer: of one SKU in its path, or of lines.
type order struct {
	SKU      string `param:"sku" json:"sku,omitempty"`
	OrderID  string `json:"order_id"`
	Quantity int64  `json:"quantity,omitempty"`
	Status   string `json:"status,omitempty"`
	Lines    []Line `json:"lines,omitempty"`
}

// handler has the routes of a shop; of none, it accepts all orders.
func (s *Shop) handler() http.Handler {
	e := echo.New()
	e.GET("/metrics", echo.WrapHandler(promhttp.Handler()))
	e.PUT("/v1/skus/:sku", s.put)
	e.POST("/v1/skus/:sku/deductions", s.post)
	e.POST("/v1/orders", s.post)
	return e
}

func (s *Shop) put(c echo.Context) error {
	var p struct {
		Stock int64 `json:"stock"`
	}
	if err := c.Bind(&p); err != nil {
		return err
	}
	if _, err := s.db.Exec(c.Request().Context(), putSQL, c.Param("sku"), p.Stock); err != nil {
		return err
	}
	return c.JSON(http.StatusCreated, p)
}

func (s *Shop) post(c echo.Context) (err error) {
	var o order
	if err := c.Bind(&o); err != nil {
		return err
	}
	const sold = "committed"
	lines, became := o.Lines, load.Accepted
	if o.SKU != "" {
		lines, o.Status = []Line{{SKU: o.SKU, Quantity: o.Quantity}}, sold
	}
	if s != nil {
		if became, err = s.Sell(c.Request().Context(), o.OrderID, lines); err != nil {
			return err
		}
	}
	for i := range o.Lines {
		o.Lines[i].Status = sold
	}
	switch became {
	case load.Accepted:
		return c.JSON(http.StatusCreated, o)
	case load.Replayed:
		return c.JSON(http.StatusOK, o)
	default:
		return c.JSON(http.StatusConflict, map[string]string{"code": string(stock.CodeSoldOut)})
	}
}

// Audit has the balance of each SKU in a database with the tables.
func Audit(ctx context.Context, databaseURL string) (a stock.Audit, err error) {
	err = servers.Connected(ctx, databaseURL, func(connection *pgx.Conn) error {
		rows, err := connection.Query(ctx, auditSQL)
		if err != nil {
			return err
		}
		a.SKUs, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (b stock.Balance, err error) {
			err = row.Scan(&b.SKU, &b.Initial, &b.Available, &b.Committed)
			return b, err
		})
		return err
	})
	return a, err
}
