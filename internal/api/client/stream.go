package client

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Frame is one event of the stream of GET /v1/events. Data is JSON: an [Event], or with the name "lost" a [LostEvents].
type Frame struct {
	ID, Name, Data string
}

// Frames reads the body of [Client.WatchEvents] until it ends, which is no error, or breaks. It skips comments.
func Frames(body io.Reader) iter.Seq2[Frame, error] {
	return func(yield func(Frame, error) bool) {
		var f Frame
		lines := bufio.NewScanner(body)
		for lines.Scan() {
			line := lines.Text()
			if line == "" {
				if f.Data != "" && !yield(f, nil) {
					return
				}
				f = Frame{}
				continue
			}
			name, value, _ := strings.Cut(line, ":")
			value = strings.TrimPrefix(value, " ")
			switch name {
			case "id":
				f.ID = value
			case "event":
				f.Name = value
			case "data":
				f.Data += value
			}
		}
		if err := lines.Err(); err != nil {
			yield(Frame{}, fmt.Errorf("read the stream of events: %w", err))
		}
	}
}
