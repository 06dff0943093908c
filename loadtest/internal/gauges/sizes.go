package gauges

import (
	"math"

	"inventory/loadtest/internal/report"
)

// sizes is how tables and indexes grew, where the database is known.
func (r Readings) sizes(accepted int64) (report.Section, bool) {
	first, last := r.relations()
	if len(last) == 0 && len(r.sizesPlot().Series) == 0 {
		return report.Section{}, false
	}
	before := map[string]float64{}
	for _, relation := range first {
		before[relation.Name] = relation.Bytes
	}
	table := &report.Table{Columns: []string{"", "kB before", "kB after", "bytes more per accepted order", "rows", "dead rows"}}
	for _, relation := range last {
		name := relation.Name
		if relation.Table != "" {
			name = "index " + name
		}
		table.Rows = append(table.Rows, []string{
			name, cell(before[relation.Name] / milli), cell(relation.Bytes / milli),
			cell(each(relation.Bytes-before[relation.Name], accepted)), cell(relation.Live), cell(relation.Dead),
		})
	}
	return report.Section{Name: "Tables and indexes", Table: table, Plots: drawn(r.sizesPlot()), Notes: r.rowWords()}, true
}

// Growth is by how many bytes all tables grew, and all indexes; NaN: not known.
func (r Readings) Growth() (tables, indexes float64) {
	first, last := r.relations()
	if len(last) == 0 {
		return math.NaN(), math.NaN()
	}
	add := func(relations []Relation, sign float64) {
		for _, relation := range relations {
			if relation.Table == "" {
				tables += sign * relation.Bytes
			} else {
				indexes += sign * relation.Bytes
			}
		}
	}
	add(last, 1)
	add(first, -1)
	return tables, indexes
}

// relations are the tables and indexes of the first and of the last reading that tell of them.
func (r Readings) relations() (first, last []Relation) {
	for _, reading := range r.All {
		if all := reading.Relations(); len(all) > 0 {
			if first == nil {
				first = all
			}
			last = all
		}
	}
	return first, last
}

func (r Readings) rowWords() []string {
	if _, lite := r.sources.sqliteFile(); lite {
		return nil
	}
	return []string{"Rows are PostgreSQL's estimates. A table is told without its indexes, with its TOAST."}
}

func (r Readings) sizesPlot() report.Plot {
	plot := over(SizesPlot, "Size of tables and indexes over time", "MB")
	mb := func(of value) value { return func(x Reading) float64 { return of(x) / megabyte } }
	plot.Series = appendSeries(plot.Series, "tables", r.points, mb(tablesOf))
	plot.Series = appendSeries(plot.Series, "indexes", r.points, mb(indexesOf))
	plot.Series = appendSeries(plot.Series, "SQLite file", r.points, mb(ofSQLite(func(x *SQLiteReading) float64 { return x.Bytes })))
	plot.Series = appendSeries(plot.Series, "SQLite log", r.points, mb(ofSQLite(func(x *SQLiteReading) float64 { return x.Log })))
	return plot
}

// tablesOf is the size of all tables of PostgreSQL without their indexes.
func tablesOf(x Reading) float64 {
	return sizeOf(x, func(r Relation) bool { return r.Table == "" })
}

func indexesOf(x Reading) float64 { return sizeOf(x, func(r Relation) bool { return r.Table != "" }) }

func sizeOf(x Reading, which func(Relation) bool) (bytes float64) {
	if x.Postgres == nil {
		return math.NaN()
	}
	for _, relation := range x.Postgres.Relations {
		if which(relation) {
			bytes += relation.Bytes
		}
	}
	return bytes
}
