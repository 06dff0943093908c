package capacity

import (
	"fmt"
	"slices"
	"strings"

	"inventory/loadtest/internal/experiment"
	"inventory/loadtest/internal/report"
)

// Document is the report.
func (r Result) Document() (report.Document, error) {
	d := r.Report.Document()
	if r.costs != nil {
		d.Summary = append(r.sentences(), d.Summary...)
		d.Sections = append([]report.Section{r.needs(), r.stops(), r.waits(), r.prices()}, d.Sections...)
	}
	return d, d.SetOwn(map[string]any{"costs": r.costs, "skus_audited": r.Audited()})
}

// sentences are the limits of each work, the needs of the sale, and the predictions.
func (r Result) sentences() (all []string) {
	for _, w := range works() {
		limits := r.costs[w.name].limits(w, r.config)
		one := slices.IndexFunc(limits, func(l limit) bool { return l.what == processLimit || l.what == writerLimit })
		if one < 0 {
			continue // no clock has ticked
		}
		text := fmt.Sprintf("%s: %s orders a second by one process, stopped by %s", w.name, report.Number(limits[one].rate), limits[one].what)
		if i := slices.IndexFunc(limits, func(l limit) bool { return !l.more }); i >= 0 {
			text += fmt.Sprintf("; %s by more of them, stopped by %s: %s", report.Number(limits[i].rate), limits[i].what, limits[i].then)
		}
		all = append(all, text+".")
	}
	hot := works()[0]
	n := needsOf(r.config.Buyers/60, r.costs[hot.name].limits(hot, r.config))
	text := fmt.Sprintf("%s buyers of %s within a minute: processes of %d processors: %d, PostgreSQL nodes of %d: %d, Redis masters: %d",
		report.Number(r.config.Buyers), hot.name, r.config.ProcessCores, n.processes, r.config.NodeCores, n.nodes, n.masters)
	if n.stops != "" {
		text += "; that is too much for " + n.stops
	}
	all = append(all, text+".")
	check := r.Result("prediction and measurement")
	for _, w := range checked() {
		all = append(all, fmt.Sprintf("%s, %d callers: costs of %d and of %d predict %s times the orders that were measured.",
			w.name, r.config.Scale.Callers[2], r.config.Scale.Callers[0], r.config.Scale.Callers[1],
			experiment.Times(rate, w.name+predicted, w.name+measured)(*check)))
	}
	return all
}

// table is a section with the rows of each work.
func (r Result) table(name string, columns []string, rows func(w work, c Costs) [][]string, notes ...string) report.Section {
	t := &report.Table{Columns: append([]string{"work"}, columns...)}
	for _, w := range works() {
		for _, row := range rows(w, r.costs[w.name]) {
			t.Rows = append(t.Rows, append([]string{w.name}, row...))
		}
	}
	return report.Section{Name: name, Table: t, Notes: notes}
}

// needs is what the sale needs, by the time within which its buyers come.
func (r Result) needs() report.Section {
	columns := []string{"within", "orders/s", "processes, PostgreSQL nodes, Redis masters, connections a node"}
	return r.table("what a sale needs", columns, func(w work, c Costs) (rows [][]string) {
		for _, span := range spans() {
			rate := r.config.Buyers / span.Seconds()
			n := needsOf(rate, c.limits(w, r.config))
			needs := fmt.Sprintf("%d, %d, %d, %d", n.processes, n.nodes, n.masters, n.connections)
			if n.stops != "" {
				needs = "too much for " + n.stops
			}
			rows = append(rows, []string{strings.Replace(span.String(), "m0s", "m", 1), report.Number(rate), needs})
		}
		return rows
	}, fmt.Sprintf("%s buyers with an order each, who come evenly within that time; processors are busy for %.0f %% of it.",
		report.Number(r.config.Buyers), 100*busy),
		fmt.Sprintf("A process has %d processors, a PostgreSQL node %d and %d connections.",
			r.config.ProcessCores, r.config.NodeCores, r.config.Connections))
}

// stops has the limits of each work, and what to do then.
func (r Result) stops() report.Section {
	return r.table("where it stops", []string{"stopped by", "orders/s", "then"}, func(w work, c Costs) (rows [][]string) {
		for _, l := range c.limits(w, r.config) {
			rows = append(rows, []string{l.what, report.Number(l.rate), l.then})
		}
		return rows
	})
}

// prices has the costs of each part.
func (r Result) prices() report.Section {
	columns := []string{"part", "us an order", "us a write", "us an order of such writes"}
	return r.table("what an order costs", columns, func(_ work, c Costs) (rows [][]string) {
		for _, p := range append(parts(), disk) {
			cost, n := c.Parts[p], report.Number
			rows = append(rows, []string{string(p), n(cost.Order), n(cost.Write), n(c.of(p))})
		}
		return rows
	}, fmt.Sprintf("Microseconds of a processor, of orders that shared their writes as those of %d callers did; of the mean of all rounds.",
		r.config.Scale.Callers[1]))
}

// waits has the simulated latencies of one process on one node.
func (r Result) waits() report.Section {
	columns := []string{"load", "orders/s", "p50 ms", "p99 ms", "orders a write"}
	return r.table("how long buyers wait", columns, func(w work, c Costs) (rows [][]string) {
		limits, n := c.limits(w, r.config), report.Number
		if len(limits) == 0 {
			return nil // no clock has ticked
		}
		full := limits[0].rate / busy
		for _, load := range []float64{0.3, 0.6, 0.9} {
			s := simulate(c.site(w, r.config, load*full), r.Seed)
			rows = append(rows, []string{n(load), n(load * full), n(s[median]), n(s[slow]), n(s[batch])})
		}
		return rows
	}, "By simulation: one process on one PostgreSQL node, to which orders come as people do who know nothing of one another. "+
		"A load of 1 keeps what stops it first busy all the time.")
}
