package api_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

func TestSKUsPageByPage(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("GET", "/v1/skus", ""), 200, `{"skus":[]}`)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":4,"name":"A","max_quantity":3,"sale_ends_at":"2999-01-02T03:04:05Z"}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"o","quantity":2,"reserve_for":"1h"}`), 201, "")
	s.want(s.send("POST", "/v1/skus/a/deductions", `{"order_id":"p","quantity":1}`), 201, "")
	a := `{"sku":"a","name":"A","sale_ends_at":"2999-01-02T03:04:05Z","max_quantity":3,"stock":10,"available":7,"reserved":2,"committed":1,"layout":1,"segments":4}`
	s.want(s.send("GET", "/v1/skus", ""), 200, `{"skus":[`+a+`]}`)
	s.want(s.send("GET", "/v1/skus?limit=1", ""), 200, `{"skus":[`+a+`],"next":"a"}`)
	s.want(s.send("GET", "/v1/skus?after=a", ""), 200, `{"skus":[]}`)
	for n := range 5 {
		s.want(s.send("PUT", fmt.Sprintf("/v1/skus/b%d", n), `{"stock":1}`), 201, "")
	}
	read := ""
	for query := "?limit=2"; query != ""; {
		var page struct {
			SKUs []struct{ SKU string }
			Next *string
		}
		if got := s.send("GET", "/v1/skus"+query, ""); got.status != 200 || json.Unmarshal([]byte(got.body), &page) != nil {
			t.Fatal(got)
		}
		for _, sku := range page.SKUs {
			read += sku.SKU + " "
		}
		if query = ""; page.Next != nil {
			query = "?limit=2&after=" + url.QueryEscape(*page.Next)
		}
	}
	if read != "a b0 b1 b2 b3 b4 " {
		t.Errorf("read %q", read)
	}
	for _, query := range []string{"limit=0", "limit=201", "limit=+1", "limit=", "after=", "after=..", "after=%20", "before=a"} {
		s.wantProblem(s.send("GET", "/v1/skus?"+query, ""), 400, "invalid_request")
	}
}

// TestSearchForSKUs: ids that begin with the text come first, then all others that contain it.
func TestSearchForSKUs(t *testing.T) {
	t.Parallel()
	s := open(t)
	for sku, name := range map[string]string{"lamp": "Bright", "lamp-7": "", "a-lamp": "", "bulb": "for a LAMP", "cord": "Kabel, weiß"} {
		body, _ := json.Marshal(map[string]any{"stock": 1, "name": name})
		if name == "" {
			body = []byte(`{"stock":1}`)
		}
		s.want(s.send("PUT", "/v1/skus/"+sku, string(body)), 201, "")
	}
	for query, want := range map[string]string{
		"q=lamp":                       "lamp lamp-7 a-lamp bulb  ",
		"q=lamp&limit=3":               "lamp lamp-7 a-lamp  ~a-lamp",
		"q=lamp&after=~a-lamp":         "bulb  ",
		"q=lamp&limit=1":               "lamp  lamp",
		"q=lamp&after=lamp":            "lamp-7 a-lamp bulb  ",
		"q=WEISS":                      " ",
		"q=" + url.QueryEscape("WEIß"): "cord  ",
		"q=a+l":                        "bulb  ",
	} {
		var page struct {
			SKUs []struct{ SKU string }
			Next string
		}
		got := s.send("GET", "/v1/skus?"+query, "")
		if err := json.Unmarshal([]byte(got.body), &page); err != nil || got.status != 200 {
			t.Fatal(got, err)
		}
		found := ""
		for _, sku := range page.SKUs {
			found += sku.SKU + " "
		}
		if found += " " + page.Next; found != want {
			t.Errorf("%s: got %q, want %q", query, found, want)
		}
	}
	for _, query := range []string{"q=", "q=%00", "q=a&after=a%20b", "after=~a", "q=" + strings.Repeat("a", 201)} {
		s.wantProblem(s.send("GET", "/v1/skus?"+query, ""), 400, "invalid_request")
	}
}

// TestCreateDryRun: the answer is the one without it, and nothing is there afterwards.
func TestCreateDryRun(t *testing.T) {
	t.Parallel()
	s := open(t)
	body := `{"stock":5,"segments":2,"name":"A","max_quantity":3,"max_reserve_for":"15m"}`
	tried := s.send("PUT", "/v1/skus/a?dry_run=true", body)
	is := strings.TrimSpace(tried.body)
	s.wantProblem(s.send("GET", "/v1/skus/a", ""), 404, "unknown_sku")
	s.want(s.send("PUT", "/v1/skus/a", body), 201, is)
	s.want(tried, 201, "")
	s.want(s.send("PUT", "/v1/skus/a?dry_run=true", body), 200, is)
	s.wantProblem(s.send("PUT", "/v1/skus/a?dry_run=true", `{"stock":6}`), 409, "sku_exists", "stock is 5, not 6")
	s.wantProblem(s.send("PUT", "/v1/skus/b?dry_run=true", `{"stock":6,"sale_ends_at":"2001-01-01T00:00:00Z"}`), 400, "invalid_request")
	s.wantProblem(s.send("PUT", "/v1/skus/b?dry_run=yes", body), 400, "invalid_request", `"field":"dry_run"`)
}

// TestWatching reads the figures by which people watch a sale.
func TestWatching(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":3,"segments":2}`), 201, "")
	for _, order := range []string{"o", "o", "p"} {
		s.send("POST", "/v1/skus/a/deductions", `{"order_id":"`+order+`","quantity":2}`)
	}
	s.send("POST", "/v1/deductions", `{"deductions":[{"sku":"a","order_id":"q","quantity":1},{"sku":"b","order_id":"q","quantity":1}]}`)
	s.want(s.send("GET", "/v1/skus/a/deductions", ""), 200, "") // no order
	var activity struct {
		Process, Locks                   string
		Accepted, Known, Refused, Failed int
		Batches                          struct{ Count, Sum int }
	}
	got := s.send("GET", "/v1/activity", "")
	if err := json.Unmarshal([]byte(got.body), &activity); err != nil || got.status != 200 {
		t.Fatal(got, err)
	}
	if a := activity; a.Process == "" || a.Locks != "working" || a.Accepted != 2 || a.Known != 1 || a.Refused != 1 || a.Failed != 1 {
		t.Errorf("activity %s", got.body)
	}
	s.want(s.send("GET", "/v1/skus/a/locks?from=1&limit=128", ""), 200, "")
	s.wantProblem(s.send("GET", "/v1/skus/none/locks", ""), 404, "unknown_sku")
	for _, query := range []string{"from=-1", "from=1024", "from=01", "limit=0", "limit=129"} {
		s.wantProblem(s.send("GET", "/v1/skus/a/locks?"+query, ""), 400, "invalid_request")
	}
}
