package main

import (
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/cli"
)

func csvFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "skus.csv")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestImport creates what is missing, and changes nothing that is there, however often it runs.
func TestImport(t *testing.T) {
	t.Parallel()
	keys := filepath.Join(t.TempDir(), "keys")
	admin, buyer := newKey(t, keys, "ops", "admin"), newKey(t, keys, "shop", "buyer")
	p := serve(t, "--database-url", sqliteFile(t), "--lock", "none", "--api-keys", keys)
	imports := func(status int, want, key, file string, args ...string) {
		t.Helper()
		r := invoke(t, append([]string{"import", "--file", file, "--url", p.url, "--api-key", key}, args...)...)
		if r.code != status || r.out != want {
			t.Errorf("%v: exit status %d, %s%s\nwant %d, %s", args, r.code, r.out, r.err, status, want)
		}
	}
	// As Excel writes it: a mark at the beginning, CRLF, quotes.
	file := csvFile(t, "\ufeffname, SKU ,stock,max_reserve_for,sale_ends_at,per_buyer_limit\r\n"+
		"\"Lamp, \"\"gro\u00df\"\"\",lamp,10,900,2999-01-02T03:04:05+01:00,3\r\n"+
		"007,bulb,20,,,\r\n"+
		",cord,0,PT1H,,\r\n")
	imports(0, "lamp: to create\nbulb: to create\ncord: to create\n3 SKUs: 3 to create, 0 as they were, 0 different\n", admin, file, "--dry-run")
	imports(statusFailed, "0 SKUs: 0 created, 0 as they were, 0 different\n", buyer, file)
	imports(0, "lamp: created\nbulb: created\ncord: created\n3 SKUs: 3 created, 0 as they were, 0 different\n", admin, file)
	imports(0, "3 SKUs: 0 created, 3 as they were, 0 different\n", admin, file)
	imports(0, "3 SKUs: 0 to create, 3 as they were, 0 different\n", admin, file, "--dry-run")

	other := csvFile(t, "sku,stock,segments,name,max_quantity\nlamp,11,10,,5\nbulb,20,12,007,\nplug,1,,,\n")
	const differ = "row 2, SKU \"lamp\": SKU \"lamp\" exists with other properties: stock is 10, not 11; name is \"Lamp, \\\"groß\\\"\", not \"\"; " +
		"sale_ends_at is 2999-01-02T02:04:05Z, not none; per_buyer_limit is 3, not 0; max_quantity is 0, not 5; and more\n" +
		"row 3, SKU \"bulb\": SKU \"bulb\" exists with other properties: segments is 10, not 12\n"
	imports(statusFound, differ+"plug: to create\n3 SKUs: 1 to create, 0 as they were, 2 different\n", admin, other, "--dry-run")
	imports(statusFound, differ+"plug: created\n3 SKUs: 1 created, 0 as they were, 2 different\n", admin, other)
	imports(statusFound, differ+"3 SKUs: 0 created, 1 as they were, 2 different\n", admin, other)
	imports(0, "3 SKUs: 0 created, 3 as they were, 0 different\n", admin, file)
}

func TestImportWaitsForTheRateLimit(t *testing.T) {
	t.Parallel()
	p := serve(t, "--database-url", sqliteFile(t), "--lock", "none", "--rate-limit", "4")
	r := invoke(t, "import", "--file", csvFile(t, "sku,stock\na,1\nb,1\nc,1\n"), "--url", p.url)
	if r.code != 0 || !strings.Contains(r.out, "3 SKUs: 3 created") {
		t.Errorf("exit status %d, %s%s", r.code, r.out, r.err)
	}
}

// TestImportSaysThatNothingListens: it says so at once, waits visibly, and goes on when the service is there. Control
// characters in a server's answer do not reach the terminal.
func TestImportSaysThatNothingListens(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	var out, problems busytest.Log
	done := make(chan int)
	file := csvFile(t, "sku,stock\na,1\n")
	go func() {
		done <- cli.Run(t.Context(), []string{"import", "--file", file, "--url", "http://" + address}, cli.Streams{Out: &out, Err: &problems}, new(commands))
	}()
	busytest.Soon(t, "it says that nothing listens", func() bool {
		return strings.Contains(problems.String(), "nothing listens at http://"+address)
	})
	listener, err = (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"title":"t","status":409,"code":"sku_exists","final":true,"detail":"\u001b]0;mine\u0007\u009b31m\u202eother"}`)
	})}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	code := busytest.Receive(t, "the import ends", done)
	_ = server.Close()
	serving.Wait()
	if code != statusFound || !strings.Contains(out.String(), "other") || strings.ContainsAny(out.String()+problems.String(), "\x1b\x07\u009b\u202e") {
		t.Errorf("exit status %d, %q %q, want %d without control characters", code, out.String(), problems.String(), statusFound)
	}
}

func TestImportThatCannotBe(t *testing.T) {
	t.Parallel()
	p := serve(t, "--database-url", sqliteFile(t), "--lock", "none")
	for text, want := range map[string]string{
		"":                             "it is empty",
		"sku;stock\na;1\n":             "the first row must name each column once, among them sku, with a comma in between",
		"sku,stock,stock\na,1,1\n":     "the first row must name each column once",
		"sku,stock\na,\xe4\n":          "not in UTF-8: save it as CSV in UTF-8",
		"\xff\xfes\x00k\x00u":          "not in UTF-8",
		"sku,stock\na,1\nb,1,000\n":    "line 3: wrong number of fields",
		"sku,stock\na,1\nb,\"2\nc,3\n": "extraneous or missing",
		"sku,stock\na,1\n,2\n":         "row 3: it has no sku",
	} {
		r := invoke(t, "import", "--file", csvFile(t, text), "--url", p.url)
		if r.code != statusUsage || r.out != "" || !strings.Contains(r.err, want) {
			t.Errorf("%q: exit status %d, %s%s, want %s", text, r.code, r.out, r.err, want)
		}
	}
	if got := p.ask("GET", "/skus/a", ""); got != "404 unknown_sku" {
		t.Errorf("a is %s after files that cannot be read", got)
	}
	good := csvFile(t, "sku,stock\na,1\n")
	cannotBe(t, []string{"import"}, []failure{
		{nil, "--file", statusUsage},
		{[]string{"--file", good + ".none"}, "no such file", statusFailed},
		{[]string{"--file", good, "--url", "localhost"}, "service URL", statusUsage},
		{[]string{"--file", good, "--url", p.admin}, `row 2, SKU "a": status 404`, statusFailed},
	})
}

// TestARowThatIsWrongIsNamed: the service says why, and the other rows are imported.
func TestARowThatIsWrongIsNamed(t *testing.T) {
	t.Parallel()
	p := serve(t, "--database-url", sqliteFile(t), "--lock", "none")
	file := csvFile(t, "sku,stock,segments,sale_ends_at,name\n"+
		"a,1,,,\nb,,,,\nc/d,1,,,\ne,-1,,,\nf,\"1,000\",,,\ng,1e3,,,\nh,1,2000,,\ni,1,,tomorrow,\na,2,,,\nj,1,,,J\nl,0020,,,\nm,+5,,,\nn,1,,2001-01-01T00:00:00Z,\n")
	for _, dryRun := range []bool{true, false} {
		testWrongRows(t, p.url, file, dryRun)
	}
	r := invoke(t, "import", "--url", p.url, "--file", csvFile(t, "sku,stock,colour\nk,1,red\n"))
	if r.code != statusUsage || !strings.Contains(r.out, "colour") {
		t.Errorf("a column that is none: exit status %d, %s%s", r.code, r.out, r.err)
	}
}

// testWrongRows imports a file with wrong rows. A dry run finds the same, but for a row that contradicts an earlier one of the file.
func testWrongRows(t *testing.T, url, file string, dryRun bool) {
	t.Helper()
	args, state := []string{"import", "--url", url, "--file", file}, "created"
	if dryRun {
		args, state = append(args, "--dry-run"), "to create"
	}
	r := invoke(t, args...)
	for _, want := range []string{
		"a: " + state + "\n", `row 3, SKU "b": stock is required`, `row 4, SKU "c/d": sku must be 1 to 64`, `row 5, SKU "e": stock must be 0 to`,
		`row 6, SKU "f": stock must be a whole number`, `row 7, SKU "g": stock must be a whole number`, `row 8, SKU "h": segments must be 1 to 1024`,
		`row 9, SKU "i": sale_ends_at must be a time`, "j: " + state + "\n",
		`row 12, SKU "l": stock must be a whole number`, `row 13, SKU "m": stock must be a whole number`,
		`row 14, SKU "n": sale_ends_at must not lie in the past`,
	} {
		if !strings.Contains(r.out, want) {
			t.Errorf("lacks %s", want)
		}
	}
	if !dryRun && !strings.Contains(r.out, `row 10, SKU "a": SKU "a" exists with other properties`) {
		t.Error("it does not name the row that contradicts an earlier one")
	}
	if r.code != statusUsage || !strings.Contains(r.err, "10 rows wrong, and not imported") {
		t.Errorf("exit status %d, %s%s", r.code, r.out, r.err)
	}
}
