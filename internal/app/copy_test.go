package app_test

import (
	"bufio"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/copying"
	"inventory/internal/stock"
)

// TestACopyGoesOnWhereTheServiceStopped copies what a service has sold, from SQLite to PostgreSQL and back: every row is the same,
// requests that are sent again are answered as before, and both services sell on.
func TestACopyGoesOnWhereTheServiceStopped(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	first, again, last := filepath.Join(t.TempDir(), "first.db"), filepath.Join(t.TempDir(), "again.db"), filepath.Join(t.TempDir(), "last.db")
	server := emptyDatabase(t)

	c := copied{openRestored(t, "sqlite:"+first)}
	c.sellsAll()
	rows, told := c.all(), c.told("sqlite:"+first)
	c.close()
	execute(t, first, `UPDATE stock_segments SET fence = 7, fence_owner = 'a process'`) // as a lock leaves it
	execute(t, first, `INSERT INTO forgotten (name, done) VALUES ('forgotten-a', 1), ('forgotten-b', 0)`)
	execute(t, first, `UPDATE skus SET counting = 1, counted_until = 'a' WHERE sku_id = 'old'`) // as a process leaves it that counts
	copyDatabase(t, "sqlite:"+first, server)
	copyDatabase(t, server, "sqlite:"+again)
	sameRows(t, dump(t, first), dump(t, again))

	c = copied{openCopied(t, server)}
	c.isStill(rows)
	c.answersAgain(409)
	c.isStill(rows)
	if got := c.told(server); !reflect.DeepEqual(got, told) {
		t.Errorf("the outbox tells %v, want %v", got, told)
	}
	c.sellsOn("two")
	rows, told = c.all(), c.told(server)
	c.close()
	copyDatabase(t, server, "sqlite:"+last)

	c = copied{openCopied(t, "sqlite:"+last)}
	c.isStill(rows)
	c.answersAgain(200) // it was retaken
	if got := c.told("sqlite:" + last); !reflect.DeepEqual(got, told) {
		t.Errorf("the outbox tells %v, want %v", got, told)
	}
	c.sellsOn("three")
	for _, change := range c.told("sqlite:" + last)[len(told):] {
		if highest := told[len(told)-1].Version; change.Version <= highest {
			t.Errorf("%s has version %d after %d", change.OrderID, change.Version, highest)
		}
	}
	c.close()
}

// TestACopyKnowsEveryTable: a table or a column of the schema that is not copied is named.
func TestACopyKnowsEveryTable(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	file, server := filepath.Join(t.TempDir(), "inventory.db"), emptyDatabase(t)
	for _, url := range []string{"sqlite:" + file, server} {
		if err := inTime(t, func() error {
			_, err := app.MigrateUp(t.Context(), url, nil)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		driver, dsn, columns string
		open                 func() (*copying.Database, error)
	}{
		"sqlite": {
			"sqlite", file, `SELECT t.name, c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'`,
			func() (*copying.Database, error) { return copying.OpenSQLite(t.Context(), file, true) },
		},
		"postgres": {
			"pgx", server, `SELECT table_name::text, column_name::text FROM information_schema.columns WHERE table_schema = 'public'`,
			func() (*copying.Database, error) { return copying.OpenPostgres(t.Context(), server, false, true) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			schema, err := queried(t, c.driver, c.dsn, c.columns)
			if err != nil {
				t.Fatal(err)
			}
			missing := map[string]bool{}
			for _, column := range schema {
				missing[column[0].(string)+"."+column[1].(string)] = true
			}
			for _, notCopied := range []string{"schema_migrations.version", "schema_migrations.dirty", "outbox.xid"} {
				delete(missing, notCopied)
			}
			d, err := c.open()
			if err != nil {
				t.Fatal(err)
			}
			for _, table := range copying.Tables() {
				columns, err := d.Columns(t.Context(), table)
				if err != nil || len(columns) == 0 {
					t.Errorf("%s: %v, %v", table, columns, err)
				}
				for _, column := range columns {
					delete(missing, table+"."+column.Name)
				}
			}
			if err := d.Close(); err != nil || len(missing) > 0 {
				t.Errorf("these columns are in the schema and are not copied: %v, %v", slices.Sorted(maps.Keys(missing)), err)
			}
		})
	}
}

// manyOrders returns a file with so many small rows, each with a long id.
func manyOrders(t *testing.T, rows int) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "many.db")
	if _, err := app.MigrateUp(t.Context(), "sqlite:"+file, nil); err != nil {
		t.Fatal(err)
	}
	execute(t, file, fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO orders (order_id, created_at) SELECT 'order ' || i || hex(zeroblob(55)), i FROM n`, rows))
	return file
}

// TestACopyNeedsNoMemoryForItsRows: the rows that are under way are few, however many there are.
func TestACopyNeedsNoMemoryForItsRows(t *testing.T) { // not parallel: it measures
	busytest.Slow(t)
	const rows, early, most = 12_000, 2000, 1 << 20 // a row has more than 150 bytes
	file, server, back := "sqlite:"+manyOrders(t, rows), emptyDatabase(t), "sqlite:"+filepath.Join(t.TempDir(), "back.db")
	for _, urls := range [][2]string{{file, server}, {server, back}} {
		used := func() int {
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			return int(m.HeapAlloc) //nolint:gosec // it is small
		}
		shown, before, grown := 0, 0, 0
		done, err := app.Copy(t.Context(), app.Copying{From: urls[0], To: urls[1], Progress: func(int) func() {
			return func() {
				switch shown++; shown {
				case early:
					before = used()
				case rows:
					grown = used() - before
				}
			}
		}})
		t.Logf("%d bytes more were in use at the end", grown)
		if err != nil || shown != rows || grown > most {
			t.Errorf("to %s: %d rows, with %d bytes more in use at the end, want %d at most: %v", done.To, shown, grown, most, err)
		}
	}
}

// copyCase has the two URLs for a process that is killed while it copies.
const copyCase = "INVENTORY_TEST_COPY"

// TestACopyThatIsKilledLeavesNothing kills a process that copies when some rows are written. The next copy has all of them.
func TestACopyThatIsKilledLeavesNothing(t *testing.T) {
	const rows, killedAt = 5000, 3000
	if urls := strings.Fields(os.Getenv(copyCase)); len(urls) == 2 { // it is this process
		err := inTime(t, func() error {
			shown := 0
			_, err := app.Copy(t.Context(), app.Copying{From: urls[0], To: urls[1], Progress: func(int) func() {
				return func() {
					if shown++; shown == killedAt {
						_, _ = fmt.Println("copying") // else the test waits, and ends
						select {}
					}
				}
			}})
			return err
		})
		t.Fatal("it was not killed", err)
	}
	busytest.Slow(t)
	t.Parallel()
	file, server, back := "sqlite:"+manyOrders(t, rows), emptyDatabase(t), "sqlite:"+filepath.Join(t.TempDir(), "back.db")
	for _, urls := range [][2]string{{file, server}, {server, back}} {
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestACopyThatIsKilledLeavesNothing$")
		command.Env = append(os.Environ(), copyCase+"="+strings.Join(urls[:], " "))
		output, err := command.StdoutPipe()
		if err == nil {
			err = command.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(output).ReadString('\n'); err != nil || line != "copying\n" {
			t.Fatalf("it says %q: %v", line, err)
		}
		err = command.Process.Kill()
		if ended := command.Wait(); err != nil || ended == nil {
			t.Fatal(err, ended)
		}
		var left app.Copied
		err = inTime(t, func() (err error) {
			left, err = app.Copy(t.Context(), app.Copying{From: urls[0], To: urls[1], Progress: func(int) func() { return func() {} }})
			return err
		})
		if err != nil || left.Tables[slices.IndexFunc(left.Tables, func(table copying.Table) bool { return table.Name == "orders" })].Rows != rows {
			t.Errorf("after the kill %v: %v", left, err)
		}
	}
}

// TestACopyWaitsForItsTarget: it stands still for longer than the source's server waits until a client has read what was sent.
func TestACopyWaitsForItsTarget(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	const rows, early, silent, still = 12_000, 100, 100 * time.Millisecond, 2 * time.Second
	file, source, back := "sqlite:"+manyOrders(t, rows), emptyDatabase(t), "sqlite:"+filepath.Join(t.TempDir(), "back.db")
	for _, urls := range [][2]string{{file, source}, {source + "&tcp_user_timeout=" + silent.String(), back}} {
		shown := 0
		err := inTime(t, func() error {
			shown = 0
			_, err := app.Copy(t.Context(), app.Copying{From: urls[0], To: urls[1], Progress: func(int) func() {
				return func() {
					if shown++; shown == early {
						<-time.After(still)
					}
				}
			}})
			return err
		})
		if err != nil || shown != rows {
			t.Errorf("%d rows are copied: %v", shown, err)
		}
	}
}

func copyDatabase(t *testing.T, from, to string) {
	t.Helper()
	shown := 0
	var done app.Copied
	err := inTime(t, func() (err error) {
		shown = 0
		done, err = app.Copy(t.Context(), app.Copying{From: from, To: to, Progress: func(int) func() { return func() { shown++ } }})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, table := range done.Tables {
		all += table.Rows
	}
	if shown != all || !done.Audit.OK() || len(done.Audit.SKUs) != 7 {
		t.Errorf("%d of %d rows shown, %v", shown, all, done.Audit)
	}
}

// openCopied is openRestored for a database whose outbox must be on already.
func openCopied(t *testing.T, url string) *restored {
	t.Helper()
	err := app.WithOutbox(t.Context(), url, true, func(o stock.Outbox) error {
		status, err := o.Status(t.Context())
		if !status.On {
			t.Errorf("the outbox of %s is off", url)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return openRestored(t, url)
}

// copied is a service whose database is copied.
type copied struct{ *restored }

// sent are requests that may be sent again, and are answered again as the first time.
func sent() []happening {
	return []happening{
		{"/v1/skus/lamp/deductions", `{"order_id":"kept","quantity":3}`},
		{"/v1/skus/lamp/deductions", `{"order_id":"many/ü","buyer_id":"ann","quantity":25}`}, // more than a segment has
		{"/v1/skus/lamp/deductions", `{"order_id":"held","quantity":2,"reserve_for":"55m"}`},
		{"/v1/skus/lamp/deductions", `{"order_id":"part","quantity":5}`},
		{"/v1/skus/few/deductions", `{"order_id":"ann-1","buyer_id":"ann","quantity":2}`},
		{"/v1/skus/few/deductions", `{"order_id":"ben-1","buyer_id":"ben","quantity":1,"reserve_for":"15m"}`},
		{"/v1/orders", `{"order_id":"basket","buyer_id":"cy","reserve_for":"30m","lines":[{"sku":"lamp","quantity":1},{"sku":"bulb","quantity":2}]}`},
		{"/v1/orders", `{"order_id":"paid","lines":[{"sku":"lamp","quantity":1},{"sku":"bulb","quantity":1}]}`},
		{"/v1/skus/lamp/restock", `{"ref":"delivery","quantity":7,"reason":"as ordered"}`},
		{"/v1/skus/lamp/adjust", `{"ref":"count","quantity":-1}`},
		{"/v1/skus/bulb/resegment", `{"ref":"wide","segments":5}`},
		{"/v1/skus/lamp/deductions/held/extend", `{"ref":"longer","reserve_for":"58m"}`},
		{"/v1/skus/lamp/deductions/part/return", `{"ref":"parcel","quantity":1}`},
		{"/v1/skus/lamp/deductions/part/return", `{"ref":"broken","quantity":2,"restock":false,"reason":"damaged"}`},
	}
}

const terms = `{"ref":"terms-1","name":"Lampe, \"groß\"","sale_ends_at":"2999-01-02T03:04:05.000007Z","max_quantity":30,"max_reserve_for":"59m"}`

// sellsAll makes rows of every kind.
func (c copied) sellsAll() {
	c.t.Helper()
	for sku, body := range map[string]string{
		"lamp": `{"stock":100,"segments":10,"name":"Lamp"}`,
		"bulb": `{"stock":50,"segments":2,"sale_starts_at":"2020-01-01T00:00:00.123456Z"}`,
		"few":  `{"stock":20,"segments":2,"per_buyer_limit":3}`,
		"gone": `{"stock":9,"segments":3}`, "old": `{"stock":5}`,
		"shoe": `{"stock":10,"per_buyer_limit":1,"limit_group":"shoe"}`, "boot": `{"stock":10}`,
	} {
		c.sends("PUT", happening{"/v1/skus/" + sku, body}, 201)
	}
	for _, h := range sent() {
		c.sends("POST", h, 0)
	}
	c.sends("PATCH", happening{"/v1/skus/lamp", terms}, 201)
	c.sends("PATCH", happening{"/v1/skus/boot", `{"ref":"limited","per_buyer_limit":2}`}, 201)
	for _, h := range []happening{
		{"/v1/skus/lamp/deductions", `{"order_id":"late","quantity":1,"reserve_for":"1s"}`},
		{"/v1/skus/lamp/deductions", `{"order_id":"cancelled","quantity":2,"reserve_for":"15m"}`},
		{"/v1/skus/lamp/deductions/cancelled/cancel", ``},
		{"/v1/skus/lamp/deductions", `{"order_id":"paid after all","quantity":2,"reserve_for":"15m"}`},
		{"/v1/skus/lamp/deductions/paid%20after%20all/cancel", ``},
		{"/v1/skus/lamp/deductions/paid%20after%20all/commit", `{"if_ended":"retake"}`},
		{"/v1/orders", `{"order_id":"edited","buyer_id":"list","lines":[{"sku":"lamp","quantity":1},{"sku":"bulb","quantity":1}]}`},
		swap(),
		{"/v1/skus/lamp/deductions", `{"order_id":"committed","quantity":4,"reserve_for":"15m"}`},
		{"/v1/skus/lamp/deductions/committed/commit", `{"quantity":3}`},
		{"/v1/skus/lamp/deductions", `{"order_id":"returned","quantity":1}`},
		{"/v1/skus/lamp/deductions/returned/return", ``},
		{"/v1/skus/shoe/deductions", `{"order_id":"size","buyer_id":"ann","quantity":1}`},
		{"/v1/skus/gone/deductions", `{"order_id":"pruned","quantity":8}`},
		{"/v1/orders", `{"order_id":"old-basket","lines":[{"sku":"gone","quantity":1},{"sku":"old","quantity":1}]}`},
	} {
		c.sends("POST", h, 0)
	}
	c.sends("DELETE", happening{path: "/v1/skus/gone"}, 200)
	c.sends("DELETE", happening{path: "/v1/skus/old"}, 200)
	nothing := func(string, stock.Pruned) error { return nil }
	if err := inTime(c.t, func() error {
		return app.Prune(c.t.Context(), c.config.DatabaseURL, time.Now(), false, nothing)
	}); err != nil {
		c.t.Fatal(err)
	}
	c.untilExpired("late")
}

// swap is the change of an order.
func swap() happening {
	return happening{"/v1/orders/edited/change", `{"ref":"swap","lines":[{"sku":"lamp","quantity":2}],"buyer_id":"ann","restock":false,"reason":"worn"}`}
}

// answersAgain sends requests again: none does anything.
func (c copied) answersAgain(late int) {
	c.t.Helper()
	for _, h := range sent() {
		c.sends("POST", h, 200)
	}
	c.sends("PATCH", happening{"/v1/skus/lamp", terms}, 200)
	c.sends("POST", swap(), 200)
	c.sends("POST", happening{"/v1/skus/lamp/deductions", `{"order_id":"late","quantity":1,"reserve_for":"1s"}`}, late)
	c.sends("POST", happening{"/v1/skus/gone/deductions", `{"order_id":"pruned","quantity":8}`}, 410)
}

// sellsOn changes what was copied, and sells more.
func (c copied) sellsOn(name string) {
	c.t.Helper()
	order := func(sku, buyer string, quantity int) happening {
		return happening{"/v1/skus/" + sku + "/deductions", fmt.Sprintf(`{"order_id":%q,"buyer_id":%q,"quantity":%d}`, name+buyer, buyer, quantity)}
	}
	c.sends("POST", order("lamp", "dan", 30), 201)
	c.sends("POST", order("lamp", "eve", 31), 400) // max_quantity
	c.sends("POST", order("few", name, 3), 201)
	c.sends("POST", order("few", "ann", 2), 409) // the limit counts what was copied
	c.sends("POST", happening{"/v1/skus/lamp/deductions/late/commit", `{"if_expired":"retake"}`}, 200)
	c.sends("POST", happening{"/v1/skus/lamp/deductions/held/extend", fmt.Sprintf(`{"ref":%q,"reserve_for":"59m"}`, name)}, 200)
	c.sends("POST", happening{"/v1/orders", fmt.Sprintf(`{"order_id":%q,"lines":[{"sku":"lamp","quantity":1},{"sku":"bulb","quantity":6}]}`, name)}, 201)
	c.sends("POST", happening{"/v1/orders/" + name + "/return", ``}, 200)
	c.isBalanced()
}

// all is what the API tells of all rows.
func (c copied) all() map[string]any {
	c.t.Helper()
	all := make(map[string]any)
	read := func(path string) map[string]any {
		body := c.sends("GET", happening{path: path}, 200)
		all[path] = body
		return body
	}
	for _, sku := range []string{"lamp", "bulb", "few", "gone", "old"} {
		path := "/v1/skus/" + sku
		read(path)
		read(path + "/movements")
		for _, d := range read(path + "/deductions")["deductions"].([]any) {
			read(path + "/deductions/" + url.PathEscape(d.(map[string]any)["order_id"].(string)) + "/history")
		}
	}
	for _, order := range []string{"basket", "paid", "edited"} {
		read("/v1/orders/" + order)
	}
	read("/v1/audit")
	return all
}

func (c copied) isStill(want map[string]any) {
	c.t.Helper()
	got := c.all()
	for path := range want {
		if !reflect.DeepEqual(got[path], want[path]) {
			c.t.Errorf("%s is %v\nand was %v", path, got[path], want[path])
		}
	}
}

// told returns what the outbox tells, in the order of its versions and without its cursors.
func (c copied) told(url string) (changes []stock.Change) {
	c.t.Helper()
	err := app.WithOutbox(c.t.Context(), url, true, func(o stock.Outbox) error {
		status, err := o.Status(c.t.Context())
		busytest.Soon(c.t, "the outbox tells all its rows, whatever transactions of other tests there are", func() bool {
			if err == nil && len(changes) < int(status.Rows) {
				changes, err = o.Read(c.t.Context(), "", 1000)
			}
			return err != nil || len(changes) >= int(status.Rows)
		})
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	slices.SortFunc(changes, func(a, b stock.Change) int { return cmp.Compare(a.Version, b.Version) })
	for i := range changes {
		changes[i].Cursor = ""
	}
	return changes
}

// dump returns the rows of each table of a SQLite file, as texts.
func dump(t *testing.T, file string) map[string][]string {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	all, names := make(map[string][]string), make(map[string][]string)
	schema, err := query(t.Context(), db, `SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'trigger')`)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range schema {
		all["schema"] = append(all["schema"], fmt.Sprint(row))
		if row[1] != "table" {
			continue
		}
		table := row[0].(string)
		columns, err := query(t.Context(), db, `SELECT name FROM pragma_table_info('`+table+`')`)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range columns {
			names[table] = append(names[table], name[0].(string))
		}
		rows, err := query(t.Context(), db, `SELECT * FROM `+table)
		if err != nil {
			t.Fatal(err)
		}
		set := make(map[string]bool)
		for _, row := range rows {
			var text []string
			for i, value := range row {
				set[names[table][i]] = set[names[table][i]] || value != nil && value != int64(0) && value != ""
				text = append(text, fmt.Sprintf("%s=%#v", names[table][i], value))
			}
			all[table] = append(all[table], strings.Join(text, " "))
		}
		for _, name := range names[table] {
			if !set[name] && table != "schema_migrations" {
				t.Errorf("%s: no row of %s has a value of %s, so it is not shown that it is copied", file, table, name)
			}
		}
		slices.Sort(all[table])
	}
	slices.Sort(all["schema"])
	return all
}

func execute(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err == nil {
		_, err = db.ExecContext(t.Context(), statement)
	}
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

func queried(t *testing.T, driver, dsn, text string) (all [][]any, err error) {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, err
	}
	all, err = query(t.Context(), db, text)
	return all, errors.Join(err, db.Close())
}

func query(ctx context.Context, db *sql.DB, text string) (all [][]any, err error) {
	rows, err := db.QueryContext(ctx, text)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	for err == nil && rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		err = rows.Scan(into...)
		all = append(all, values)
	}
	if err == nil {
		err = rows.Err()
	}
	return all, err
}

func sameRows(t *testing.T, before, after map[string][]string) {
	t.Helper()
	for table := range before {
		for i, row := range before[table] {
			if i >= len(after[table]) || after[table][i] != row {
				t.Errorf("%s had %s\nand has %s", table, row, strings.Join(after[table], "\n"))
				break
			}
		}
		if len(before[table]) != len(after[table]) {
			t.Errorf("%s had %d rows, and has %d", table, len(before[table]), len(after[table]))
		}
	}
}
