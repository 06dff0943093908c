package books

import (
	"fmt"
	"slices"
)

// Complaints are what does not add up, by what it is.
type Complaints struct {
	lines []string
	kinds []string
	of    map[string]*complaint
}

type complaint struct {
	count int
	first string
}

// Say adds one in words.
func (c *Complaints) Say(line string) { c.lines = append(c.lines, line) }

// Add adds one of an order, which is told as the example if it is the first of its kind.
func (c *Complaints) Add(kind, example string) {
	if c.of[kind] == nil {
		if c.of == nil {
			c.of = map[string]*complaint{}
		}
		c.kinds, c.of[kind] = append(c.kinds, kind), &complaint{first: example}
	}
	c.of[kind].count++
}

// Tell tells them all.
func (c *Complaints) Tell() []string {
	lines := slices.Clone(c.lines)
	for _, kind := range c.kinds {
		lines = append(lines, fmt.Sprintf("%s: %d, the first %s", kind, c.of[kind].count, c.of[kind].first))
	}
	return lines
}
