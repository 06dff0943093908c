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

// notTold stands for a secret.
const notTold = "(not told)"

// flagsOf are the flags of the chosen command that change what it measures, given or by default, without secrets. A hidden flag
// is among them if it was set.
func flagsOf(parsed *kong.Context) (all []report.Flag) {
	silent := []string{"help", "json", "markdown", "fail-on-miss"}
	for _, flag := range parsed.Flags() {
		if slices.Contains(silent, flag.Name) || flag.Hidden && flag.Target.IsZero() {
			continue
		}
		for _, value := range valuesOf(flag) {
			all = append(all, report.Flag{Name: flag.Name, Value: value})
		}
	}
	return all
}

// valuesOf is the value of a flag; of a map, each of its pairs; and of a flag with the tag secret, whether it was given.
func valuesOf(flag *kong.Flag) (all []string) {
	switch target := flag.Target; {
	case flag.Tag.Has("secret") && !target.IsZero():
		return []string{notTold}
	case target.Kind() == reflect.Map:
		for _, key := range target.MapKeys() {
			all = append(all, fmt.Sprintf("%v=%v", key, target.MapIndex(key)))
		}
		if len(all) == 0 {
			return []string{""}
		}
		slices.Sort(all)
		return all
	case target.Kind() == reflect.Slice:
		for i := range target.Len() {
			all = append(all, withoutSecrets(fmt.Sprint(target.Index(i).Interface())))
		}
		separator := " "
		if flag.Tag.Sep > 0 {
			separator = string(flag.Tag.Sep)
		}
		return []string{strings.Join(all, separator)}
	}
	return []string{withoutSecrets(fmt.Sprint(flag.Target.Interface()))}
}

// withoutSecrets takes users, passwords and parameters out of URLs. A connection string of another kind is left out.
func withoutSecrets(value string) string {
	parts := []string{value}
	switch strings.Count(value, "://") {
	case 0:
		if strings.Contains(strings.ToLower(value), "password") {
			return notTold
		}
		return value
	case 1:
	default:
		parts = strings.Split(value, ",")
	}
	for i, part := range parts {
		parsed, err := url.Parse(part)
		if err != nil || parsed.Host == "" || strings.Count(part, "://") != 1 {
			return notTold
		}
		parts[i] = (&url.URL{Scheme: parsed.Scheme, Host: parsed.Host, Path: parsed.Path}).String()
	}
	return strings.Join(parts, ",")
}

// AfterApply keeps the flags for the report, and checks their bounds.
func (f *reportFlags) AfterApply(parsed *kong.Context) error {
	f.flags = flagsOf(parsed)
	for _, flag := range parsed.Flags() {
		if !within(flag) {
			return fmt.Errorf("%s: --%s must be %s to %s", parsed.Selected().Name, flag.Name, flag.Tag.Get("least"), flag.Tag.Get("most"))
		}
	}
	return nil
}

// within reports whether the value of a flag is within its tags least and most, if it has them.
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

// wrongFlag adds to an error which flag it is about.
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

// drawn returns the seed, drawn if none was given.
func (f seedFlag) drawn() uint64 { return drawnSeed(f.Seed) }

func drawnSeed(given uint64) uint64 {
	if given == 0 {
		return 1 + rand.Uint64N(1<<32) // short enough to be typed
	}
	return given
}
