package gauges

import (
	"os"
	"strings"

	"inventory/internal/app"
	"inventory/loadtest/internal/target"
)

// Of are the sources of a target, to which this process sends the load.
func Of(to *target.Target) Sources {
	s := Sources{
		GeneratorSelf: true, RedisURL: to.RedisURL, DatabaseURL: to.DatabaseURL(), PostmasterPID: to.PostmasterPID,
	}
	for _, admin := range to.AdminURLs {
		s.ServiceMetricsURLs = append(s.ServiceMetricsURLs, admin+"/metrics")
	}
	if s.RedisURL == "" && to.Started() {
		s.RedisURL = app.Embedded
	}
	return s
}

// gauges are the gauges of the known sources.
func (s Sources) gauges() (all []gauge) {
	if s.GeneratorSelf {
		all = append(all, clock("the generator's process", Generator, alone(os.Getpid())), clock("the machine's processes", Machine, wholeMachine))
	}
	if len(s.ServiceMetricsURLs) > 0 {
		all = append(all, scrapes(s.ServiceMetricsURLs))
	}
	if s.RedisURL != "" && s.RedisURL != app.Embedded {
		redis := &redisServer{url: s.RedisURL}
		all = append(all, gauge{name: "Redis", read: redis.read, close: redis.close})
	}
	if s.PostmasterPID != 0 {
		all = append(all, clock("PostgreSQL's processes", PostgreSQL, family(s.PostmasterPID)))
	}
	if file, ok := s.sqliteFile(); ok {
		all = append(all, gauge{name: "SQLite", read: sqliteFile(file).read})
	} else if s.DatabaseURL != "" {
		postgres := &postgresServer{url: s.DatabaseURL}
		all = append(all, gauge{name: "PostgreSQL", read: postgres.read, close: postgres.close})
	}
	return all
}

// sqliteFile is the path of a SQLite file.
func (s Sources) sqliteFile() (path string, ok bool) {
	rest, ok := strings.CutPrefix(s.DatabaseURL, "sqlite:")
	return strings.TrimPrefix(rest, "//"), ok
}

// words say what the figures leave out, and why.
func (s Sources) words() (words []string) {
	if len(s.ServiceMetricsURLs) == 0 {
		words = append(words, "Where the service's metrics are, is not known: neither is what it tells of itself.")
	}
	switch s.RedisURL {
	case app.Embedded:
		words = append(words, "Redis is embedded: its processor time is the service's, and its commands are not counted.")
	case "":
		words = append(words, "Where the service's Redis is, is not known: neither are its processor time and its commands.")
	}
	_, lite := s.sqliteFile()
	switch {
	case lite:
		words = append(words, "SQLite is part of the service, its processor time too. How often it syncs cannot be counted from outside.")
	case s.DatabaseURL == "":
		words = append(words, "Where the service's database is, is not known: neither is what it did.")
	case s.PostmasterPID == 0:
		words = append(words, "PostgreSQL was not started by this run: its processor time is not known.")
	}
	return words
}
