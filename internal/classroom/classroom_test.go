package classroom_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/classroom"
)

func TestMain(m *testing.M) { busytest.Main(m) }

// Sales in these tests have few orders a second: if a slow machine could not keep up with them, more and more buyers would wait.

// open opens a classroom on a new file, and returns its URL. It closes it after the test.
func open(t *testing.T) (url string) {
	t.Helper()
	url, closeAll := openOn(t, filepath.Join(t.TempDir(), "inventory.db"))
	t.Cleanup(closeAll)
	return url
}

func openOn(t *testing.T, file string) (url string, closeAll func()) {
	t.Helper()
	var school *classroom.School
	busytest.Soon(t, "a service of the classroom starts in its time", func() bool {
		var err error
		school, err = classroom.Open(t.Context(), classroom.Config{DatabaseURL: "sqlite:" + file})
		if err != nil && !late.MatchString(err.Error()) {
			t.Fatal(err)
		}
		return err == nil
	})
	server := httptest.NewServer(school.Handler())
	return server.URL, func() {
		server.CloseClientConnections()
		server.Close()
		err := school.Close(context.WithoutCancel(t.Context()))
		if err != nil && !late.MatchString(err.Error()) {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	}
}

// late is what a classroom says about a service that has not done something in its time. It could not on a slow machine, and may be
// asked again.
var late = regexp.MustCompile(`deadline exceeded|i/o timeout|status 503`)

type act struct {
	What, Why, Audit string
	Before, After    *struct{ Accepted float64 }
	Measuring        bool
}

// point is a second of a sale.
type point struct {
	Accepted, Failed int
	P99              float64
}

// told is the state that the classroom reports.
type told struct {
	Lock      string
	Processes int
	Redis     bool
	Services  []struct{ Stalled, Cut bool }
	Sale      *struct {
		SKU     string
		Running bool
		Points  []point
	}
	Acts   []act
	Breaks []struct {
		Name, Break, Mend, Why string
		Each                   bool
	}
}

// ask sends a command, or a GET if the body is "".
func ask(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func do(t *testing.T, url, command, body string) (now told) {
	t.Helper()
	busytest.Soon(t, command+" is done in its time", func() bool {
		status, answer := ask(t, url+"/classroom/"+command, body)
		if status == http.StatusBadRequest && late.MatchString(answer) {
			return false
		}
		if err := json.Unmarshal([]byte(answer), &now); err != nil || status != http.StatusOK {
			t.Fatalf("%s %s: %d %s, %v", command, body, status, answer, err)
		}
		return true
	})
	return now
}

// until reads the state until it satisfies a condition.
func until(t *testing.T, url, what string, wanted func(told) bool) (now told) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("it stays %+v", now)
		}
	}()
	busytest.Soon(t, what, func() bool {
		now = do(t, url, "state", "")
		return wanted(now)
	})
	return now
}

// sells is true when orders were accepted.
func sells(now told) bool {
	return slices.ContainsFunc(now.Sale.Points, func(p point) bool { return p.Accepted > 0 })
}

// TestNothingBreaksTheAudit sells through two processes, and causes every fault.
func TestNothingBreaksTheAudit(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url := open(t)
	now := do(t, url, "house", `{"lock":"reentrant","processes":2}`)
	if now.Lock != "reentrant" || len(now.Services) != 2 {
		t.Fatalf("got %+v, want 2 services with the reentrant lock", now)
	}
	sku := do(t, url, "sale", `{"pace":10,"mix":"reserve","segments":4,"stock":100,"restock":true}`).Sale.SKU
	until(t, url, "the sale has begun", sells)
	acts := 1 // the sale
	for _, b := range now.Breaks {
		if b.Why == "" || b.Break == "" {
			t.Errorf("got %+v, want a label and a reason", b)
		}
		do(t, url, "break", fmt.Sprintf(`{"name":%q,"process":1,"broken":true}`, b.Name))
		if acts++; b.Mend != "" {
			before := available(t, url, sku)
			busytest.Soon(t, "units are sold with the fault "+b.Name, func() bool { return available(t, url, sku) != before })
			do(t, url, "break", fmt.Sprintf(`{"name":%q,"process":1,"broken":false}`, b.Name))
			acts++
		}
	}
	now = until(t, url, "all acts are measured", func(now told) bool {
		return !slices.ContainsFunc(now.Acts, func(a act) bool { return a.Measuring })
	})
	if len(now.Acts) != acts+1 || !now.Redis || now.Services[1].Cut || now.Services[1].Stalled {
		t.Errorf("got %+v, want %d acts, and no fault any more", now, acts+1)
	}
	for _, act := range now.Acts[:acts] {
		if act.What == "" || act.Why == "" || act.Audit != "ok" || act.After == nil || act.Measuring {
			t.Errorf("got %+v, want its reason, a good audit and a rate after it", act)
		}
	}
	if now = do(t, url, "stop", "{}"); now.Sale.Running {
		t.Errorf("the sale goes on: %+v", now.Sale)
	}
	if status, answer := ask(t, url+"/v1/skus/"+sku+"/audit", ""); status != 200 || !strings.HasPrefix(answer, `{"ok":true`) {
		t.Errorf("got %d %s, want an audit that is ok", status, answer)
	}
}

// available reads how many units of a SKU are left.
func available(t *testing.T, url, sku string) (units int64) {
	t.Helper()
	busytest.Soon(t, "the SKU can be read", func() bool {
		status, answer := ask(t, url+"/v1/skus/"+sku, "")
		var read struct{ Available int64 }
		if err := json.Unmarshal([]byte(answer), &read); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		units = read.Available
		return status == http.StatusOK
	})
	return units
}

// TestStoppedProcess: others sell what its buyers want, once these have waited for it, and a process that is alone sells nothing. The
// page says which.
func TestStoppedProcess(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url := open(t)
	for _, one := range []struct {
		processes int
		says      string
	}{{1, "every order fails"}, {3, "to another process"}} {
		do(t, url, "house", fmt.Sprintf(`{"lock":"reentrant","processes":%d}`, one.processes))
		do(t, url, "sale", `{"pace":8,"mix":"singles","segments":10,"stock":100000}`)
		until(t, url, "the sale has begun", sells)
		now := do(t, url, "break", `{"name":"stall","process":0,"broken":true}`)
		if !strings.Contains(now.Acts[0].Why, one.says) {
			t.Errorf("%d processes: got %q, want that it says %q", one.processes, now.Acts[0].Why, one.says)
		}
		if one.processes == 1 {
			until(t, url, "every order of a second has failed", func(now told) bool {
				last := now.Sale.Points[len(now.Sale.Points)-1]
				return last.Accepted == 0 && last.Failed > 0
			})
		} else {
			until(t, url, "every order of a second is sold, some after the 2 s of their buyers' patience", func(now told) bool {
				last := now.Sale.Points[len(now.Sale.Points)-1]
				return last.Accepted > 0 && last.Failed == 0 && last.P99 > 2000
			})
		}
		do(t, url, "break", `{"name":"stall","process":0,"broken":false}`)
	}
}

// TestNoPaceWithoutASale: a fault after the end of a sale has no pace, and one right before it has none afterwards.
func TestNoPaceWithoutASale(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url := open(t)
	busytest.Soon(t, "a sale has ended before its fault was measured", func() bool {
		do(t, url, "sale", `{"pace":10,"mix":"singles","segments":1,"stock":100000}`)
		until(t, url, "the sale has begun", sells)
		do(t, url, "break", `{"name":"redis","broken":true}`)
		return do(t, url, "stop", "{}").Acts[0].Measuring
	})
	if act := do(t, url, "break", `{"name":"redis","broken":false}`).Acts[0]; act.Before != nil || act.After != nil || act.Measuring {
		t.Errorf("got %+v, want no pace of a sale that has ended", act)
	}
	now := until(t, url, "the fault is measured", func(now told) bool { return !now.Acts[1].Measuring })
	if act := now.Acts[1]; act.Before == nil || act.After != nil || act.Audit != "ok" {
		t.Errorf("got %+v, want a pace before, none after, and a good audit", act)
	}
}

// TestHoldersHaveTheNumbersOfTheButtons: the locks of a process begin with its number.
func TestHoldersHaveTheNumbersOfTheButtons(t *testing.T) {
	t.Parallel()
	url := open(t)
	do(t, url, "house", `{"lock":"fair","processes":2,"singly":true}`)                  // takes a lock for every write
	now := do(t, url, "sale", `{"pace":5,"mix":"singles","segments":8,"stock":100000}`) // more would starve a busy machine
	holders := ""
	defer func() {
		if t.Failed() {
			t.Logf("got %.500s", holders)
		}
	}()
	busytest.Soon(t, "process 1 and process 2 have held locks", func() bool {
		_, locks := ask(t, url+"/v1/skus/"+now.Sale.SKU+"/locks", "")
		holders += locks
		return strings.Contains(holders, `"holder":"1-`) && strings.Contains(holders, `"holder":"2-`)
	})
}

// TestClassroomStandsForNobodyElse: it refuses senseless commands, and pages of other sites.
func TestClassroomStandsForNobodyElse(t *testing.T) {
	t.Parallel()
	url := open(t)
	for command, body := range map[string]string{
		"house": `{"lock":"paper","processes":1}`, "house?": `{"lock":"fair","processes":4}`, "break": `{"name":"wind","broken":true}`,
		"break?": `{"name":"stall","process":1,"broken":true}`, "sale": `{"pace":-1,"mix":"many","segments":1,"stock":1}`, "sale?": `{"more":1}`,
	} {
		if status, answer := ask(t, url+"/classroom/"+command, body); status != http.StatusBadRequest || !strings.Contains(answer, "detail") {
			t.Errorf("%s %s: %d %s", command, body, status, answer)
		}
	}
	for header, value := range map[string]string{"Host": "elsewhere.example", "Sec-Fetch-Site": "cross-site"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/classroom/stop", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if request.Header.Set(header, value); header == "Host" {
			request.Host = value
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != http.StatusForbidden {
			t.Errorf("%s %s: %d", header, value, response.StatusCode)
		}
	}
	for _, page := range []string{"/classroom", "/classroom/classroom.js", "/classroom/controls.js", "/classroom/acts.js", "/classroom/classroom.css"} {
		response, err := http.Get(url + page) //nolint:noctx,gosec // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		if response.Body.Close(); response.StatusCode != http.StatusOK || !strings.Contains(response.Header.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %d %v", page, response.StatusCode, response.Header)
		}
	}
}

// TestASaleIsNew: also on a database where another classroom has held sales before.
func TestASaleIsNew(t *testing.T) { // not parallel: it sells as fast as it can
	file := filepath.Join(t.TempDir(), "inventory.db")
	seen := make(map[string]bool)
	for range 2 {
		url, closeAll := openOn(t, file)
		now := do(t, url, "sale", `{"pace":0,"mix":"singles","segments":2,"stock":1000}`)
		if now.Sale == nil || seen[now.Sale.SKU] {
			t.Fatalf("%+v, want a sale of a new SKU", now.Sale)
		}
		seen[now.Sale.SKU] = true
		closeAll()
	}
}
