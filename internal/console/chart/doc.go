// Package chart draws figures as inline SVG, on the server: no script, no style of its own, classes alone, and a text for who
// can't see them.
package chart
