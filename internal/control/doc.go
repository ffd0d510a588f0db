// Package control is the view that front doors have of a supervisor beside running calls: list them, show one, read its
// events, cancel it. It holds the interface and its values, and nothing of how they come about.
package control
