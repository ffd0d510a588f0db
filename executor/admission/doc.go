// Package admission decides whether a call may have a cell now, later or not at all: a bounded queue in front of a number
// of cells and a budget of memory, fair between principals.
//
// It knows neither skills nor cells; it counts. A ticket that is not released keeps its share for ever, which is what a
// cell that will not die deserves.
package admission
