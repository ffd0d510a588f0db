// Package calculator reckons: it evaluates arithmetic expressions in exact fractions, at a bounded cost whatever they say.
// Where something irrational goes in, the number says how many of its digits count.
package calculator
