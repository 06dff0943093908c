package classroom_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"inventory/internal/classroom"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// open opens a classroom, and returns its URL.
func open(t *testing.T) (url string) {
	t.Helper()
	school, err := classroom.Open(t.Context(), classroom.Config{DatabaseURL: "sqlite:" + filepath.Join(t.TempDir(), "inventory.db")})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(school.Handler())
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
		if err := school.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	})
	return server.URL
}

type act struct {
	What, Why, Audit string
	Before, After    *struct{ Accepted float64 }
	Measuring        bool
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
		Points  []struct {
			Accepted, Failed int
			P99              float64
		}
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
	status, answer := ask(t, url+"/classroom/"+command, body)
	if err := json.Unmarshal([]byte(answer), &now); err != nil || status != http.StatusOK {
		t.Fatalf("%s %s: %d %s, %v", command, body, status, answer, err)
	}
	return now
}

// until reads the state until it satisfies a condition.
func until(t *testing.T, url string, wanted func(told) bool) (now told) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if now = do(t, url, "state", ""); wanted(now) {
			return now
		}
	}
	t.Fatalf("it stays %+v", now)
	return now
}

// TestNothingBreaksTheAudit sells with each kind of lock through two processes, and causes every fault.
func TestNothingBreaksTheAudit(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"reentrant", "fair", "redlock", "none"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			url := open(t)
			now := do(t, url, "house", fmt.Sprintf(`{"lock":%q,"processes":2}`, lock))
			if now.Lock != lock || len(now.Services) != 2 {
				t.Fatalf("got %+v, want 2 services with the lock %s", now, lock)
			}
			do(t, url, "sale", `{"pace":60,"mix":"reserve","segments":4,"stock":500,"restock":true}`)
			until(t, url, func(now told) bool { return len(now.Sale.Points) > 0 && now.Sale.Points[0].Accepted > 0 })
			acts := 1 // the sale
			for _, b := range now.Breaks {
				if b.Why == "" || b.Break == "" {
					t.Errorf("got %+v, want a label and a reason", b)
				}
				do(t, url, "break", fmt.Sprintf(`{"name":%q,"process":1,"broken":true}`, b.Name))
				if acts++; b.Mend != "" {
					time.Sleep(300 * time.Millisecond) // time for a sale with the fault
					do(t, url, "break", fmt.Sprintf(`{"name":%q,"process":1,"broken":false}`, b.Name))
					acts++
				}
			}
			now = until(t, url, func(now told) bool {
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
			sold := 0
			for _, point := range now.Sale.Points {
				sold += point.Accepted
			}
			if now = do(t, url, "stop", "{}"); sold < 100 || now.Sale.Running {
				t.Errorf("%d orders, %+v", sold, now.Sale)
			}
			if status, answer := ask(t, url+"/v1/skus/"+now.Sale.SKU+"/audit", ""); status != 200 || !strings.HasPrefix(answer, `{"ok":true`) {
				t.Errorf("got %d %s, want an audit that is ok", status, answer)
			}
		})
	}
}

// TestStoppedProcess: others sell what its buyers want, and who is alone sells nothing. The page says which.
func TestStoppedProcess(t *testing.T) {
	t.Parallel()
	url := open(t)
	for _, one := range []struct {
		processes int
		says      string
	}{{1, "every order fails"}, {3, "to another process"}} {
		do(t, url, "house", fmt.Sprintf(`{"lock":"reentrant","processes":%d}`, one.processes))
		do(t, url, "sale", `{"pace":20,"mix":"singles","segments":10,"stock":100000}`)
		until(t, url, func(now told) bool { return len(now.Sale.Points) > 0 && now.Sale.Points[0].Accepted > 0 })
		now := do(t, url, "break", `{"name":"stall","process":0,"broken":true}`)
		if !strings.Contains(now.Acts[0].Why, one.says) {
			t.Errorf("%d processes: got %q, want that it says %q", one.processes, now.Acts[0].Why, one.says)
		}
		seconds := len(now.Sale.Points)
		until(t, url, func(now told) bool { // its buyers are among those of the last second
			last := now.Sale.Points[len(now.Sale.Points)-1]
			sells := last.Accepted > 0 && last.Failed == 0 && last.P99 > 2000
			return len(now.Sale.Points) > seconds+2 && last.P99 < 3500 && (one.processes > 1 && sells || one.processes == 1 && last.Accepted == 0 && last.Failed > 0)
		})
		do(t, url, "break", `{"name":"stall","process":0,"broken":false}`)
	}
}

// TestNoPaceWithoutASale: who breaks something after the end of a sale, or ends it right after, is told no pace.
func TestNoPaceWithoutASale(t *testing.T) { // not parallel: it sells as fast as it can
	url := open(t)
	do(t, url, "sale", `{"pace":0,"mix":"singles","segments":1,"stock":100000}`)
	until(t, url, func(now told) bool { return len(now.Sale.Points) > 0 && now.Sale.Points[0].Accepted > 0 })
	do(t, url, "break", `{"name":"redis","broken":true}`)
	do(t, url, "stop", "{}")
	if act := do(t, url, "break", `{"name":"redis","broken":false}`).Acts[0]; act.Before != nil || act.After != nil || act.Measuring {
		t.Errorf("got %+v, want no pace of a sale that has ended", act)
	}
	now := until(t, url, func(now told) bool { return !now.Acts[1].Measuring })
	if act := now.Acts[1]; act.Before == nil || act.After != nil || act.Audit != "ok" {
		t.Errorf("got %+v, want a pace before, none after, and a good audit", act)
	}
}

// TestHoldersHaveTheNumbersOfTheButtons: the locks of a process begin with its number.
func TestHoldersHaveTheNumbersOfTheButtons(t *testing.T) {
	t.Parallel()
	url := open(t)
	do(t, url, "house", `{"lock":"fair","processes":2,"singly":true}`) // takes a lock for every write
	now := do(t, url, "sale", `{"pace":50,"mix":"singles","segments":8,"stock":100000}`)
	for holders, deadline := "", time.Now().Add(20*time.Second); !strings.Contains(holders, `"holder":"1-`) || !strings.Contains(holders, `"holder":"2-`); {
		_, one := ask(t, url+"/v1/skus/"+now.Sale.SKU+"/locks", "")
		if holders += one; time.Now().After(deadline) {
			t.Fatalf("got %.500s, want holders 1 and 2", holders)
		}
	}
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
func TestASaleIsNew(t *testing.T) {
	t.Parallel()
	file := "sqlite:" + filepath.Join(t.TempDir(), "inventory.db")
	seen := make(map[string]bool)
	for range 2 {
		school, err := classroom.Open(t.Context(), classroom.Config{DatabaseURL: file})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(school.Handler())
		now := do(t, server.URL, "sale", `{"pace":100,"mix":"singles","segments":2,"stock":1000}`)
		if now.Sale == nil || seen[now.Sale.SKU] {
			t.Fatalf("%+v, want a sale of a new SKU", now.Sale)
		}
		seen[now.Sale.SKU] = true
		http.DefaultClient.CloseIdleConnections()
		server.Close()
		if err := school.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
