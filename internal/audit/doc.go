// Package audit is what is kept about what calls used: the vocabulary between those who report and the store that keeps it.
package audit
