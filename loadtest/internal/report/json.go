package report

import (
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json"
)

// WriteJSON writes the document as one object, on one line.
func (d Document) WriteJSON(to io.Writer) error {
	d.Schema = Schema
	if err := json.MarshalWrite(to, d); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}

// Read reads a document that WriteJSON has written, of this schema.
func Read(from io.Reader) (Document, error) {
	var d Document
	if err := json.UnmarshalRead(from, &d); err != nil {
		return Document{}, fmt.Errorf("not a report of the lab: %w", err)
	}
	switch d.Schema {
	case Schema:
		return d, nil
	case "":
		return Document{}, errors.New(`not a report of the lab: it has no "schema"`)
	}
	return Document{}, fmt.Errorf("a report of the schema %s, where this program knows %s", d.Schema, Schema)
}

// SetOwn makes the members that only one scenario has of a struct or a map.
func (d *Document) SetOwn(members any) error {
	text, err := json.Marshal(members)
	if err != nil {
		return fmt.Errorf("the members of %s: %w", d.Scenario, err)
	}
	d.Own = text
	return nil
}
