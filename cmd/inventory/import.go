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
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"inventory/internal/api/client"
	"inventory/internal/cli"
	"inventory/internal/progress"
)

type importCommand struct {
	File   string `help:"CSV file in UTF-8 whose first row names the columns, in any order: sku, stock, and if you like segments, name, sale_starts_at, sale_ends_at, per_buyer_limit, limit_group, max_quantity, max_reserve_for. An empty cell is the default." placeholder:"FILE" required:"" env:"-"`
	URL    string `help:"Base URL of the service." default:"http://127.0.0.1:8080" placeholder:"URL"`
	APIKey string `name:"api-key" env:"INVENTORY_API_KEY" help:"API key with scope admin. Better in the environment, where other users do not see it." placeholder:"KEY"`
	DryRun bool   `help:"Check each row as without it, and only say what would be created." env:"-"`
}

// Help shows examples.
func (importCommand) Help() string {
	return `It changes no SKU that is there: run again, it creates what is missing.

Examples:

    inventory import --file skus.csv --dry-run
    INVENTORY_API_KEY=… inventory import --file skus.csv --url https://shop:8080`
}

// importPatience is how long a row may take: a rate limit lets it wait.
const importPatience = time.Minute

// errDiffers means that SKUs are there, and are not as the file says.
var errDiffers = errors.New("SKUs are not as the file says")

// skuRow is a row of the file: a SKU, and the body of the request that creates it.
type skuRow struct {
	sku  string
	body []byte
}

// Run sends each row to the service as it stands, one after the other, and prints the SKUs that are new, differ or are wrong. The
// service checks the values, and to create a SKU again changes nothing.
func (c *importCommand) Run(ctx context.Context, s cli.Streams) error {
	rows, err := c.read()
	if err != nil {
		return err
	}
	service, err := client.NewService(c.URL, 1, importPatience, client.WithKey(c.APIKey))
	if err != nil {
		return usageError{err}
	}
	defer service.Close()
	service.Waits = tellWaits(s.Err, c.URL)
	state, statuses := "created", make(map[int]int)
	if c.DryRun {
		state = "to create"
	}
	shown := progress.New(s.Err, "SKUs", len(rows))
	for i, row := range rows {
		var answer client.Answer[client.SKU]
		if answer, err = c.send(ctx, service, row); err != nil {
			err = fmt.Errorf("row %d, SKU %q: %w", i+2, row.sku, err)
			break
		}
		switch answer.Status {
		case http.StatusCreated:
			s.Printf("%s: %s\n", row.sku, state)
		case http.StatusConflict, http.StatusBadRequest:
			s.Printf("row %d, SKU %q: %s\n", i+2, row.sku, answer.Problem.Detail)
		}
		statuses[answer.Status]++
		shown.Add()
	}
	shown.Finish()
	same, created := statuses[http.StatusOK], statuses[http.StatusCreated]
	differ, wrong := statuses[http.StatusConflict], statuses[http.StatusBadRequest]
	s.Printf("%s: %d %s, %d as they were, %d different\n", cli.Count(created+same+differ, "SKU"), created, state, same, differ)
	switch {
	case err != nil:
		return err
	case wrong > 0:
		return usageError{fmt.Errorf("%s: %s wrong, and not imported", c.File, cli.Count(wrong, "row"))}
	case differ > 0:
		return fmt.Errorf("%d %w", differ, errDiffers)
	}
	return nil
}

// tellWaits returns what tells a person why the import stands still: at once if nothing listens at the URL, then every few seconds.
func tellWaits(to io.Writer, target string) func(why error, pause time.Duration) {
	const every = 5 * time.Second
	if u, err := url.Parse(target); err == nil {
		target = u.Redacted() // it may have a password
	}
	var waited, told time.Duration
	return func(why error, pause time.Duration) {
		refused := errors.Is(why, syscall.ECONNREFUSED)
		if waited += pause; refused && told == 0 || waited-told >= every {
			said := "still waiting"
			if refused {
				said = "nothing listens at " + target
			}
			_, _ = fmt.Fprintf(to, "%s, trying again (%v)\n", said, cli.Clean(why.Error())) // there is nowhere else to tell it
			told = waited
		}
	}
}

// send creates a SKU, or only tries to. An answer that is not about this row alone is an error.
func (c *importCommand) send(ctx context.Context, service *client.Service, row skuRow) (answer client.Answer[client.SKU], err error) {
	answer, err = service.CreateSKUFrom(ctx, row.sku, row.body, c.DryRun)
	if err != nil || answer.OK() || answer.Problem == nil {
		return answer, cmp.Or(err, answer.Err())
	}
	switch answer.Problem.Code {
	case client.SkuExists, client.InvalidRequest:
	default:
		err = answer.Err()
	}
	return answer, err
}

// read reads the file.
func (c *importCommand) read() (rows []skuRow, err error) {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return nil, fmt.Errorf("--file: %w", err)
	}
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if !utf8.Valid(text) {
		return nil, usageError{fmt.Errorf("%s is not in UTF-8: save it as CSV in UTF-8", c.File)}
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err == nil && len(records) == 0 {
		err = errors.New("it is empty")
	}
	if err != nil {
		return nil, usageError{fmt.Errorf("%s: %w", c.File, err)}
	}
	columns := records[0]
	for i, name := range columns {
		columns[i] = strings.ToLower(strings.TrimSpace(name))
	}
	if !slices.Contains(columns, "sku") || len(slices.Compact(slices.Sorted(slices.Values(columns)))) < len(columns) {
		return nil, usageError{fmt.Errorf("%s: the first row must name each column once, among them sku, with a comma in between", c.File)}
	}
	for i, cells := range records[1:] {
		row, err := parseSKU(columns, cells)
		if err == nil && row.sku == "" {
			err = errors.New("it has no sku")
		}
		if err != nil {
			return nil, usageError{fmt.Errorf("%s, row %d: %w", c.File, i+2, err)}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// parseSKU makes the request of a row: all cells but empty ones are members of its body, by the names of their columns.
func parseSKU(columns, cells []string) (row skuRow, err error) {
	members := make(map[string]any)
	for i, column := range columns {
		cell := strings.TrimSpace(cells[i])
		number, _ := strconv.ParseInt(cell, 10, 64)
		isNumber := cell == strconv.FormatInt(number, 10) // not 0020 or +5, which JSON does not have either
		switch {
		case column == "sku":
			row.sku = cell
		case cell == "":
		case isNumber && column != "name":
			members[column] = number
		default:
			members[column] = cell
		}
	}
	row.body, err = json.Marshal(members)
	return row, err
}
