package api

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

// field is one field of a request: whether it was present, and its value. null is not a value.
type field[T string | int64] struct {
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
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	if text.Kind() == 'n' {
		return f.wrongType()
	}
	err = json.Unmarshal(text, &f.value)
	switch number, isNumber := any(&f.value).(*int64); {
	case err == nil:
		return nil
	case isNumber && errors.Is(err, strconv.ErrRange):
		*number = math.MaxInt64 // beyond what any field allows: the field's own check states the bounds
		return nil
	default:
		return f.wrongType()
	}
}

func (f *field[T]) wrongType() error {
	if _, isNumber := any(f.value).(int64); isNumber {
		return fmt.Errorf("%w: must be a whole number", errWrongType)
	}
	return fmt.Errorf("%w: must be a string", errWrongType)
}

// require returns the value of a field that must be present.
func (f field[T]) require(name string) (T, error) {
	if !f.set {
		return f.value, invalid(name, "is required")
	}
	return f.value, nil
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

// decode reads the request's body, one JSON object with the fields of into and no others, each once.
func decode(c echo.Context, into any) error {
	text, err := readJSON(c, maxBodyBytes)
	if err != nil {
		return err
	}
	return decodeText(text, into)
}

// readJSON reads the request's body, of at most limit bytes.
func readJSON(c echo.Context, most int) ([]byte, error) {
	if err := checkMediaType(c.Request()); err != nil {
		return nil, err
	}
	return readBody(c.Request(), nil, most)
}

// decodeIfAny is decode for an optional body.
func decodeIfAny(c echo.Context, into any) error {
	text, err := readBody(c.Request(), nil, maxBodyBytes)
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

// readBody appends the request's body, of at most limit bytes, to a buffer.
func readBody(r *http.Request, to []byte, most int) ([]byte, error) {
	if r.ContentLength > int64(most) {
		return to, tooLarge(most)
	}
	for {
		if len(to) > most {
			return to, tooLarge(most)
		}
		to = slices.Grow(to, 512)
		n, err := r.Body.Read(to[len(to):cap(to)])
		to = to[:len(to)+n]
		switch {
		case errors.Is(err, io.EOF):
			return to, nil
		case err != nil:
			return to, bodyError(r, err)
		}
	}
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

// param returns a part of the path, decoded. If a path has escaped slashes, Echo returns its parts undecoded.
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
