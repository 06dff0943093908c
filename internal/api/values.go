package api

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"inventory/internal/stock"
)

// Values without a type in JSON, or whose zero means "none" to the service. A value that is present and zero is not the
// same as none.

// optional returns a text, or "" if it is absent.
func optional(name string, f field[string]) (string, error) {
	if f.set && f.value == "" {
		return "", invalid(name, "must not be empty; leave it out")
	}
	return f.value, nil
}

// count returns a number of at least one, or 0 if it is absent.
func count(name string, f field[int64], most int64) (int64, error) {
	if f.set && (f.value < 1 || f.value > most) {
		return 0, invalid(name, "must be 1 to "+strconv.FormatInt(most, 10))
	}
	return f.value, nil
}

// instant returns a time, or the zero time if it is absent. It is truncated to the precision that is stored.
func instant(name string, f field[string]) (t time.Time, err error) {
	if !f.set {
		return t, nil
	}
	text := strings.ToUpper(f.value) // RFC 3339 takes t and z as well
	err = t.UnmarshalText([]byte(text))
	t = t.UTC().Truncate(time.Microsecond)
	if err != nil || isLenient(text) || t.IsZero() {
		return t, invalid(name, `must be a time as RFC 3339 writes it, such as "2026-11-27T09:00:00Z"`)
	}
	return t, nil
}

const maxInstant = 64 // characters

// isLenient reports whether a time that Go's parser takes is one that RFC 3339 does not allow: an hour of one digit, a
// comma before the fraction, an offset of 24 hours or of 60 minutes.
func isLenient(text string) bool {
	if len(text) > maxInstant || text[13] != ':' || strings.Contains(text, ",") {
		return true
	}
	offset := text[len(text)-len("+hh:mm"):]
	return !strings.HasSuffix(text, "Z") && (offset[1:3] > "23" || offset[4:6] > "59")
}

// reserve returns how long stock is reserved: 0 if it is absent.
func reserve(name string, f duration) (time.Duration, error) {
	if !f.set {
		return 0, nil
	}
	d, ok := reservation(f.value)
	if !ok {
		return 0, invalid(name, fmt.Sprintf(`must be a duration such as "15m", "PT15M" or 900 seconds, %s to %vh in whole microseconds`,
			stock.MinReserve, stock.MaxReserve.Hours()))
	}
	return d, nil
}

const maxDuration = 32 // characters

// reservation reads a duration as Go writes it, or as ISO 8601 does. It has no sign.
func reservation(text string) (d time.Duration, ok bool) {
	if len(text) > maxDuration && utf8.RuneCountInString(text) > maxDuration {
		return 0, false
	}
	if strings.HasPrefix(text, "P") {
		d, ok = isoDuration(text)
		return d, ok && stock.CheckReserve(d)
	}
	d, err := time.ParseDuration(text)
	return d, err == nil && !strings.HasPrefix(text, "+") && stock.CheckReserve(d)
}

// isoFormat matches a duration in days, hours, minutes and seconds, each once and in this order. Months and years vary in
// length.
var isoFormat = regexp.MustCompile(`^P(?:([0-9]+)D)?(?:T((?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:[.][0-9]+)?S)?))?$`)

// isoDuration reads a duration as ISO 8601 writes it, such as "P1DT2H" or "PT15M".
func isoDuration(text string) (d time.Duration, ok bool) {
	parts := isoFormat.FindStringSubmatch(text)
	if parts == nil || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return 0, false
	}
	if parts[1] != "" {
		days, err := strconv.ParseInt(parts[1], 10, 16)
		if err != nil {
			return 0, false
		}
		d = time.Duration(days) * 24 * time.Hour
	}
	if parts[2] == "" {
		return d, true
	}
	clock, err := time.ParseDuration(strings.ToLower(parts[2]))
	return d + clock, err == nil && clock <= stock.MaxReserve
}

// durationOrNone writes a duration in the form that is read, "" for none.
func durationOrNone(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}
