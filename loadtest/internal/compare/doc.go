// Package compare is what the scenarios that compare contenders share: the turns they take, and the arithmetic of their
// rounds.
package compare
