package api

import (
	"fmt"
	"net/url"
	"strconv"
)

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
