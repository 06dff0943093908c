package api

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
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

// form is a JSON object of a request, whose fields are read one after the other. An absent or wrong field reads as the zero value.
type form struct {
	name   string // of the object in errors: "lines[3]"; "" for the body
	source []byte // in which the fields are
	fields []given
	few    [4]given // room for the fields of most requests
	err    error    // of the first field that is missing or wrong
}

// given is a field as it was sent, in the source of its form.
type given struct {
	name  []byte // without quotes
	value jsontext.Value
	asked bool // the request may have it
}

// invalid returns the error of a wrong field.
func invalid(name, message string) *stock.Error {
	return &stock.Error{Code: stock.CodeInvalidRequest, Field: name, Message: name + " " + message}
}

// readForm returns what read makes of a body: one JSON object with the fields that read asks for and no others, each once.
func readForm[R any](text []byte, read func(*form) R) (asked R, err error) {
	err = readObject("", text, func(f *form) { asked = read(f) })
	return asked, err
}

// readObject calls read with an object, which has that name in errors.
func readObject(name string, text []byte, read func(*form)) error {
	f := form{name: name, source: text}
	f.fields = f.few[:0]
	if err := json.Unmarshal(text, &f); err != nil {
		return explain(name, err)
	}
	read(&f)
	for _, g := range f.fields {
		if !g.asked { // it may be the misspelt name of one that is missing
			return invalid(f.nameOf(string(g.name)), "is not a field of this request")
		}
	}
	return f.err
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (f *form) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '{' {
		return errors.New(mustBeObject)
	}
	_, err := d.ReadToken()
	for err == nil && d.PeekKind() != '}' {
		var name, value jsontext.Value
		if name, err = f.next(d); err != nil {
			break
		}
		value, err = f.next(d)
		f.fields = append(f.fields, given{name: unquoted(name), value: value})
	}
	if err == nil {
		_, err = d.ReadToken()
	}
	return err
}

// next reads a name or a value, and returns its place in the source: the decoder's copy is good until the next read.
func (f *form) next(d *jsontext.Decoder) (jsontext.Value, error) {
	value, err := d.ReadValue()
	end := d.InputOffset()
	return f.source[end-int64(len(value)) : end], err
}

// unquoted returns what a JSON string says. The string has been read as JSON already.
func unquoted(text jsontext.Value) []byte {
	if !bytes.ContainsRune(text, '\\') {
		return text[1 : len(text)-1]
	}
	plain, _ := jsontext.AppendUnquote(nil, text)
	return plain
}

// find returns a field that the request may have, and whether it is there.
func (f *form) find(name string) (value jsontext.Value, there bool) {
	for i := range f.fields {
		if g := &f.fields[i]; string(g.name) == name {
			g.asked = true
			return g.value, true
		}
	}
	return nil, false
}

// has reports whether a field is there.
func (f *form) has(name string) bool {
	_, there := f.find(name)
	return there
}

// nameOf returns the name of a field in errors.
func (f *form) nameOf(field string) string {
	if f.name == "" {
		return field
	}
	return f.name + "." + field
}

// refuse refuses a request because of a field that is missing or wrong.
func (f *form) refuse(name, message string) {
	if f.err == nil {
		f.err = invalid(f.nameOf(name), message)
	}
}

// text returns a string, and whether it is there. null is not a value.
func (f *form) text(name string) (text string, there bool) {
	value, there := f.find(name)
	if !there {
		return "", false
	}
	if value.Kind() != '"' {
		f.refuse(name, "must be a string")
		return "", false
	}
	return string(unquoted(value)), true
}

// number returns a whole number, and whether it is there.
func (f *form) number(name string) (n int64, there bool) {
	value, there := f.find(name)
	if !there {
		return 0, false
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // then it is the largest one: the field's own check states the bounds
		f.refuse(name, "must be a whole number")
	}
	return n, true
}

// isFalse reports whether a field is there and false.
func (f *form) isFalse(name string) bool {
	value, there := f.find(name)
	if there && value.Kind() != 't' && value.Kind() != 'f' {
		f.refuse(name, "must be true or false")
	}
	return value.Kind() == 'f'
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
func (f *form) instant(name string) (at time.Time) {
	if value, there := f.find(name); there {
		var ok bool
		if at, ok = instant(value); !ok {
			f.refuse(name, mustBeInstant)
		}
	}
	return at
}

// period returns how long stock is reserved: 0 if it is absent. It is a string, or whole seconds.
func (f *form) period(name string) time.Duration {
	value, there := f.find(name)
	if !there {
		return 0
	}
	text := string(value) + "s"
	if value.Kind() != '0' {
		text, _ = f.text(name)
	} else if strings.ContainsAny(text, ".eE") {
		text = ""
	}
	d, ok := reservation(text)
	if !ok {
		f.refuse(name, fmt.Sprintf(`must be a string such as "15m" or "PT15M", or whole seconds such as 900: %s to %vh in whole microseconds`,
			stock.MinReserve, stock.MaxReserve.Hours()))
	}
	return d
}

const (
	mustBeObject = "must be a JSON object"
	maxItems     = 1000 // stock.MaxLines, stock.MaxOrders
)

// list returns the items of an array, which must be there.
func (f *form) list(name string) (items []jsontext.Value) {
	value, there := f.find(name)
	switch {
	case !there:
		f.refuse(name, "is required")
	case json.Unmarshal(value, &items) != nil || items == nil:
		f.refuse(name, "must be an array")
	case len(items) == 0 || len(items) > maxItems:
		f.refuse(name, fmt.Sprintf("must be 1 to %d", maxItems))
		return nil
	}
	return items
}

// forms calls read with each item of an array of objects, which must be there.
func (f *form) forms(name string, read func(*form)) {
	for i, item := range f.list(name) {
		if err := readObject(name+"["+strconv.Itoa(i)+"]", item, read); err != nil && f.err == nil {
			f.err = err
		}
	}
}

// readAs reads the request's body, of at most that many bytes, and returns what it asks for.
func readAs[R any](s *server, c echo.Context, most int, read func(*form) R) (asked R, err error) {
	if err := checkMediaType(c.Request()); err != nil {
		return asked, err
	}
	text, leave, err := s.readInTurn(c, most)
	if err != nil {
		return asked, err
	}
	defer leave()
	return readForm(text, read)
}

// readIfAny is readAs for a body that may be left out.
func readIfAny[R any](s *server, c echo.Context, most int, read func(*form) R) (asked R, err error) {
	text, leave, err := s.readInTurn(c, most)
	if err != nil {
		return asked, err
	}
	defer leave()
	if len(bytes.TrimSpace(text)) == 0 {
		return readForm([]byte("{}"), read)
	}
	if err := checkMediaType(c.Request()); err != nil {
		return asked, err
	}
	return readForm(text, read)
}

// readInTurn reads the request's body, of at most that many bytes. A large text takes a thousand times as long as a small one to
// understand, so large ones are understood one at a time, and their callers, which have a key, take turns. The caller ends its turn by
// leave.
func (s *server) readInTurn(c echo.Context, most int) (text []byte, leave func(), err error) {
	if callerOf(c).Buyer != "" {
		most = maxBodyBytes
	}
	if text, err = readBody(c.Request(), most); err != nil || len(text) <= maxBodyBytes {
		return text, func() {}, err
	}
	if leave, err = s.bodies.Enter(c.Request().Context(), turnOf(c), len(text)); err != nil {
		err = noTurn(err)
	}
	return text, leave, err
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
	text, err := readAll(r, most)
	switch {
	case len(text) > most:
		return nil, tooLarge(most)
	case err != nil:
		return nil, bodyError(err)
	}
	return text, nil
}

// readAll reads a body to its end, or one byte more than it may have.
func readAll(r *http.Request, most int) ([]byte, error) {
	if r.ContentLength < 0 || r.ContentLength > maxBodyBytes { // what is only announced takes no memory
		return io.ReadAll(io.LimitReader(r.Body, int64(most)+1))
	}
	text := bytes.NewBuffer(make([]byte, 0, r.ContentLength+bytes.MinRead)) // net/http ends the body at its length
	_, err := text.ReadFrom(r.Body)
	return text.Bytes(), err
}

// errCutOff is among the errors of a request whose body did not come whole.
var errCutOff = errors.New("the body is cut off")

// bodyError returns the error of an incomplete body: it came too slowly, or it is cut off or broken.
func bodyError(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return &stock.Error{Code: codeTimeout, Message: "the body did not come in time", Err: err}
	}
	return &stock.Error{Code: stock.CodeInvalidRequest, Field: "body", Message: "body could not be read", Err: fmt.Errorf("%w: %w", errCutOff, err)}
}

func tooLarge(most int) error {
	return &stock.Error{Code: codeTooLarge, Message: "a body of this route holds at most " + strconv.Itoa(most) + " bytes"}
}

// explain returns what is wrong with a text that is no JSON object.
func explain(name string, err error) *stock.Error {
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	if !ok {
		return invalid(cmp.Or(name, "body"), mustBeObject)
	}
	message := fmt.Sprintf("is not valid JSON at byte %d", syntactic.ByteOffset)
	if errors.Is(err, jsontext.ErrDuplicateName) {
		message = "is there twice"
	}
	return invalid(fieldOf(syntactic.JSONPointer), message)
}

// fieldOf returns the name of a field as programs write it: lines[3].quantity.
func fieldOf(pointer jsontext.Pointer) string {
	var name strings.Builder
	for token := range pointer.Tokens() {
		if strings.Count(name.String(), ".") == 2 { // no request has names that are longer
			break
		}
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

// How many characters a time and a duration have at most: no value needs them.
const (
	maxInstant  = 64
	maxDuration = 32
)

// instant reads a JSON string with a time, and truncates it to the precision that is stored.
func instant(value jsontext.Value) (t time.Time, ok bool) {
	err := json.Unmarshal(bytes.ToUpper(value), &t) // RFC 3339 takes t and z as well
	t = t.UTC().Truncate(time.Microsecond)
	return t, err == nil && len(value) <= maxInstant && !t.IsZero()
}

// isoFormat matches a duration in days, hours, minutes and seconds, each once and in this order. Months and years vary in length.
var isoFormat = regexp.MustCompile(`^P(?:([0-9]+)D)?(?:T((?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:[.][0-9]+)?S)?))?$`)

// reservation reads a duration without a sign as Go writes it, or as ISO 8601 does, such as "P1DT2H" or "PT15M".
func reservation(text string) (d time.Duration, ok bool) {
	days, short := 0, utf8.RuneCountInString(text) <= maxDuration
	if iso := isoFormat.FindStringSubmatch(text); iso != nil {
		days, _ = strconv.Atoi(iso[1]) // of too many digits the largest number, of none 0
		text = cmp.Or(strings.ToLower(iso[2]), "0s")
	}
	d, err := time.ParseDuration(text)
	d += time.Duration(min(days, 31)) * 24 * time.Hour // which is beyond the largest
	return d, err == nil && short && !strings.HasPrefix(text, "+") && stock.CheckReserve(d)
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

// isTrue reads a parameter that is true or false; without it, it is false.
func isTrue(query url.Values, name string) (bool, error) {
	value := query.Get(name)
	if query.Has(name) && value != "true" && value != "false" {
		return false, invalid(name, "must be true or false")
	}
	return value == "true", nil
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
