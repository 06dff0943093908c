package api

import (
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

// field is one field of a request: whether it was there, and its value. null is not a value.
type field[T string | int64] struct {
	set   bool
	value T
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
		*number = math.MaxInt64 // beyond what any field allows, so its own check will say what is allowed
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

// require returns the value of a field that must be there.
func (f field[T]) require(name string) (T, error) {
	if !f.set {
		return f.value, &stock.Error{Code: stock.CodeInvalidRequest, Field: name, Message: name + " is required"}
	}
	return f.value, nil
}

// decode reads the request's body, one JSON object with the fields of into and no others, each once.
func decode(c echo.Context, into any) error {
	if err := checkMediaType(c.Request()); err != nil {
		return err
	}
	return decodeFrom(c.Request().Body, into)
}

func checkMediaType(r *http.Request) error {
	given := r.Header.Get(echo.HeaderContentType)
	if given == echo.MIMEApplicationJSON { // as it nearly always is
		return nil
	}
	media, _, err := mime.ParseMediaType(given)
	if err != nil || media != echo.MIMEApplicationJSON {
		return echo.NewHTTPError(http.StatusUnsupportedMediaType, "the content type must be application/json")
	}
	return nil
}

func decodeFrom(body io.Reader, into any) error {
	err := json.UnmarshalRead(body, into, json.RejectUnknownMembers(true))
	var tooLarge *echo.HTTPError
	if err == nil || errors.As(err, &tooLarge) {
		return err
	}
	name, message := explain(err)
	return &stock.Error{Code: stock.CodeInvalidRequest, Field: name, Message: name + " " + message, Err: err}
}

// readBody appends the request's body to a buffer, as much as a body may hold.
func readBody(r *http.Request, to []byte) ([]byte, error) {
	if r.ContentLength > maxBodyBytes {
		return to, echo.ErrStatusRequestEntityTooLarge
	}
	for {
		if len(to) > maxBodyBytes {
			return to, echo.ErrStatusRequestEntityTooLarge
		}
		to = slices.Grow(to, 512)
		n, err := r.Body.Read(to[len(to):cap(to)])
		to = to[:len(to)+n]
		switch {
		case errors.Is(err, io.EOF):
			return to, nil
		case err != nil:
			return to, &stock.Error{Code: stock.CodeInvalidRequest, Field: "body", Message: "body could not be read", Err: err}
		}
	}
}

// explain finds the field that an error of the decoder is about, and what is wrong with it.
func explain(err error) (name, message string) {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &semantic):
		name, message = fieldOf(semantic.JSONPointer), "must be a JSON object"
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

func fieldOf(pointer jsontext.Pointer) string {
	for token := range pointer.Tokens() {
		return token // no field has fields of its own
	}
	return "body"
}

// param returns a part of the path, decoded. Echo hands out the parts of a path with escaped slashes as they came.
func param(c echo.Context, name string) string {
	value := c.Param(name)
	if c.Request().URL.RawPath == "" {
		return value
	}
	if decoded, err := url.PathUnescape(value); err == nil {
		return decoded
	}
	return value // net/http has refused what cannot be decoded
}
