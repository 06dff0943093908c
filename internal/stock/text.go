package stock

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Texts that callers choose: ids of orders and buyers, refs, names, reasons. What is kept is held to more than what is
// looked up, so that what was kept under older rules can still be read, committed and cancelled.

// checkText holds a text that is to be kept to 1..most bytes of UTF-8 in which everything can be seen. Control
// characters forge lines in logs, and PostgreSQL refuses NUL. What cannot be seen makes two ids of what looks like one.
func checkText(field, text string, most int) error {
	if text != "" && len(text) <= most && isPlain(text) {
		return nil
	}
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

// isPlain tells whether a text is of visible ASCII characters alone, as nearly all are: there is nothing more to check.
func isPlain(text string) bool {
	for i := range len(text) {
		if text[i] <= ' ' || text[i] >= unicode.MaxASCII {
			return false
		}
	}
	return true
}

// checkKnownText holds a text that is looked up to 1..most bytes of UTF-8 without control characters.
func checkKnownText(field, text string, most int) error {
	if text == "" || len(text) > most || !utf8.ValidString(text) {
		return Invalid(field, "must be 1 to %d bytes of UTF-8", most)
	}
	if strings.ContainsFunc(text, unicode.IsControl) {
		return Invalid(field, "must not contain control characters")
	}
	return nil
}

// CheckKnownID holds the id of an order or a buyer that is looked up to what ids can be.
func CheckKnownID(field, id string) error { return checkKnownText(field, id, maxIDBytes) }

// checkOrderID holds the id of a new order to a text that can be part of a path. Clients and proxies take "." and ".."
// for steps in it, however they are escaped, and so would lead from one order to another route.
func checkOrderID(id string) error {
	if err := checkText("order_id", id, maxIDBytes); err != nil {
		return err
	}
	if !strings.Contains(id, ".") { // as nearly all are
		return nil
	}
	for step := range strings.FieldsFuncSeq(id, isSlash) {
		if step == "." || step == ".." {
			return Invalid("order_id", `must not be "." or "..", nor have them between slashes`)
		}
	}
	return nil
}

func isSlash(r rune) bool { return r == '/' || r == '\\' }

// isInvisible tells whether a rune shows nothing: format characters such as zero-width and bidirectional ones,
// separators of lines and paragraphs, fillers, variation selectors.
func isInvisible(r rune) bool {
	if r < 0x80 { // as nearly all are
		return false
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

const maxIDBytes = 128
