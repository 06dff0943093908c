package gauges

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// sqliteFile is the path of the service's SQLite file.
type sqliteFile string

func (path sqliteFile) read(context.Context) (Reading, error) {
	file, err := os.Stat(string(path))
	if err != nil {
		return Reading{}, fmt.Errorf("look at the SQLite file: %w", err)
	}
	values := map[Quantity]float64{fileBytes: float64(file.Size()), logBytes: 0}
	log, err := os.Stat(string(path) + "-wal")
	switch {
	case err == nil:
		values[logBytes] = float64(log.Size())
	case !errors.Is(err, fs.ErrNotExist):
		return Reading{}, fmt.Errorf("look at SQLite's log: %w", err)
	}
	return Reading{values: values}, nil
}
