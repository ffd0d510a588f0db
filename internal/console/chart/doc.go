// Package chart draws figures as inline SVG, on the server: no script, no style of its own, classes alone, and a text for who
// can't see them.
//
// A figure is drawn by html/template out of this package's own templates, so what a name or a title says stays text. It is as
// wide as its place: what lies along the width is placed in percent, so letters keep their size. Times are those of UTC; each
// carries the exact moment in a data- attribute, from which a script can make the reader's own.
package chart
