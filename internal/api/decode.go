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

// field is one field of a request: whether it was present, and its value. null is not a value.
type field[T string | int64 | bool] struct {
	set   bool
	value T
}

// duration is a field that holds a duration: a string, or whole seconds.
type duration struct{ field[string] }

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (f *duration) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	if d.PeekKind() != '0' {
		return f.field.UnmarshalJSONFrom(d)
	}
	text, err := d.ReadValue()
	f.set, f.value = true, string(text)+"s"
	if err == nil && bytes.ContainsAny(text, ".eE") {
		return fmt.Errorf("%w: must be a string, or whole seconds", errWrongType)
	}
	return err
}

var errWrongType = errors.New("wrong type")

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (f *field[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	f.set = true
	kind := d.PeekKind()
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	switch value := any(&f.value).(type) {
	case *string:
		if kind != '"' {
			return f.wrongType()
		}
		var decoded []byte
		decoded, err = jsontext.AppendUnquote(nil, text)
		*value = string(decoded)
		return err
	case *int64:
		*value, err = strconv.ParseInt(string(text), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			*value, err = math.MaxInt64, nil // beyond what any field allows: the field's own check states the bounds
		}
		if kind != '0' || err != nil {
			return f.wrongType()
		}
	case *bool:
		if kind != 't' && kind != 'f' {
			return f.wrongType()
		}
		*value = kind == 't'
	}
	return nil
}

func (f *field[T]) wrongType() error {
	switch any(f.value).(type) {
	case int64:
		return fmt.Errorf("%w: must be a whole number", errWrongType)
	case bool:
		return fmt.Errorf("%w: must be true or false", errWrongType)
	default:
		return fmt.Errorf("%w: must be a string", errWrongType)
	}
}

// list is a field with many items. It reads at most as many as a request may have.
type list[T any] []T

const maxItems = 1000 // stock.MaxLines, stock.MaxOrders

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (l *list[T]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	start, err := d.ReadToken()
	switch {
	case err != nil:
		return err
	case start.Kind() == 'n': // as if it were absent
		return nil
	case start.Kind() != '[':
		return fmt.Errorf("%w: must be an array", errWrongType)
	}
	*l = list[T]{}
	for d.PeekKind() != ']' {
		if len(*l) == maxItems {
			return fmt.Errorf("%w: must be 1 to %d", errWrongType, maxItems)
		}
		var item T
		if err := json.UnmarshalDecode(d, &item); err != nil {
			return err
		}
		*l = append(*l, item)
	}
	_, err = d.ReadToken()
	return err
}

// invalid returns the error of a wrong field.
func invalid(name, message string) *stock.Error {
	return &stock.Error{Code: stock.CodeInvalidRequest, Field: name, Message: name + " " + message}
}

// form reads the fields of a request one after the other. err is about the first that is wrong.
type form struct{ err error }

func (f *form) refuse(name, message string) {
	if f.err == nil {
		f.err = invalid(name, message)
	}
}

// required returns the value of a field that must be present.
func required[T string | int64 | bool](f *form, name string, given field[T]) T {
	if !given.set {
		f.refuse(name, "is required")
	}
	return given.value
}

// A body is the body of a request that asks for an R.
type body[R any] interface{ read(f *form) R }

// readAs reads the request's body, which decode turns into a B, and returns what it asks for.
func readAs[B body[R], R any](c echo.Context, decode func(echo.Context, any) error) (asked R, err error) {
	var given B
	if err := decode(c, &given); err != nil {
		return asked, err
	}
	var f form
	asked = given.read(&f)
	return asked, f.err
}

// decode reads the request's body, one JSON object with the fields of into and no others, each once.
func decode(c echo.Context, into any) error {
	if err := checkMediaType(c.Request()); err != nil {
		return err
	}
	text, err := readBody(c.Request(), maxBodyBytes)
	if err != nil {
		return err
	}
	return decodeText(text, into)
}

// decodeLarge returns decode for bodies of at most that many bytes, from callers with a key. A large text takes a thousand times as
// long as a small one, so large ones are read one at a time, and their callers take turns.
func (s *server) decodeLarge(most int) func(echo.Context, any) error {
	return func(c echo.Context, into any) error {
		if callerOf(c).Buyer != "" {
			return decode(c, into)
		}
		if err := checkMediaType(c.Request()); err != nil {
			return err
		}
		text, err := readBody(c.Request(), most)
		if err != nil {
			return err
		}
		if len(text) > maxBodyBytes {
			leave, err := s.reading.Enter(c.Request().Context(), turnOf(c), len(text))
			if err != nil {
				return noTurn(err)
			}
			defer leave()
		}
		return decodeText(text, into)
	}
}

// decodeIfAny is decode for an optional body.
func decodeIfAny(c echo.Context, into any) error {
	text, err := readBody(c.Request(), maxBodyBytes)
	if err != nil || len(bytes.TrimSpace(text)) == 0 {
		return err
	}
	if err := checkMediaType(c.Request()); err != nil {
		return err
	}
	return decodeText(text, into)
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

func decodeText(text []byte, into any) error {
	if jsontext.Value(bytes.TrimSpace(text)).Kind() == 'n' { // the decoder takes null for an object without fields
		return invalid("body", mustBeObject)
	}
	err := json.Unmarshal(text, into, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	refusal := invalid(explain(err))
	refusal.Err = err
	return refusal
}

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
		err = bodyError(r, err)
	}
	r.Body = http.NoBody // nothing more can be read: see sendProblem
	return text, err
}

// bodyError returns the error of an incomplete body: it came too slowly, its caller hung up, or it is broken.
func bodyError(r *http.Request, err error) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &stock.Error{Code: codeTimeout, Message: "the body did not come in time", Err: err}
	case r.Context().Err() != nil:
		err = errors.Join(errHungUp, err)
	}
	return &stock.Error{Code: stock.CodeInvalidRequest, Field: "body", Message: "body could not be read", Err: err}
}

func tooLarge(most int) error {
	return &stock.Error{Code: codeTooLarge, Message: "a body of this route holds at most " + strconv.Itoa(most) + " bytes"}
}

const mustBeObject = "must be a JSON object"

// explain returns the field that an error of the decoder is about, and what is wrong with it.
func explain(err error) (name, message string) {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		name, message = fieldOf(semantic.JSONPointer), mustBeObject
		if errors.Is(err, json.ErrUnknownName) {
			message = "is not a field of this request"
		} else if _, allowed, ok := strings.Cut(err.Error(), errWrongType.Error()+": "); ok {
			message = allowed
		}
	case errors.As(err, &syntactic):
		name, message = fieldOf(syntactic.JSONPointer), "is not valid JSON"
		if errors.Is(err, jsontext.ErrDuplicateName) {
			message = "is there twice"
		}
	default:
		name, message = "body", "could not be read"
	}
	return name, message
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

// Values without a type in JSON, or whose zero means "none" to the service. A value that is present and zero is not the
// same as none.

// optional returns a text, or "" if it is absent.
func (f *form) optional(name string, given field[string]) string {
	if given.set && given.value == "" {
		f.refuse(name, "must not be empty; leave it out")
	}
	return given.value
}

// count returns a number of at least one, or 0 if it is absent.
func (f *form) count(name string, given field[int64], most int64) int64 {
	if given.set && (given.value < 1 || given.value > most) {
		f.refuse(name, "must be 1 to "+strconv.FormatInt(most, 10))
	}
	return given.value
}

// instant returns a time, or the zero time if it is absent. It is truncated to the precision that is stored.
func (f *form) instant(name string, given field[string]) (t time.Time) {
	if !given.set {
		return t
	}
	text := strings.ToUpper(given.value) // RFC 3339 takes t and z as well
	err := t.UnmarshalText([]byte(text))
	t = t.UTC().Truncate(time.Microsecond)
	if err != nil || isLenient(text) || t.IsZero() {
		f.refuse(name, `must be a time as RFC 3339 writes it, such as "2026-11-27T09:00:00Z"`)
	}
	return t
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

// period returns how long stock is reserved: 0 if it is absent.
func (f *form) period(name string, given duration) time.Duration {
	if !given.set {
		return 0
	}
	d, ok := reservation(given.value)
	if !ok {
		f.refuse(name, fmt.Sprintf(`must be a duration such as "15m", "PT15M" or 900 seconds, %s to %vh in whole microseconds`,
			stock.MinReserve, stock.MaxReserve.Hours()))
	}
	return d
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
