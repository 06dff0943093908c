package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		"\"Lamp, \"\"gro\u00df\"\"\r\nand bright\",lamp,10,900,2999-01-02T03:04:05+01:00,3\r\n"+
		"007,bulb,20,,,\r\n"+
		",cord,0,PT1H,,\r\n")
	imports(statusUsage, "", admin, file)
	file = csvFile(t, "\ufeffname, SKU ,stock,max_reserve_for,sale_ends_at,per_buyer_limit\r\n"+
		"\"Lamp, \"\"gro\u00df\"\"\",lamp,10,900,2999-01-02T03:04:05+01:00,3\r\n"+
		"007,bulb,20,,,\r\n"+
		",cord,0,PT1H,,\r\n")
	imports(0, "lamp: to create\nbulb: to create\ncord: to create\n3 SKUs: 3 to create, 0 as they were, 0 different\n", admin, file, "--dry-run")
	imports(statusFailed, "0 SKUs: 0 created, 0 as they were, 0 different\n", buyer, file)
	imports(0, "lamp: created\nbulb: created\ncord: created\n3 SKUs: 3 created, 0 as they were, 0 different\n", admin, file)
	imports(0, "3 SKUs: 0 created, 3 as they were, 0 different\n", admin, file)
	imports(0, "3 SKUs: 0 to create, 3 as they were, 0 different\n", admin, file, "--dry-run")

	other := csvFile(t, "sku,stock,segments,name,max_reserve_for,max_quantity,sale_ends_at\n"+
		"lamp,11,10,,10m,5,2999-01-02T02:04:05Z\nbulb,20,12,007,,,\nplug,1,,,,,\n")
	const differ = "lamp: stock is 10, and 11 in the file; max_reserve_for is 15m0s, and 10m0s in the file; max_quantity is not set, and 5 in the file\n" +
		"bulb: segments is 10, and 12 in the file\n"
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

func TestImportThatCannotBe(t *testing.T) {
	t.Parallel()
	p := serve(t, "--database-url", sqliteFile(t), "--lock", "none")
	for text, want := range map[string][]string{
		"":                      {"it is empty"},
		"sku;stock\na;1\n":      {"a comma must be between columns"},
		"sku,stock,colour\n":    {`there is no column "colour": the columns are sku, stock, segments`},
		"sku,name\n":            {"the column stock is missing"},
		"sku,stock,stock\n":     {"the column stock is there twice"},
		"sku,stock\na,\xe4\n":   {"not in UTF-8: save it as CSV in UTF-8"},
		"\xff\xfes\x00k\x00u":   {"not in UTF-8"},
		"sku,stock\n\na,1\na,2": {"line 4: sku a is in line 3, too", "1 row is wrong, and nothing was done"},
		"sku,stock\nb,1\nc,\nd/e,1\nf,-1\ng,1,000\nh,\"1,000\"\ni,1e3\n": {
			"line 3: stock is required", "line 4: sku must be 1 to 64", "line 5: stock must be 0 to", "line 6: wrong number of fields",
			"line 7: stock must be a whole number", "line 8: stock must be a whole number", "6 rows are wrong, and nothing was done",
		},
		"sku,stock,sale_ends_at,max_reserve_for,per_buyer_limit,segments\na,1,tomorrow,,,\nb,1,,1ms,,\nc,1,,,0,\nd,1,,,,2000\n": {
			"line 2: sale_ends_at must be a time", "line 3: max_reserve_for must be a duration", "line 4: per_buyer_limit must be 1 to", "line 5: segments must be 1 to 1024",
		},
		"sku,stock,segments,max_reserve_for\na,+5,,\nb,0020,,\nc,1,-0,\nd,1,,0900\n": {
			"line 2: stock must be a whole number", "line 3: stock must be a whole number", "line 4: segments must be a whole number",
			"line 5: max_reserve_for must be a duration", "4 rows are wrong",
		},
		"sku,stock,name\na,1,x\nb,2,\"open\nc,3,y\n": {"line 3: extraneous or missing", "1 row is wrong"},
	} {
		r := invoke(t, "import", "--file", csvFile(t, text), "--url", p.url)
		for _, want := range want {
			if r.code != statusUsage || r.out != "" || !strings.Contains(r.err, want) {
				t.Errorf("%q: exit status %d, %s%s, want %s", text, r.code, r.out, r.err, want)
			}
		}
	}
	for _, sku := range []string{"a", "b"} {
		if got := p.ask("GET", "/skus/"+sku, ""); got != "404 unknown_sku" {
			t.Errorf("%s is %s after files with mistakes", sku, got)
		}
	}
	good := csvFile(t, "sku,stock\na,1\n")
	cannotBe(t, []string{"import"}, []failure{
		{nil, "--file", statusUsage},
		{[]string{"--file", good + ".none"}, "no such file", statusFailed},
		{[]string{"--file", good, "--url", "localhost"}, "service URL", statusUsage},
		{[]string{"--file", good, "--url", p.admin}, "line 2: SKU a: status 404", statusFailed},
	})
}
