package api

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

// form is a JSON object of a request, whose fields are read one after the other. What is absent or wrong reads as the zero value.
type form struct {
	object []byte // its text
	at     int64  // where that begins in the body
	path   string // before the names of its fields in errors: "lines[3]."
	fields []given
	wrong  *mistake // of the whole body
}

// given is a field as it was sent, or an item of an array. It has no value if the JSON breaks off there.
type given struct {
	name  string
	at    int64 // where it begins in the body
	value jsontext.Value
	items []given // of an array, which has no other value
	asked bool    // the request may have it
}

// mistake is what is wrong with a body. Of several, the first one in its text counts. What is missing or out of bounds comes after them,
// in the order in which the fields are read.
type mistake struct {
	err error
	at  int64
}

const afterText = math.MaxInt64

func (m *mistake) note(at int64, err error) {
	if m.err == nil || at < m.at {
		m.err, m.at = err, at
	}
}

// invalid returns the error of a wrong field.
func invalid(name, message string) *stock.Error {
	return &stock.Error{Code: stock.CodeInvalidRequest, Field: name, Message: name + " " + message}
}

// readForm returns what read makes of a body: one JSON object with the fields that read asks for and no others, each once.
func readForm[R any](text []byte, read func(*form) R) (asked R, err error) {
	f := form{object: text, fields: make([]given, 0, 4), wrong: new(mistake)}
	f.parse("body")
	asked = read(&f)
	f.refuseOthers()
	return asked, f.wrong.err
}

const (
	mustBeObject = "must be a JSON object"
	maxItems     = 1000 // stock.MaxLines, stock.MaxOrders
)

var (
	errNoObject = errors.New(mustBeObject)
	errTooMany  = fmt.Errorf("must be 1 to %d", maxItems)
)

// parse finds the fields of an object, which has that name in errors.
func (f *form) parse(name string) {
	err := json.Unmarshal(f.object, f)
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		f.wrong.note(f.at+syntactic.ByteOffset, explain(syntactic))
	} else if errors.Is(err, errNoObject) {
		f.wrong.note(f.at, invalid(name, mustBeObject))
	}
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (f *form) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	start, err := d.ReadToken()
	if err != nil {
		return err
	}
	if start.Kind() != '{' {
		return errNoObject
	}
	for d.PeekKind() != '}' {
		at := f.at + d.InputOffset()
		token, err := d.ReadToken()
		if err != nil {
			return err
		}
		name, field := token.String(), given{}
		if d.PeekKind() == '[' {
			field, err = f.readItems(d, name)
		} else {
			field, err = f.readValue(d)
		}
		field.name, field.at = name, at
		f.fields = append(f.fields, field)
		if err != nil {
			return err
		}
	}
	_, err = d.ReadToken()
	return err
}

func (f *form) readValue(d *jsontext.Decoder) (g given, err error) {
	g.at = f.at + d.InputOffset()
	value, err := d.ReadValue()
	if err == nil {
		end := d.InputOffset()
		g.value = f.object[end-int64(len(value)) : end] // the decoder's is good until the next read
	}
	return g, err
}

// readItems reads an array of at most as many items as a request may have, and nothing behind them.
func (f *form) readItems(d *jsontext.Decoder, name string) (g given, err error) {
	_, err = d.ReadToken()
	for err == nil && d.PeekKind() != ']' {
		if len(g.items) == maxItems {
			f.wrong.note(f.at+d.InputOffset(), invalid(f.path+name, errTooMany.Error()))
			return g, errTooMany
		}
		var item given
		if item, err = f.readValue(d); err == nil {
			g.items = append(g.items, item)
		}
	}
	if err == nil {
		_, err = d.ReadToken()
		g.value = jsontext.Value("[]")
	}
	return g, err
}

// refuseOthers refuses the first field that nobody has asked for.
func (f *form) refuseOthers() {
	for _, g := range f.fields {
		if !g.asked {
			f.wrong.note(g.at, invalid(f.path+g.name, "is not a field of this request"))
			return
		}
	}
}

// find returns a field that the request may have; nil if it is absent.
func (f *form) find(name string) *given {
	for i := range f.fields {
		if g := &f.fields[i]; g.name == name {
			g.asked = true
			return g
		}
	}
	return nil
}

// has reports whether a field is there.
func (f *form) has(name string) bool { return f.find(name) != nil }

// refuse refuses a request because of a field that is missing or out of bounds.
func (f *form) refuse(name, message string) { f.wrong.note(afterText, invalid(f.path+name, message)) }

// refuseType refuses a field for its type.
func (f *form) refuseType(g *given, message string) {
	if g.value != nil {
		f.wrong.note(g.at, invalid(f.path+g.name, message))
	}
}

// text returns a string, and whether it is there. null is not a value.
func (f *form) text(name string) (value string, there bool) {
	g := f.find(name)
	if g == nil {
		return "", false
	}
	if g.value.Kind() != '"' {
		f.refuseType(g, "must be a string")
		return "", false
	}
	decoded, _ := jsontext.AppendUnquote(nil, g.value) // it has been read as JSON already
	return string(decoded), true
}

// number returns a whole number, and whether it is there.
func (f *form) number(name string) (value int64, there bool) {
	g := f.find(name)
	if g == nil {
		return 0, false
	}
	value, err := strconv.ParseInt(string(g.value), 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		return math.MaxInt64, true // beyond what any field allows: the field's own check states the bounds
	}
	if err != nil {
		f.refuseType(g, "must be a whole number")
	}
	return value, err == nil
}

// isFalse reports whether a field is there and false.
func (f *form) isFalse(name string) bool {
	g := f.find(name)
	if g == nil {
		return false
	}
	kind := g.value.Kind()
	if kind != 't' && kind != 'f' {
		f.refuseType(g, "must be true or false")
	}
	return kind == 'f'
}

// required returns the value of a field that must be there.
func required[T string | int64](f *form, read func(*form, string) (T, bool), name string) T {
	value, there := read(f, name)
	if !there {
		f.refuse(name, "is required")
	}
	return value
}

// optional returns a text, or "" if it is absent: a text that is there and empty is not the same as none.
func (f *form) optional(name string) string {
	text, there := f.text(name)
	if there && text == "" {
		f.refuse(name, "must not be empty; leave it out")
	}
	return text
}

// count returns a number of at least one, or 0 if it is absent.
func (f *form) count(name string, most int64) int64 {
	n, there := f.number(name)
	if there && (n < 1 || n > most) {
		f.refuse(name, "must be 1 to "+strconv.FormatInt(most, 10))
	}
	return n
}

// instant returns a time, or the zero time if it is absent.
func (f *form) instant(name string) time.Time {
	text, there := f.text(name)
	if !there {
		return time.Time{}
	}
	at, ok := instant(text)
	if !ok {
		f.refuse(name, mustBeInstant)
	}
	return at
}

// period returns how long stock is reserved: 0 if it is absent. It is a string, or whole seconds.
func (f *form) period(name string) time.Duration {
	g := f.find(name)
	if g == nil {
		return 0
	}
	text := string(g.value) + "s"
	if g.value.Kind() != '0' {
		var there bool
		if text, there = f.text(name); !there {
			return 0
		}
	} else if strings.ContainsAny(text, ".eE") {
		f.refuseType(g, "must be a string, or whole seconds")
		return 0
	}
	d, ok := reservation(text)
	if !ok {
		f.refuse(name, fmt.Sprintf(`must be a duration such as "15m", "PT15M" or 900 seconds, %s to %vh in whole microseconds`,
			stock.MinReserve, stock.MaxReserve.Hours()))
	}
	return d
}

// list returns the items of an array, and whether it is there; null is as if it were not.
func (f *form) list(name string) (items []given, there bool) {
	g := f.find(name)
	if g == nil || g.value.Kind() == 'n' {
		return nil, false
	}
	if g.value.Kind() != '[' {
		f.refuseType(g, "must be an array")
	}
	return g.items, true
}

// forms calls read with each item of an array of objects. It reports whether the array is there.
func (f *form) forms(name string, read func(*form)) (there bool) {
	items, there := f.list(name)
	for i, g := range items {
		item := form{object: g.value, at: g.at, path: fmt.Sprintf("%s[%d]", name, i), wrong: f.wrong}
		if g.value.Kind() != 'n' { // null has no fields
			item.parse(item.path)
		}
		item.path += "."
		read(&item)
		item.refuseOthers()
	}
	return there
}

// readAs reads the request's body, of at most that many bytes, and returns what it asks for. A large text takes a thousand times as long
// as a small one, so large ones are read one at a time, and their callers, which have a key, take turns.
func readAs[R any](s *server, c echo.Context, most int, read func(*form) R) (asked R, err error) {
	if err := checkMediaType(c.Request()); err != nil {
		return asked, err
	}
	if callerOf(c).Buyer != "" {
		most = maxBodyBytes
	}
	text, err := readBody(c.Request(), most)
	if err != nil {
		return asked, err
	}
	if len(text) > maxBodyBytes {
		leave, err := s.bodies.Enter(c.Request().Context(), turnOf(c), len(text))
		if err != nil {
			return asked, noTurn(err)
		}
		defer leave()
	}
	return readForm(text, read)
}

// readIfAny is readAs for a body that may be left out.
func readIfAny[R any](_ *server, c echo.Context, most int, read func(*form) R) (asked R, err error) {
	text, err := readBody(c.Request(), most)
	if err != nil {
		return asked, err
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return readForm([]byte("{}"), read)
	}
	if err := checkMediaType(c.Request()); err != nil {
		return asked, err
	}
	return readForm(text, read)
}

// checkMediaType refuses a body whose header does not say plain JSON: to read it as such would be a guess.
func checkMediaType(r *http.Request) error {
	if r.Header["Content-Encoding"] != nil {
		return mediaError("a body with a content encoding is not read")
	}
	given := r.Header[echo.HeaderContentType]
	if len(given) == 1 && given[0] == echo.MIMEApplicationJSON { // nearly always
		return nil
	}
	if len(given) == 1 {
		if media, _, err := mime.ParseMediaType(given[0]); err == nil && media == echo.MIMEApplicationJSON {
			return nil
		}
	}
	return mediaError("the content type must be application/json")
}

func mediaError(message string) error { return &stock.Error{Code: codeMediaType, Message: message} }

// readBody reads the request's body, of at most that many bytes.
func readBody(r *http.Request, most int) ([]byte, error) {
	if r.ContentLength > int64(most) {
		return nil, tooLarge(most)
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	switch {
	case len(text) > most:
		return nil, tooLarge(most)
	case err != nil:
		err = bodyError(err)
	}
	r.Body = http.NoBody // nothing more can be read: see sendProblem
	return text, err
}

// bodyError returns the error of an incomplete body: it came too slowly, or it is cut off or broken.
func bodyError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &stock.Error{Code: codeTimeout, Message: "the body did not come in time", Err: err}
	}
	return &stock.Error{Code: stock.CodeInvalidRequest, Field: "body", Message: "body could not be read", Err: err}
}

func tooLarge(most int) error {
	return &stock.Error{Code: codeTooLarge, Message: "a body of this route holds at most " + strconv.Itoa(most) + " bytes"}
}

// explain returns what is wrong with a text that is no JSON.
func explain(err *jsontext.SyntacticError) *stock.Error {
	message := "is not valid JSON"
	if errors.Is(err, jsontext.ErrDuplicateName) {
		message = "is there twice"
	}
	refusal := invalid(fieldOf(err.JSONPointer), message)
	refusal.Err = err
	return refusal
}

// fieldOf returns the name of a field as programs write it: lines[3].quantity.
func fieldOf(pointer jsontext.Pointer) string {
	var name strings.Builder
	for token := range pointer.Tokens() {
		switch _, err := strconv.ParseUint(token, 10, 64); {
		case name.Len() == 0:
			name.WriteString(token)
		case err == nil:
			name.WriteString("[" + token + "]")
		default:
			name.WriteString("." + token)
		}
	}
	return cmp.Or(name.String(), "body")
}

// param returns a parameter of the path, decoded. If a path has escaped slashes, Echo returns them undecoded.
func param(c echo.Context, name string) string {
	value := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return value
	}
	if decoded, err := url.PathUnescape(value); err == nil {
		return decoded
	}
	return value // net/http has refused a path that cannot be decoded
}

const mustBeInstant = `must be a time as RFC 3339 writes it, such as "2026-11-27T09:00:00Z"`

// instant reads a time, and truncates it to the precision that is stored.
func instant(text string) (t time.Time, ok bool) {
	text = strings.ToUpper(text) // RFC 3339 takes t and z as well
	err := t.UnmarshalText([]byte(text))
	t = t.UTC().Truncate(time.Microsecond)
	return t, err == nil && !isLenient(text) && !t.IsZero()
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

// knowing passes a request to a handler if its query is well formed and has only known parameters, each once: a misspelt
// parameter must not be ignored. The handler finds them in c.QueryParams().
func knowing(parameters []string, handler echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if query := c.Request().URL.RawQuery; query != "" {
			if err := checkQuery(query, parameters); err != nil {
				return err
			}
		}
		return handler(c)
	}
}

func checkQuery(query string, parameters []string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return invalid("query", "is not a valid query string")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(parameters, name) {
			if name == "" {
				return invalid("query", "has a parameter without a name")
			}
			return invalid(name, "is not a parameter of this request")
		}
		if len(values[name]) > 1 {
			return invalid(name, "is there twice")
		}
	}
	return nil
}

// defaultPage is how many items a page of a list has.
const defaultPage = 100

// pageSize reads how many items the caller wants at most.
func pageSize(query url.Values, most int) (limit int, err error) {
	if !query.Has("limit") {
		return defaultPage, nil
	}
	text := query.Get("limit")
	limit, err = strconv.Atoi(text)
	if err != nil || limit < 1 || limit > most || text != strconv.Itoa(limit) {
		return 0, invalid("limit", fmt.Sprintf("must be 1 to %d", most))
	}
	return limit, nil
}
