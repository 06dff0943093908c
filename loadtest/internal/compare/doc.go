// Package compare is what the scenarios that compare contenders share: the turns they take, the arithmetic of their
// rounds, the targets that our own have to reach, and the tables that tell all of it.
package compare
