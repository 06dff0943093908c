package locksim

import (
	"bytes"
	"strconv"
)

// frames cuts what has come over a connection into whole messages of the Redis protocol, of version 2 or
// 3, and returns what is left of one that has not come to its end.
func frames(data []byte) (whole [][]byte, rest []byte) {
	for len(data) > 0 {
		n := frameLength(data)
		if n == 0 {
			break
		}
		whole = append(whole, data[:n])
		data = data[n:]
	}
	return whole, data
}

// frameLength returns how long the first message is, and 0 where it is not whole.
func frameLength(data []byte) int {
	end := bytes.Index(data, []byte("\r\n"))
	if end < 0 {
		return 0
	}
	length := end + 2
	size, _ := strconv.Atoi(string(data[1:end]))
	switch data[0] {
	case '$', '=', '!':
		if size >= 0 {
			length += size + 2
		}
		if length > len(data) {
			return 0
		}
		return length
	case '%', '|':
		size *= 2
	case '*', '~', '>':
	default:
		return length
	}
	for range size {
		n := frameLength(data[length:])
		if n == 0 {
			return 0
		}
		length += n
	}
	return length
}

// words returns the strings and numbers of a message in the order in which they come.
func words(frame []byte) []string {
	var list []string
	for len(frame) > 0 {
		end := bytes.Index(frame, []byte("\r\n"))
		line := string(frame[1:end])
		kind := frame[0]
		frame = frame[end+2:]
		switch kind {
		case '$', '=', '!':
			size, _ := strconv.Atoi(line)
			if size < 0 {
				list = append(list, "nil")
				continue
			}
			list = append(list, string(frame[:size]))
			frame = frame[size+2:]
		case '%', '|', '*', '~', '>':
		default:
			list = append(list, line)
		}
	}
	return list
}

// isMessage tells whether a frame is what a channel's listener receives.
func isMessage(frame []byte) bool {
	return (frame[0] == '*' || frame[0] == '>') && bytes.Contains(frame[:min(len(frame), 24)], []byte("\r\nmessage\r\n"))
}
