// Package compare is the arithmetic of figures that scenarios share.
package compare
