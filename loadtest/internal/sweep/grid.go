// Package sweep runs a scenario with each combination of some flags, and makes one report of all runs: a row and a point for
// each combination.
package sweep

import (
	"fmt"
	"slices"
	"strings"
)

// Axis is a flag of a scenario, and the values it takes one after another.
type Axis struct {
	Flag   string   `json:"flag"`
	Values []string `json:"values"`
}

// Setting is a flag with one value.
type Setting struct {
	Flag  string `json:"flag"`
	Value string `json:"value"`
}

// Grid is all combinations of its axes.
type Grid []Axis

// Point is a combination: a value for each axis.
type Point []Setting

// mostPoints bounds a grid, which may be a mistake.
const mostPoints = 1000

// ParseGrid reads axes such as segments=1,4,16.
func ParseGrid(texts []string) (grid Grid, err error) {
	points := 1
	for _, text := range texts {
		axis, err := parseAxis(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(grid, func(a Axis) bool { return a.Flag == axis.Flag }) {
			return nil, fmt.Errorf("%s is there twice", axis.Flag)
		}
		grid = append(grid, axis)
		if points *= len(axis.Values); points > mostPoints {
			return nil, fmt.Errorf("more than %d combinations", mostPoints)
		}
	}
	return grid, nil
}

func parseAxis(text string) (Axis, error) {
	flag, values, found := strings.Cut(text, "=")
	flag = strings.TrimLeft(flag, "-")
	if !found || flag == "" || values == "" {
		return Axis{}, fmt.Errorf("%q must be FLAG=VALUE,VALUE,…", text)
	}
	axis := Axis{Flag: flag, Values: strings.Split(values, ",")}
	for i, value := range axis.Values {
		if slices.Contains(axis.Values[:i], value) {
			return Axis{}, fmt.Errorf("%s: the value %q is there twice", flag, value)
		}
	}
	return axis, nil
}

// Points are all combinations. The last axis changes first.
func (g Grid) Points() []Point {
	points := []Point{nil}
	for _, axis := range g {
		before := points
		points = nil
		for _, p := range before {
			for _, value := range axis.Values {
				points = append(points, append(slices.Clone(p), Setting{axis.Flag, value}))
			}
		}
	}
	return points
}

// String is the grid for a person.
func (g Grid) String() string {
	var axes []string
	for _, axis := range g {
		axes = append(axes, fmt.Sprintf("%s (%s)", axis.Flag, strings.Join(axis.Values, ", ")))
	}
	return strings.Join(axes, " and ")
}

// String is the combination for a person.
func (p Point) String() string {
	var settings []string
	for _, s := range p {
		settings = append(settings, s.Flag+"="+s.Value)
	}
	return strings.Join(settings, ", ")
}

// Arguments are the combination for a command line.
func (p Point) Arguments() (all []string) {
	for _, s := range p {
		all = append(all, "--"+s.Flag+"="+s.Value)
	}
	return all
}
