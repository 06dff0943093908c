package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"inventory/internal/api"
	"inventory/internal/api/client"
	"inventory/internal/cli"
	"inventory/internal/progress"
	"inventory/internal/stock"
)

type importCommand struct {
	File   string `help:"CSV file in UTF-8 whose first row names the columns, in any order: sku, stock, and if you like segments, name, sale_starts_at, sale_ends_at, per_buyer_limit, max_quantity, max_reserve_for. An empty cell is the default for a new SKU, and anything for one that is there." placeholder:"FILE" required:"" env:"-"`
	URL    string `help:"Base URL of the service." default:"http://127.0.0.1:8080" placeholder:"URL"`
	APIKey string `name:"api-key" env:"INVENTORY_API_KEY" help:"API key with scope admin. Better in the environment, where other users do not see it." placeholder:"KEY"`
	DryRun bool   `help:"Only say what would be created." env:"-"`
}

// Help shows examples.
func (importCommand) Help() string {
	return `It changes no SKU that is there: run again, it creates what is missing.

Examples:

    inventory import --file skus.csv --dry-run
    INVENTORY_API_KEY=… inventory import --file skus.csv --url https://shop:8080`
}

const (
	importing  = 8           // rows at the same time
	limitedFor = time.Second // until a request is sent again that the rate limit has refused
	limitedAt  = 60          // so many times
)

// errDiffers means that SKUs are there, and are not as the file says.
var errDiffers = errors.New("SKUs are not as the file says")

// Run reads the whole file, creates its SKUs, and prints those that are new or differ.
func (c *importCommand) Run(ctx context.Context, s cli.Streams) error {
	rows, err := c.read(s)
	if err != nil {
		return err
	}
	service, err := client.NewService(c.URL, importing, patience, client.WithKey(c.APIKey))
	if err != nil {
		return usageError{err}
	}
	defer service.Close()
	shown := progress.New(s.Err, "SKUs", len(rows))
	imports, sending := errgroup.WithContext(ctx)
	imports.SetLimit(importing)
	for i := range rows {
		imports.Go(func() (err error) {
			if err = sending.Err(); err == nil {
				err = rows[i].create(sending, service, c.DryRun)
			}
			if err != nil {
				return fmt.Errorf("line %d: SKU %s: %w", rows[i].line, rows[i].SKU, err)
			}
			shown.Add()
			return nil
		})
	}
	err = imports.Wait()
	shown.Finish()
	return errors.Join(err, c.print(s, rows))
}

// print prints the SKUs that are new or differ, and how many there are of each.
func (c *importCommand) print(s cli.Streams, rows []skuRow) error {
	state, created, differ, same := "created", 0, 0, 0
	if c.DryRun {
		state = "to create"
	}
	for _, row := range rows {
		switch {
		case row.created:
			created++
			s.Printf("%s: %s\n", row.SKU, state)
		case len(row.differs) > 0:
			differ++
			s.Printf("%s: %s\n", row.SKU, strings.Join(row.differs, "; "))
		case row.done:
			same++
		}
	}
	s.Printf("%s: %d %s, %d as they were, %d different\n", cli.Count(created+differ+same, "SKU"), created, state, same, differ)
	if differ > 0 {
		return fmt.Errorf("%d %w", differ, errDiffers)
	}
	return nil
}

// skuRow is a row of the file, and what became of it.
type skuRow struct {
	stock.NewSKU
	line  int
	given []string // its columns with a value

	done, created bool
	differs       []string // of a SKU that is there
}

// create creates the SKU, or compares the one that is there.
func (r *skuRow) create(ctx context.Context, service *client.Service, dryRun bool) error {
	there, err := unlimited(ctx, func() (client.Answer[client.SKU], error) { return service.ReadSKU(ctx, r.SKU) })
	switch {
	case err != nil:
		return err
	case there.OK():
		err = r.compare(*there.Body)
	case there.Problem == nil || there.Problem.Code != client.UnknownSku:
		return there.Err()
	case dryRun:
		r.created = true
	default:
		made, err := unlimited(ctx, func() (client.Answer[client.SKU], error) { return service.CreateSKU(ctx, r.SKU, r.body()) })
		if err == nil {
			err = made.Err()
		}
		if err != nil {
			return err
		}
		r.created = made.Status == http.StatusCreated
	}
	r.done = err == nil
	return err
}

// unlimited sends a request again that the rate limit has refused.
func unlimited[T any](ctx context.Context, send func() (client.Answer[T], error)) (answer client.Answer[T], err error) {
	for range limitedAt {
		if answer, err = send(); err != nil || answer.Status != http.StatusTooManyRequests {
			break
		}
		select {
		case <-time.After(limitedFor):
		case <-ctx.Done():
			return answer, ctx.Err()
		}
	}
	return answer, err
}

// body is the request that creates the SKU. What is zero is left out.
func (r *skuRow) body() client.NewSKU {
	body := client.NewSKU{
		Stock: r.Stock, Segments: &r.Segments, Name: orNone(r.Name), SaleStartsAt: orNone(r.SaleStartsAt), SaleEndsAt: orNone(r.SaleEndsAt),
		PerBuyerLimit: orNone(r.PerBuyerLimit), MaxQuantity: orNone(r.MaxQuantity),
	}
	if r.MaxReserveFor > 0 {
		body.MaxReserveFor = new(r.MaxReserveFor.String())
	}
	return body
}

func orNone[T comparable](value T) *T {
	if value == *new(T) {
		return nil
	}
	return &value
}

// compare notes where the SKU that is there differs in what the file gives.
func (r *skuRow) compare(there client.SKU) error {
	if there.ArchivedAt != nil {
		r.differs = append(r.differs, "it is archived")
	}
	is, err1 := membersOf(there)
	should, err2 := membersOf(r.body())
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	is["segments"] = len(there.Segments)
	for _, name := range r.given {
		if before, after := fmt.Sprint(cmp.Or(is[name], "not set")), fmt.Sprint(should[name]); before != after {
			r.differs = append(r.differs, fmt.Sprintf("%s is %s, and %s in the file", name, before, after))
		}
	}
	return nil
}

// membersOf returns the members that a SKU has in JSON, which have the names of columns.
func membersOf(sku any) (members map[string]any, err error) {
	text, err := json.Marshal(sku)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&members)
	return members, err
}

const mostWrong = 20 // rows that are printed

// read reads the file. If a row is wrong it prints which, and returns an error.
func (c *importCommand) read(s cli.Streams) ([]skuRow, error) {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return nil, fmt.Errorf("--file: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, usageError{fmt.Errorf("%s is not in UTF-8: save it as CSV in UTF-8", c.File)}
	}
	rows, wrong, err := parseSKUs(text)
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", c.File, err)}
	}
	if len(wrong) == 0 {
		return rows, nil
	}
	for _, one := range wrong[:min(len(wrong), mostWrong)] {
		_, _ = fmt.Fprintf(s.Err, "%s, %s\n", c.File, one)
	}
	are := "rows are"
	if len(wrong) == 1 {
		are = "row is"
	}
	return nil, usageError{fmt.Errorf("%s: %d %s wrong, and nothing was done", c.File, len(wrong), are)}
}

// parseSKUs reads the rows of a CSV text. wrong says what is wrong with others.
func parseSKUs(text []byte) (rows []skuRow, wrong []string, err error) {
	file := csv.NewReader(bytes.NewReader(text))
	columns, err := file.Read()
	if errors.Is(err, io.EOF) {
		err = errors.New("it is empty")
	}
	if err == nil {
		err = checkColumns(columns)
	}
	if err != nil {
		return nil, nil, err
	}
	lines := make(map[string]int)
	for {
		cells, err := file.Read()
		if errors.Is(err, io.EOF) {
			return rows, wrong, nil
		}
		if broken, is := errors.AsType[*csv.ParseError](err); is {
			wrong = append(wrong, fmt.Sprintf("line %d: %v", broken.StartLine, broken.Err))
			if !errors.Is(err, csv.ErrFieldCount) { // it is not known where the next row begins
				return nil, wrong, nil
			}
			continue
		}
		line, _ := file.FieldPos(0)
		row, err := parseSKU(columns, cells)
		row.line = line
		if first := lines[row.SKU]; err == nil && first > 0 {
			err = fmt.Errorf("sku %s is in line %d, too", row.SKU, first)
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("line %d: %v", line, err))
			continue
		}
		lines[row.SKU] = line
		rows = append(rows, row)
	}
}

// checkColumns cleans the names of columns, and refuses those that mean nothing.
func checkColumns(columns []string) error {
	known := []string{"sku", "stock", "segments", "name", "sale_starts_at", "sale_ends_at", "per_buyer_limit", "max_quantity", "max_reserve_for"}
	for i, name := range columns {
		columns[i] = strings.ToLower(strings.TrimSpace(name))
		switch {
		case len(columns) == 1 && strings.ContainsAny(name, ";\t"):
			return errors.New("line 1: a comma must be between columns")
		case !slices.Contains(known, columns[i]):
			return fmt.Errorf("line 1: there is no column %q: the columns are %s", name, strings.Join(known, ", "))
		case slices.Contains(columns[:i], columns[i]):
			return fmt.Errorf("line 1: the column %s is there twice", columns[i])
		}
	}
	for _, name := range known[:2] {
		if !slices.Contains(columns, name) {
			return fmt.Errorf("line 1: the column %s is missing", name)
		}
	}
	return nil
}

// parseSKU reads the cells of a row as the API reads a request.
func parseSKU(columns, cells []string) (row skuRow, err error) {
	name, body := "", make(map[string]any)
	for i, column := range columns {
		cell := strings.TrimSpace(cells[i])
		number, _ := strconv.ParseInt(cell, 10, 64)
		isNumber := cell == strconv.FormatInt(number, 10) // not 0020 or +5, which JSON does not have either
		switch {
		case column == "sku":
			name = cell
			continue
		case cell == "":
			continue
		case isNumber && !slices.Contains([]string{"name", "sale_starts_at", "sale_ends_at"}, column):
			body[column] = number
		default:
			body[column] = cell
		}
		row.given = append(row.given, column)
	}
	text, err := json.Marshal(body)
	if err == nil {
		row.NewSKU, err = api.ReadNewSKU(name, text)
	}
	if refusal, is := errors.AsType[*stock.Error](err); is {
		err = errors.New(refusal.Message) // begins with the column; the rest is about JSON
	}
	return row, err
}
