package main

import (
	"fmt"
	"slices"

	"github.com/alecthomas/kong"

	"inventory/loadtest/internal/report"
)

// settings are the flags of a command, given or by default, for its report. Those that may hold secrets, or only say who
// is told, are left out.
func settings(k *kong.Context) (all []report.Flag) {
	silent := []string{"help", "api-key", "database-url", "redis-url", "url", "log-level", "json", "html", "compare", "markdown"}
	for _, flag := range k.Selected().Flags {
		if !flag.Hidden && !slices.Contains(silent, flag.Name) {
			all = append(all, report.Flag{Name: flag.Name, Value: fmt.Sprint(flag.Target.Interface())})
		}
	}
	return all
}
