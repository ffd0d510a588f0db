// Package demands reads what a spec demands of a cell, for drivers: each demand is checked and taken once, and what is left
// at the end is something that a driver would silently ignore, and is refused instead. It does not know what a driver makes
// of a demand.
package demands
