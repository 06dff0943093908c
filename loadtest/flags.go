package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"inventory/loadtest/internal/report"
)

// notTold stands for a value that others must not read.
const notTold = "(not told)"

// flagsOf are all flags of the command that was chosen, given or by default, and without secrets, that change what it
// measures, and not only who is told. A hidden one is told if somebody has set it.
func flagsOf(parsed *kong.Context) (all []report.Flag) {
	silent := []string{"help", "json", "html", "csv", "hdr", "compare", "fail-on-miss"}
	for _, flag := range parsed.Flags() {
		if slices.Contains(silent, flag.Name) || flag.Hidden && flag.Target.IsZero() {
			continue
		}
		if flag.Target.Kind() == reflect.Map && flag.Target.Len() > 0 { // as it is given: one after the other
			for _, key := range slices.SortedFunc(slices.Values(flag.Target.MapKeys()), func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) }) {
				all = append(all, report.Flag{Name: flag.Name, Value: fmt.Sprintf("%v=%v", key, flag.Target.MapIndex(key))})
			}
			continue
		}
		all = append(all, report.Flag{Name: flag.Name, Value: valueOf(flag)})
	}
	return all
}

// valueOf is what a flag says. One with the tag secret says whether it was given.
func valueOf(flag *kong.Flag) string {
	if flag.Tag.Has("secret") && !flag.Target.IsZero() {
		return notTold
	}
	switch flag.Target.Kind() {
	case reflect.Map:
		return ""
	case reflect.Slice:
	default:
		return withoutSecrets(fmt.Sprint(flag.Target.Interface()))
	}
	parts := make([]string, flag.Target.Len())
	for i := range parts {
		parts[i] = withoutSecrets(fmt.Sprint(flag.Target.Index(i).Interface()))
	}
	separator := " "
	if flag.Tag.Sep > 0 {
		separator = string(flag.Tag.Sep)
	}
	return strings.Join(parts, separator)
}

// withoutSecrets takes users, passwords and parameters out of URLs. What looks like a connection string of another kind, or
// like several URLs, is not told at all.
func withoutSecrets(value string) string {
	switch strings.Count(value, "://") {
	case 0:
		if strings.Contains(strings.ToLower(value), "password") {
			return notTold
		}
		return value
	case 1:
		parsed, err := url.Parse(value)
		if err != nil || parsed.Host == "" {
			return notTold
		}
		return (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}).String()
	}
	var parts []string
	for part := range strings.SplitSeq(value, ",") {
		if strings.Count(part, "://") != 1 {
			return notTold
		}
		parts = append(parts, withoutSecrets(part))
	}
	return strings.Join(parts, ",")
}

// AfterApply keeps the flags for the report, and holds them against their bounds.
func (f *reportFlags) AfterApply(parsed *kong.Context) error {
	f.flags = flagsOf(parsed)
	for _, flag := range parsed.Flags() {
		if !within(flag) {
			return fmt.Errorf("%s: --%s must be %s to %s", parsed.Selected().Name, flag.Name, flag.Tag.Get("least"), flag.Tag.Get("most"))
		}
	}
	return nil
}

// within tells whether the value of a flag lies between those of its tags least and most, if it has them.
func within(flag *kong.Flag) bool {
	if !flag.Tag.Has("least") {
		return true
	}
	number := func(text string) (n float64) {
		if d, err := time.ParseDuration(text); err == nil {
			return float64(d)
		}
		n, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return math.NaN() // nothing is within
		}
		return n
	}
	is := number(fmt.Sprint(flag.Target.Interface()))
	return is >= number(flag.Tag.Get("least")) && is <= number(flag.Tag.Get("most"))
}

// wrongFlag says which flag an error is about; nil stays nil.
func wrongFlag(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// seedFlag decides the order of what is compared.
type seedFlag struct {
	Seed uint64 `help:"Decides the order of the contenders in each round. 0 draws one. Default: ${default}." default:"0" placeholder:"NUMBER"`
}

// drawn is the seed, drawn where none was given.
func (f seedFlag) drawn() uint64 { return drawnSeed(f.Seed) }

func drawnSeed(given uint64) uint64 {
	if given == 0 {
		return 1 + rand.Uint64N(1<<32) // short enough to be typed
	}
	return given
}
