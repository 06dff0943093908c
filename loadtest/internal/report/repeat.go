package report

import (
	"strconv"
	"strings"
)

// Command is what repeats the run, by its words: its flags, and its seed where it has one.
func (d Document) Command() []string {
	words := []string{"go", "run", "./loadtest", quote(d.Scenario)}
	for _, f := range d.Flags {
		switch {
		case f.Name == "seed" && d.Seed != 0, f.Value == "", f.Value == "false":
		case f.Value == "true":
			words = append(words, quote("--"+f.Name))
		default:
			words = append(words, quote("--"+f.Name+"="+f.Value))
		}
	}
	if d.Seed != 0 {
		words = append(words, "--seed="+strconv.FormatUint(d.Seed, 10))
	}
	return words
}

// quote makes one word of a text for a shell.
func quote(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	if strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
