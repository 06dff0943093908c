package stock

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Texts that callers choose: ids of orders and buyers, refs, names, reasons. The rules are stricter for a text to keep than
// for one to look up, so that what was kept under older rules can still be read, committed and cancelled.

// checkText allows a text to keep if it is 1..most bytes of UTF-8 in which every character is visible. Control characters
// forge lines in logs, and PostgreSQL refuses NUL. With invisible characters, two ids could look alike.
func checkText(field, text string, most int) error {
	if err := checkKnownText(field, text, most); err != nil {
		return err
	}
	if strings.ContainsFunc(text, isInvisible) {
		return Invalid(field, "must not contain invisible characters")
	}
	if strings.TrimSpace(text) != text {
		return Invalid(field, "must not begin or end with a blank")
	}
	return nil
}

// checkOptional allows a text to keep that may be left out.
func checkOptional(field, text string, most int) error {
	if text == "" {
		return nil
	}
	return checkText(field, text, most)
}

// checkKnownText allows a text to look up if it is 1..most bytes of UTF-8 without control characters.
func checkKnownText(field, text string, most int) error {
	if text == "" || len(text) > most || !utf8.ValidString(text) {
		return Invalid(field, "must be 1 to %d bytes of UTF-8", most)
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return Invalid(field, "must not contain control characters")
	}
	return nil
}

// CheckKnownID refuses to look up an order or a buyer by what cannot be an id.
func CheckKnownID(field, id string) error { return checkKnownText(field, id, maxIDBytes) }

// checkOrderID allows the id of a new order only if it can be part of a path. Clients and proxies resolve "." and ".." as
// steps in the path, however they are escaped, and would send the request to another route.
func checkOrderID(id string) error {
	if err := checkText("order_id", id, maxIDBytes); err != nil {
		return err
	}
	if !strings.Contains(id, ".") { // nearly always
		return nil
	}
	steps := "/" + strings.ReplaceAll(id, `\`, "/") + "/"
	if strings.Contains(steps, "/./") || strings.Contains(steps, "/../") {
		return Invalid("order_id", `must not be "." or "..", nor have them between slashes`)
	}
	return nil
}

// isInvisible reports whether a rune shows nothing: format characters such as zero-width and bidirectional ones,
// separators of lines and paragraphs, fillers, variation selectors.
func isInvisible(r rune) bool {
	const first = '\u00AD' // soft hyphen
	return r >= first && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

const maxIDBytes = 128
