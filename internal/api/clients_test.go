//go:build clients

package api_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"inventory/internal/busytest"
)

// language is a chapter of docs/CLIENTS.md: the commands there, then a driver of ours, which docs/CLIENTS.md does not show.
type language struct {
	name, fence    string
	file           string   // what the chapter's text is
	driver, driven string   // the driver's source, and the file that it becomes
	build, run     []string // the driver
}

// gson is where Debian has it; the environment may say otherwise, as the document does.
const gson = `"${GSON:-/usr/share/java/gson.jar}"`

var languages = []language{
	{"TypeScript", "ts", "checkout.ts", "drive.js", "drive.js", nil, []string{"node", "drive.js"}},
	{"Python", "python", "checkout.py", "drive.py", "drive.py", nil, []string{"python3", "drive.py"}},
	{
		"Java", "java", "Checkout.java", "Drive.java", "Drive.java",
		[]string{"bash", "-c", "javac -cp .:" + gson + " Drive.java"},
		[]string{"bash", "-c", "exec java -cp .:" + gson + " Drive"},
	},
	{"Go", "go", "checkout/checkout.go", "drive.go.txt", "main.go", []string{"go", "build", "-o", "drive", "."}, []string{"./drive"}},
}

// TestClients installs and compiles each client of docs/CLIENTS.md by the commands there, and checks out with it behind a proxy that
// fails before and after a request is carried out. No order is paid twice, refunded while it holds units, or kept by who gave it up.
func TestClients(t *testing.T) {
	text, err := os.ReadFile("../../docs/CLIENTS.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			t.Parallel()
			shop := openFailing(t)
			c := installed(t, l, chapterOf(t, string(text), l.name), shop.proxy.URL)
			shop.sellBy(c)
		})
	}
}

// seller is a program that runs the text of one language.
type seller struct {
	t      *testing.T
	folder string
	run    []string
	url    string
}

// chapterOf returns what the document says of a language.
func chapterOf(t *testing.T, text, name string) string {
	t.Helper()
	_, chapter, found := strings.Cut(text, "\n## "+name+"\n")
	if !found {
		t.Fatalf("docs/CLIENTS.md has no chapter %s", name)
	}
	chapter, _, _ = strings.Cut(chapter, "\n## ")
	return chapter
}

// blocksOf returns the texts of one kind that a chapter shows.
func blocksOf(t *testing.T, chapter, fence string) string {
	t.Helper()
	shown := regexp.MustCompile("(?s)```"+fence+"\n(.*?)```").FindAllStringSubmatch(chapter, -1)
	if len(shown) != 1 {
		t.Fatalf("docs/CLIENTS.md shows %d texts of %s, want 1", len(shown), fence)
	}
	return shown[0][1]
}

// installed does what a chapter says in an empty folder. A program that is missing fails the test: nothing is left out.
func installed(t *testing.T, l language, chapter, url string) seller {
	t.Helper()
	c := seller{t, t.TempDir(), l.run, url}
	c.write(l.file, blocksOf(t, chapter, l.fence))
	if _, out, err := c.command("", "bash", "-euo", "pipefail", "-c", blocksOf(t, chapter, "sh")); err != nil {
		t.Fatalf("the commands of docs/CLIENTS.md: %v\n%s", err, out)
	}
	driver, err := os.ReadFile(filepath.Join("clients", l.driver))
	if err != nil {
		t.Fatal(err)
	}
	c.write(l.driven, string(driver))
	if l.build != nil {
		if _, out, err := c.command("", l.build...); err != nil {
			t.Fatalf("%q: %v\n%s", l.build, err, out)
		}
	}
	return c
}

func (c seller) write(name, text string) {
	c.t.Helper()
	name = filepath.Join(c.folder, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// command runs a command in the client's folder, as its user would.
func (c seller) command(input string, arguments ...string) (output, problems string, err error) {
	var out, wrong busytest.Log
	command := exec.CommandContext(c.t.Context(), arguments[0], arguments[1:]...)
	command.Dir, command.Stdin, command.Stdout, command.Stderr = c.folder, strings.NewReader(input), &out, &wrong
	command.Env = append(os.Environ(), "INVENTORY_URL="+c.url, "INVENTORY_KEY=", "PYTHONDONTWRITEBYTECODE=1")
	err = command.Run()
	return out.String(), out.String() + wrong.String(), err
}

// decisions has the client do all steps at once, and again those that are to be done later, as a job would. It returns what the shop is
// to do, by the step.
func (c seller) decisions(steps []string, patient bool) map[string]string {
	c.t.Helper()
	decided := make(map[string]string)
	for tries := 0; len(steps) > 0; tries++ {
		out, problems, err := c.command(strings.Join(steps, "\n")+"\n", c.run...)
		if err != nil {
			c.t.Fatalf("%q: %v\n%s", c.run, err, problems)
		}
		var later []string
		for _, step := range steps {
			words := strings.Fields(step)
			_, rest, told := strings.Cut("\n"+out, "\n"+words[0]+" "+words[1]+" ")
			decision, _, _ := strings.Cut(rest, "\n")
			if !told {
				c.t.Fatalf("%s: nothing is said of it\n%s", step, problems)
			}
			if decided[step] = decision; decision == "later" && patient && tries < 20 {
				later = append(later, step)
			}
		}
		steps = later
	}
	return decided
}

// scenario is an order, and what its shop is told at each step.
type scenario struct {
	id, sku string
	steps   []step
	ends    string // the order's status in the end
}

type step struct{ verb, want string }

var (
	sold   = []step{{"reserve", "ask for the money"}, {"paid", "deliver"}, {"reserve", "deliver"}, {"paid", "deliver"}, {"unpaid", "nothing"}}
	gaveUp = []step{{"reserve", "ask for the money"}, {"unpaid", "nothing"}, {"unpaid", "nothing"}, {"reserve", "refuse"}}
	late   = []step{{"paid", "refund"}, {"paid", "refund"}}
)

// sellBy has a client sell in all scenarios at once, step by step.
func (f *failing) sellBy(c seller) {
	f.t = c.t
	scenarios := f.prepare()
	for n := 0; ; n++ {
		var steps []string
		want := make(map[string]string)
		for _, s := range scenarios {
			if n < len(s.steps) {
				line := s.steps[n].verb + " " + s.id + " " + s.sku
				steps, want[line] = append(steps, line), s.steps[n].want
			}
		}
		if steps == nil {
			break
		}
		for line, got := range c.decisions(steps, true) {
			if got != want[line] {
				c.t.Errorf("step %d: %s: got %q, want %q", n+1, line, got, want[line])
			}
		}
	}
	f.sellLater(c)
	for _, s := range scenarios {
		f.wantOrder(s.id, s.ends)
	}
	f.want(f.send("GET", "/v1/audit", ""), 200, "")
	if a := f.send("GET", "/v1/audit", ""); !strings.Contains(a.body, `"ok":true`) {
		c.t.Errorf("got the audit %s, want one that is right", a.body)
	}
	if n := f.followed.Load(); n != 0 {
		c.t.Errorf("%d redirects were followed, want none", n)
	}
}

// prepare makes the SKUs, and the orders that have a history.
func (f *failing) prepare() (all []scenario) {
	for sku, stock := range map[string]int{"lamp": 1000, "none": 0} {
		f.want(f.send("PUT", "/v1/skus/"+sku, fmt.Sprintf(`{"stock":%d}`, stock)), 201, "")
	}
	for failure := range failures {
		for _, when := range []string{"before", "after"} {
			at := when + "." + failure
			all = append(all,
				scenario{"place." + at, "lamp", sold, "committed"}, scenario{"commit." + at, "lamp", sold, "committed"},
				scenario{"cancel." + at, "lamp", gaveUp, "cancelled"},
				scenario{"place." + at + ".none", "none", []step{{"reserve", "refuse"}}, ""},
				scenario{"commit." + at + ".late", "late." + at, late, "expired"})
		}
	}
	all = append(all,
		scenario{"back", "lamp", []step{{"paid", "nothing"}, {"unpaid", "nothing"}, {"reserve", "nothing"}, {"paid", "nothing"}}, "returned"},
		scenario{"in-time", "there", []step{{"paid", "deliver"}, {"paid", "deliver"}}, "committed"},
		scenario{"second-card", "lamp", append(gaveUp[:3:3], step{"paid", "deliver"}, step{"unpaid", "nothing"}), "committed"},
		scenario{"unknown", "lamp", []step{{"paid", "look"}}, ""},
	)
	f.place("back", "lamp", "15m")
	f.want(f.send("POST", "/v1/orders/back/commit", ""), 200, "")
	f.want(f.send("POST", "/v1/orders/back/return", ""), 200, "")
	for _, s := range all {
		if strings.HasSuffix(s.id, ".late") || s.id == "in-time" {
			f.want(f.send("PUT", "/v1/skus/"+s.sku, `{"stock":1}`), 201, "")
			f.place(s.id, s.sku, "1s")
		}
	}
	for _, s := range all {
		if strings.HasSuffix(s.id, ".late") { // somebody else buys the unit
			busytest.Soon(f.t, "the reservation has expired", func() bool {
				return f.send("POST", "/v1/skus/"+s.sku+"/deductions", `{"order_id":"other","quantity":1}`).status == 201
			})
		}
	}
	busytest.Soon(f.t, "the reservation has expired", func() bool {
		return strings.Contains(f.send("GET", "/v1/orders/in-time", "").body, `"expired"`)
	})
	return all
}

func (f *failing) place(id, sku, reserveFor string) {
	f.t.Helper()
	f.want(f.send("POST", "/v1/orders", `{"order_id":"`+id+`","reserve_for":"`+reserveFor+`","lines":[{"sku":"`+sku+`","quantity":1}]}`), 201, "")
}

// sellLater loses every answer: the shop decides nothing until the proxy works again.
func (f *failing) sellLater(c seller) {
	var all []scenario
	for _, failure := range []string{"502", "nothing", "limited"} {
		for _, when := range []string{"never", "always"} { // is the request carried out?
			ends := map[string]string{"never": "reserved", "always": "committed"}[when]
			all = append(all, scenario{"commit." + when + "." + failure, "lamp", nil, ends})
			f.place("commit."+when+"."+failure, "lamp", "15m")
		}
	}
	var steps []string
	for _, s := range all {
		steps = append(steps, "paid "+s.id+" "+s.sku)
	}
	for line, got := range c.decisions(steps, false) {
		if got != "later" {
			c.t.Errorf("%s, without an answer: got %q, want later", line, got)
		}
	}
	for _, s := range all {
		f.wantOrder(s.id, s.ends)
	}
	f.mended.Store(true)
	for line, got := range c.decisions(steps, true) {
		if got != "deliver" {
			c.t.Errorf("%s, when the proxy works again: got %q, want deliver", line, got)
		}
	}
}

// wantOrder checks the status of an order; "": there is none.
func (f *failing) wantOrder(id, status string) {
	f.t.Helper()
	a := f.send("GET", "/v1/orders/"+id, "")
	if status == "" && a.status != 404 || status != "" && !strings.Contains(a.body, `"status":"`+status+`"`) {
		f.t.Errorf("the order %s is %s, want %s", id, a.body, status)
	}
}
