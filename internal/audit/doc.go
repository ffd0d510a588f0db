// Package audit is what is kept about calls and about those who operate hotcell: the vocabulary between those who report and
// the store that keeps it, and the arithmetic of its chain. Each row carries the hash of the row before and of itself, and a seal
// that only who has the key can make: what was edited, taken away or put elsewhere is found by [Checker].
//
// The package knows no database and no file.
package audit
